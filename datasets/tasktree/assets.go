package tasktree

import (
	"errors"
	"io/fs"
	"path"

	"go.yaml.in/yaml/v3"

	"harness/datasets/internal/tree"
	"harness/eval"
)

// assets is image_assets.
type assets struct {
	ProblemStatement []asset `yaml:"problem_statement"`
	Patch            []asset `yaml:"patch"`
	TestPatch        []asset `yaml:"test_patch"`
}

// asset is written as an address, or as {path, url}.
type asset struct{ eval.Asset }

func (a *asset) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&a.URL)
	}
	var both struct {
		URL  string `yaml:"url"`
		Path string `yaml:"path"`
	}
	err := node.Decode(&both)
	a.URL, a.Path = both.URL, both.Path
	return err
}

func plain(list []asset) []eval.Asset {
	var out []eval.Asset
	for _, a := range list {
		out = append(out, a.Asset)
	}
	return out
}

// assets takes over the pictures. Those of the patches become files of the task,
// which PrepareScript puts in place.
func (r *reader) assets(a assets) {
	t := &r.at.Task
	all := eval.ImageAssets{ProblemStatement: plain(a.ProblemStatement), Patch: plain(a.Patch), TestPatch: plain(a.TestPatch)}
	if len(all.ProblemStatement)+len(all.Patch)+len(all.TestPatch) == 0 {
		return
	}
	t.ImageAssets = &all
	staged := map[string]bool{}
	for _, one := range all.OfPatches() {
		place := one.Staged()
		if staged[place] {
			continue
		}
		staged[place] = true
		file, err := r.f.File(path.Join(assetsDir, one.Path), place)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.bad(tree.Problem{
				File: r.f.Path(path.Join(assetsDir, one.Path)), Field: "image_assets", Warning: true,
				Reason: "the picture is not there, so the task can't be executed: nothing is fetched from addresses", Fix: "put it there",
			})
		case err != nil:
			r.failed(err)
		default:
			t.Files = append(t.Files, file)
		}
	}
}
