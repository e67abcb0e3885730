package evalscript

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"harness/eval"
)

// specFiles is the spec table: how the tests of a repository are run, by
// version, for rows that do not say it themselves. docs/datasets.md tells how to
// add to it; internal/oracle/specgen.py wrote what is there.
//
//go:embed specs/*.json
var specFiles embed.FS

// Styles of official scripts: how the commands of a spec are put together.
const (
	stylePython       = "python"       // conda environment, tests named on the command line
	styleMultilingual = "multilingual" // commands as they are, one set per pull request
	styleMultimodal   = "multimodal"   // node through nvm, pictures beside the test patch
)

// specFile is one file of the spec table.
type specFile struct {
	Style string               `json:"style"`
	Repos map[string]*repoSpec `json:"repos"` // by "owner/name"
}

// repoSpec is what is known of a repository.
type repoSpec struct {
	Parser   string  `json:"parser"`              // name in scoring/logparse
	EvalType string  `json:"eval_type,omitempty"` // eval.EvalPassAndFail unless said
	Specs    []*spec `json:"specs"`
	// BeforeTest are lines that single tasks need before their tests start, by
	// instance id (python).
	BeforeTest map[string][]string `json:"before_test,omitempty"`

	style string
}

// spec are the commands of some versions. They are bash, run inside the sandbox.
type spec struct {
	Versions []string `json:"versions"`
	Eval     []string `json:"eval,omitempty"`    // python: environment of the test run
	Install  []string `json:"install,omitempty"` // python: before the test patch
	Build    []string `json:"build,omitempty"`   // others: behind the test patch
	Test     []string `json:"test"`
}

// table reads the spec table once. That it is well formed is a test's business.
var table = sync.OnceValues(func() (map[string]*repoSpec, error) {
	files, err := fs.Glob(specFiles, "specs/*.json")
	if err != nil {
		return nil, err
	}
	all := make(map[string]*repoSpec)
	for _, name := range files {
		data, err := specFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := addSpecs(all, data); err != nil {
			return nil, fmt.Errorf("spec table %s: %w", path.Base(name), err)
		}
	}
	return all, nil
})

func addSpecs(all map[string]*repoSpec, data []byte) error {
	var f specFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return err
	}
	if !slices.Contains([]string{stylePython, styleMultilingual, styleMultimodal}, f.Style) {
		return fmt.Errorf("style %q is unknown; use %s, %s or %s", f.Style, stylePython, styleMultilingual, styleMultimodal)
	}
	for repo, r := range f.Repos {
		if all[repo] != nil {
			return fmt.Errorf("%s is in another file, too", repo)
		}
		if r == nil || r.Parser == "" || len(r.Specs) == 0 {
			return fmt.Errorf("%s has no parser or no specs", repo)
		}
		seen := make(map[string]bool)
		for _, s := range r.Specs {
			if len(s.Test) == 0 || len(s.Versions) == 0 {
				return fmt.Errorf("%s has a spec without versions or test commands", repo)
			}
			for _, v := range s.Versions {
				if seen[v] {
					return fmt.Errorf("%s has version %s twice", repo, v)
				}
				seen[v] = true
			}
		}
		if r.EvalType == "" {
			r.EvalType = eval.EvalPassAndFail
		}
		r.style = f.Style
		all[repo] = r
	}
	return nil
}

// UnknownSpecError: the spec table does not say how a task's tests are run.
type UnknownSpecError struct {
	Repo, Version string
	// RepoKnown: only the version is not there.
	RepoKnown bool
}

func (e *UnknownSpecError) Error() string {
	what := "repository " + e.Repo
	if e.RepoKnown {
		what = fmt.Sprintf("version %q of %s", e.Version, e.Repo)
	}
	return "the spec table has no entry for " + what + `; add one (docs/datasets.md, "Spec table")`
}

// find looks a task up; the error is an *UnknownSpecError.
func find(t *eval.Task) (*repoSpec, *spec, error) {
	all, err := table()
	if err != nil {
		return nil, nil, err
	}
	r := all[t.Repo]
	if r == nil {
		return nil, nil, &UnknownSpecError{Repo: t.Repo, Version: t.Version}
	}
	for _, s := range r.Specs {
		if slices.Contains(s.Versions, t.Version) {
			return r, s, nil
		}
	}
	return nil, nil, &UnknownSpecError{Repo: t.Repo, Version: t.Version, RepoKnown: true}
}
