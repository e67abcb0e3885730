package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// FamilyError means that the rows of a file follow another schema altogether.
type FamilyError struct {
	File    string
	Family  string   // the family that the rows seem to be of, "" when it is not known
	Missing []string // required fields that no row has
	First   string   // what is wrong with the first row
	Has     []string // fields of the first row that are not ours, at most 20
}

func (e *FamilyError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "load dataset %s: unknown dataset family", e.File)
	if e.Family != "" {
		fmt.Fprintf(&b, " (the rows look like %s, which can't be loaded)", e.Family)
	}
	if len(e.Missing) > 0 {
		fmt.Fprintf(&b, ": its rows have no %s", strings.Join(e.Missing, ", "))
	} else if e.First != "" {
		b.WriteString(": in its first row " + e.First)
	}
	if len(e.Has) > 0 {
		fmt.Fprintf(&b, "; they have %s", strings.Join(e.Has, ", "))
	}
	b.WriteString("; rows of SWE-bench's schema are expected")
	return b.String()
}

// families lists fields by which rows of other datasets give themselves away.
var families = []struct {
	name   string
	fields []string
}{
	{"Multi-SWE-bench", []string{"org", "fix_patch"}},
	{"SWE-bench Pro", []string{"fail_to_pass", "pass_to_pass"}},
	{"SWE-bench Pro", []string{"Test Files"}},
	{"SWE-rebench", []string{"install_config", "image_name"}},
}

// minForeign is how many required fields a row of unknown family lacks.
const minForeign = 3

// familyWatch decides whether a file as a whole is of another family: not one
// row is good, and each of them is foreign.
type familyWatch struct {
	rows, foreign int
	found         FamilyError // without File
}

// row is told of each row that was read and of its problems.
func (w *familyWatch) row(r *row, problems []rowProblem) {
	w.rows++
	var missing []string
	bad, first := false, ""
	for _, p := range problems {
		if p.warning {
			continue
		}
		if bad = true; first == "" {
			first = "field " + p.field + ": " + p.reason
		}
		if p.missing {
			missing = append(missing, p.field)
		}
	}
	if !bad {
		return
	}
	family := ""
	for _, f := range families {
		if !slices.ContainsFunc(f.fields, func(name string) bool { return !slices.Contains(r.names, name) }) {
			family = f.name
			break
		}
	}
	if family == "" && len(missing) < minForeign {
		return
	}
	if w.foreign++; w.foreign == 1 {
		w.found = FamilyError{Family: family, Missing: missing, First: first}
		for _, n := range r.names[:min(len(r.names), 20)] {
			w.found.Has = append(w.found.Has, quoteID(n))
		}
		return
	}
	if family != w.found.Family {
		w.found.Family = ""
	}
	w.found.Missing = slices.DeleteFunc(w.found.Missing, func(name string) bool { return !slices.Contains(missing, name) })
}

func (w *familyWatch) err(file string) error {
	if w.rows == 0 || w.foreign != w.rows {
		return nil
	}
	e := w.found
	e.File = file
	return &e
}
