package predictions

import (
	"slices"
	"strings"

	"harness/eval"
)

// maxNear is how many ids of the dataset are named for one that it does not have.
const maxNear = 3

// Near finds, for the ids of the file that no task has, the tasks whose id
// differs only in the case of letters, in the prefix "instance_" that SWE-bench
// Pro has, or in "_1776_", which stands for "__" in the names of images. Ids that
// have none are left out. It is advice for people: no prediction is moved to
// another id.
func (f *File) Near(all []eval.Task) map[string][]string {
	known := make(map[string]bool, len(all))
	for i := range all {
		known[all[i].InstanceID] = true
	}
	unknown := make(map[string][]string) // by what is compared
	for id := range f.ByID {
		if !known[id] {
			unknown[plain(id)] = append(unknown[plain(id)], id)
		}
	}
	out := make(map[string][]string)
	for i := range all {
		for _, id := range unknown[plain(all[i].InstanceID)] {
			if len(out[id]) < maxNear {
				out[id] = append(out[id], all[i].InstanceID)
			}
		}
	}
	for _, near := range out {
		slices.Sort(near)
	}
	return out
}

func plain(id string) string {
	id = strings.TrimPrefix(strings.ToLower(id), "instance_")
	return strings.ReplaceAll(id, "_1776_", "__")
}
