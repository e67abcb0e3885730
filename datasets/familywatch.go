package datasets

import (
	"fmt"
	"slices"
	"strings"

	"harness/datasets/internal/strictjson"
)

// FamilyError means that the rows of a file follow another schema altogether.
type FamilyError struct {
	File    string
	Missing []string // required fields that no row has
	First   string   // what is wrong with the first row
	Has     []string // fields of the first row that are not ours, at most 20
}

func (e *FamilyError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "load dataset %s: unknown dataset family", e.File)
	if len(e.Missing) > 0 {
		fmt.Fprintf(&b, ": its rows have no %s", strings.Join(e.Missing, ", "))
	} else if e.First != "" {
		b.WriteString(": in its first row " + e.First)
	}
	if len(e.Has) > 0 {
		fmt.Fprintf(&b, "; they have %s", strings.Join(e.Has, ", "))
	}
	b.WriteString("; rows of SWE-bench's schema or of a family that docs/datasets.md lists are expected")
	return b.String()
}

// minForeign is how many required fields a row of unknown family lacks.
const minForeign = 3

// familyWatch follows the rows of a dataset: which family each is of, whether
// that is the same for all, and whether they are of a known one at all.
type familyWatch struct {
	named string // what the user said the family is, "" when nothing

	first         string // family of the first row
	firstAt       position
	rows, foreign int
	found         FamilyError // without File
}

// name makes all rows be read as of one family.
func (w *familyWatch) name(id string) error {
	if id != "" && !slices.Contains(FamilyNames(), id) {
		return fmt.Errorf("dataset family %q is unknown; use one of %s, or none to have it recognised", id, strings.Join(FamilyNames(), ", "))
	}
	w.named = id
	return nil
}

// of returns the schema by which a row is to be read, and the problem that it is
// not the one of the rows before, also those of other shards.
func (w *familyWatch) of(r *row, pos position, file string) (*family, *rowProblem) {
	fam := familyOf(r)
	if w.named != "" && r.at("family").kind == strictjson.Absent {
		fam = familyByID(w.named, r)
	}
	id := familySWEBench
	if fam != nil {
		id = fam.id
	} else if c := r.at("family"); c.kind == strictjson.String && c.text != "" {
		id = c.text
	}
	if w.first == "" {
		w.first, w.firstAt = id, pos
		w.firstAt.file = file
	}
	if id == w.first {
		return fam, nil
	}
	at := w.firstAt
	if at.file == file {
		at.file = ""
	}
	return fam, &rowProblem{
		reason: fmt.Sprintf("the row is of family %s, the one on %s of %s: a dataset is of one family", id, at, w.first),
		fix:    "keep each family in a file of its own",
	}
}

// row is told of each row that was read and of its problems.
func (w *familyWatch) row(r *row, fam *family, problems []rowProblem) {
	w.rows++
	var missing []string
	first := ""
	for _, p := range problems {
		if p.warning {
			continue
		}
		if first == "" {
			first = "field " + p.field + ": " + p.reason
		}
		if p.missing {
			missing = append(missing, p.field)
		}
	}
	if fam != nil || len(missing) < minForeign {
		return
	}
	if w.foreign++; w.foreign == 1 {
		w.found = FamilyError{Missing: missing, First: first}
		for _, n := range r.names[:min(len(r.names), 20)] {
			w.found.Has = append(w.found.Has, quoteID(n))
		}
		return
	}
	w.found.Missing = slices.DeleteFunc(w.found.Missing, func(name string) bool { return !slices.Contains(missing, name) })
}

// err says that not one row is of a known family.
func (w *familyWatch) err(file string) error {
	if w.rows == 0 || w.foreign != w.rows {
		return nil
	}
	e := w.found
	e.File = file
	return &e
}
