package datasets

import (
	"cmp"
	"slices"

	"harness/datasets/internal/strictjson"
)

// family is another dataset's row schema: how its rows give themselves away, and
// how they become tasks.
type family struct {
	id   string // an eval.Family* constant
	name string // as its owners write it

	// signs are sets of members; a row that has all of one set is of this family.
	signs [][]string
	// looks recognises rows that no member sets apart; nil is never.
	looks func(*row) bool

	// reads are text fields of our schema that are read from a member of another
	// name; a row that has the field itself keeps it.
	reads map[string]string
	// names are the members that other fields come from, by which their problems
	// are told.
	names map[string]string
	// fills are the fields that are not read by themselves: fill makes them.
	fills []string
	fill  func(*filling)

	// lacks tells where that which rows of the family do not carry can be had,
	// for tasks that can't be executed; "" when nothing is known.
	lacks string
}

// families in the order in which rows are compared with them.
var families = []*family{
	&multiSWEBench, &pro, &proInfo, &rebench2, &rebench, &live, &gym,
}

// familySWEBench is what rows of SWE-bench's own schema are called by --family
// and in messages; such tasks have the family "".
const familySWEBench = "swe-bench"

// FamilyNames are the names that Options.Family takes.
func FamilyNames() []string {
	names := []string{familySWEBench}
	for _, f := range families {
		if !slices.Contains(names, f.id) {
			names = append(names, f.id)
		}
	}
	return names
}

func (f *family) fillsField(name string) bool { return f != nil && slices.Contains(f.fills, name) }

// nameOf returns the family's name for a field of our schema.
func (f *family) nameOf(field string) string {
	if f == nil {
		return field
	}
	return cmp.Or(f.reads[field], f.names[field], field)
}

// signed reports whether the row has all members of one of the family's signs.
// A member that is null is there: files have the same members in all rows.
func (f *family) signed(r *row) bool {
	return slices.ContainsFunc(f.signs, func(set []string) bool {
		return !slices.ContainsFunc(set, func(name string) bool { return r.at(name).kind == strictjson.Absent })
	})
}

// familyOf recognises a row. A row that names its family is in our own schema.
func familyOf(r *row) *family {
	if c := r.at("family"); c.kind != strictjson.Absent {
		return nil
	}
	for _, f := range families {
		if f.signed(r) {
			return f
		}
	}
	for _, f := range families {
		if f.looks != nil && f.looks(r) {
			return f
		}
	}
	return nil
}

// familyByID returns the family that a user named, nil for our own schema. Where
// an id has several forms, the row says which it is.
func familyByID(id string, r *row) *family {
	var first *family
	for _, f := range families {
		if f.id != id {
			continue
		}
		if f.signed(r) {
			return f
		}
		if first == nil {
			first = f
		}
	}
	return first
}

// lackHint tells where that which a family's rows do not carry can be had.
func lackHint(id string) string {
	for _, f := range families {
		if f.id == id {
			return f.lacks
		}
	}
	return ""
}
