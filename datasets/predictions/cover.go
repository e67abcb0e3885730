package predictions

import (
	"slices"

	"harness/eval"
)

// Cover tells how the file meets a dataset: all are its tasks, selected those
// that are to be run. Each id of the file is in one of three places: unknown,
// unselected, or selected, and of the latter some have an empty or null patch.
// No list is nil.
func (f *File) Cover(all, selected []eval.Task) eval.Coverage {
	c := eval.Coverage{
		Tasks: len(selected), Records: f.Records,
		Missing: []string{}, Unknown: []string{}, Unselected: []string{}, Empty: []string{}, Null: []string{},
		Duplicate: append([]string{}, f.Duplicate...),
		Malformed: append([]string{}, f.Malformed...),
	}
	known := make(map[string]bool, len(all))
	for i := range all {
		known[all[i].InstanceID] = false
	}
	for i := range selected {
		id := selected[i].InstanceID
		known[id] = true
		if _, ok := f.ByID[id]; !ok {
			c.Missing = append(c.Missing, id)
		}
	}
	for id, p := range f.ByID {
		run, ok := known[id]
		switch {
		case !ok:
			c.Unknown = append(c.Unknown, id)
		case !run:
			c.Unselected = append(c.Unselected, id)
		case p.Patch == nil:
			c.Null = append(c.Null, id)
		case *p.Patch == "":
			c.Empty = append(c.Empty, id)
		}
	}
	for _, list := range [][]string{c.Missing, c.Unknown, c.Unselected, c.Empty, c.Null} {
		slices.Sort(list)
	}
	return c
}
