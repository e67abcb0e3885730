package predictions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"harness/datasets/internal/strictjson"
)

// shape is what of a record tells its dialect.
type shape struct {
	inMap  bool
	fields map[string]bool // telling fields of the record itself, null or not
	id     string
}

// patchFields hold the patch in one dialect or another. Every reader that knows
// model_patch prefers it; of the others, a record should have one.
var patchFields = []string{"model_patch", "patch", "fix_patch", "test_result", "git_patch"}

// rowFields are fields of a dataset's rows that no prediction has.
var rowFields = []string{"test_patch", "FAIL_TO_PASS", "PASS_TO_PASS", "fail_to_pass", "pass_to_pass", "problem_statement", "base_commit"}

var telling = func() map[string]bool {
	m := map[string]bool{"instance_id": true, "model_name_or_path": true, "org": true, "prefix": true}
	for _, list := range [][]string{patchFields, rowFields} {
		for _, name := range list {
			m[name] = true
		}
	}
	return m
}()

func (s shape) has(field string) bool { return s.fields[field] }

// only tells whether the record has this field and not model_patch, too.
func (s shape) only(field string) bool { return s.has(field) && !s.has("model_patch") }

// keyed tells whether the id can only be in the key.
func (s shape) keyed() bool { return s.inMap && !s.has("instance_id") }

// pro tells whether a record with the field patch is one of SWE-bench Pro.
func (s shape) pro() bool { return s.has("prefix") || strings.HasPrefix(s.id, "instance_") }

// isRow tells whether the record is a row of a dataset: its patch is the gold one.
func (s shape) isRow() bool {
	if !s.only("patch") && !s.only("fix_patch") {
		return false
	}
	for _, f := range rowFields {
		if s.has(f) {
			return true
		}
	}
	return false
}

// candidates lists the dialects that a record can be of. None means that it
// does not show any.
func (s shape) candidates() []Dialect {
	var out []Dialect
	for _, d := range builtin {
		if d.fits != nil && d.fits(s) {
			out = append(out, d)
		}
	}
	return out
}

// AmbiguousError: what was given can be read in several ways.
type AmbiguousError struct {
	What  string   // what leaves it open, and where
	Names []string // dialects
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s; say how it is meant with --format %s", e.What, strings.Join(e.Names, " or --format "))
}

// errDataset refuses a dataset in the place of predictions: it would be graded
// with its own solutions.
var errDataset = errors.New("it holds rows of a dataset, not predictions; --gold evaluates the dataset's own solutions, --format reads their patches all the same")

// detect tells the dialect of a file from the first record that shows one. A
// file in which none does is swe-bench: what is wrong with it is then told by
// reading it.
func detect(ctx context.Context, next stream) (Dialect, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Dialect{}, err
		}
		rec, err := next()
		if err != nil { // the end; a broken file is told when it is read
			return named("swe-bench"), nil
		}
		if rec.err != nil {
			continue
		}
		s, err := look(rec)
		if err != nil {
			continue
		}
		if s.isRow() {
			return Dialect{}, fmt.Errorf("%s: %w", rec.where, errDataset)
		}
		switch found := s.candidates(); len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			e := &AmbiguousError{What: rec.where + ": the record has the patch of several formats"}
			for _, d := range found {
				e.Names = append(e.Names, d.Name)
			}
			return Dialect{}, e
		}
	}
}

// look finds the shape of a record.
func look(rec record) (shape, error) {
	s := shape{inMap: rec.inMap, fields: make(map[string]bool)}
	err := strictjson.Members(rec.raw, func(key []byte, v strictjson.Value) error {
		return s.note(key, v)
	})
	return s, err
}

func (s *shape) note(key []byte, v strictjson.Value) error {
	name := string(key)
	if !telling[name] {
		return nil
	}
	s.fields[name] = true
	if name == "instance_id" && v.Kind == strictjson.String {
		id, err := v.Text()
		s.id = id
		return err
	}
	return nil
}
