package datasets

import (
	"fmt"
	"slices"

	"harness/datasets/internal/tree"
	"harness/eval"
)

// MissingPictures are the pictures of the patches that the task does not bring.
func MissingPictures(t *eval.Task) []eval.Asset {
	var out []eval.Asset
	for _, a := range t.ImageAssets.OfPatches() {
		if !hasFile(t, a.Staged()) && !slices.ContainsFunc(out, func(b eval.Asset) bool { return b.Path == a.Path }) {
			out = append(out, a)
		}
	}
	return out
}

func hasFile(t *eval.Task, path string) bool {
	return slices.ContainsFunc(t.Files, func(f eval.TaskFile) bool { return f.Path == path })
}

// AddPicture gives the task one of its MissingPictures. An error leaves it as it
// was.
func AddPicture(t *eval.Task, a eval.Asset, data []byte) error {
	total := len(data)
	for _, f := range t.Files {
		total += len(f.Data)
	}
	if total > tree.MaxTaskBytes {
		return fmt.Errorf("the files of task %s hold more than %d MiB with picture %s, which is the most", t.InstanceID, tree.MaxTaskBytes>>20, quote(a.Path))
	}
	// The slice may be shared with another copy of the task.
	files := append(slices.Clone(t.Files), eval.TaskFile{Path: a.Staged(), Mode: 0o644, Data: data})
	if err := checkFiles(files); err != nil {
		return fmt.Errorf("task %s: picture %s: %w", t.InstanceID, quote(a.Path), err)
	}
	t.Files = files
	return nil
}
