package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// jsonRow takes one JSON object apart. Fields that are not in the schema are
// remembered by name, and their values only where a family has such a member. An
// error means that there is no row at all.
func jsonRow(rec []byte, r *row) error {
	*r = row{names: r.names[:0]}
	return strictjson.Members(rec, func(key []byte, v strictjson.Value) error {
		i, known := fieldIndex[string(key)]
		list := known && fields[i].shape == shapeList
		var c *cell
		if known {
			c = &r.cells[i]
		} else {
			if len(r.names) < maxNames {
				r.names = append(r.names, string(key))
			}
			if i, known = memberIndex[string(key)]; !known {
				return nil
			}
			c = &r.extra[i]
		}
		if c.kind != strictjson.Absent {
			c.err = errors.New("it is given twice in the row, and readers disagree on which one counts")
			return nil
		}
		c.kind = v.Kind
		switch {
		case v.Kind == strictjson.String:
			c.text, c.err = v.Text()
		case v.Kind == strictjson.Array && list:
			c.list, c.err = stringList(v.Raw)
		default:
			c.raw = v.Raw
		}
		return nil
	})
}

// maxNames bounds what is remembered of a row's unknown fields.
const maxNames = 64

// rowProblem is a Problem without its position.
type rowProblem struct {
	field, reason, fix string
	warning            bool
	missing            bool // a required field is not there
}

// build turns a row into a task and checks it. A row of a family (nil is our own
// schema) is read by that family's names, and its problems are told by them. The
// task is only good for use when no problem other than warnings is returned.
func (r *row) build(fam *family) (eval.Task, []rowProblem) {
	var t eval.Task
	var problems []rowProblem
	for i := range fields {
		f, c := &fields[i], &r.cells[i]
		if fam.fillsField(f.name) {
			continue
		}
		if fam != nil && c.missing() && fam.reads[f.name] != "" {
			c = r.at(fam.reads[f.name])
		}
		if c.err == nil && c.missing() {
			if f.required {
				why := "the field is missing"
				if c.kind == strictjson.Null {
					why = "the field is null"
				}
				problems = append(problems, rowProblem{field: f.name, reason: why, fix: "add it to the row", missing: true})
			}
			continue
		}
		if err := f.set(&t, c); err != nil {
			problems = append(problems, rowProblem{field: f.name, reason: err.Error(), fix: fixFor(f, err)})
		}
	}
	var told []rowProblem
	var settled []string
	if fam != nil {
		told, settled = fam.complete(r, &t)
	}
	// A field that was refused would only be complained about again.
	refused := make(map[string]bool, len(problems))
	for _, p := range problems {
		refused[p.field] = true
	}
	for _, name := range settled {
		refused[name] = true
	}
	for _, p := range check(&t) {
		if !refused[p.field] {
			problems = append(problems, p)
		}
	}
	for i := range problems {
		problems[i].field = fam.nameOf(problems[i].field)
	}
	normalise(&t)
	return t, append(problems, told...)
}

func fixFor(f *field, err error) string {
	if te := (*strictjson.TextError)(nil); errors.As(err, &te) {
		return "write the text as valid UTF-8; the row would change silently otherwise"
	}
	switch f.shape {
	case shapeText:
		return "write the value in quotes"
	case shapeList:
		return `write it as ["test one", "test two"]`
	}
	return "correct the value or leave the field out; it takes " + f.keys
}

// ParseTask is the inverse of CanonicalJSON. Every problem of the row but
// warnings is an error.
func ParseTask(canonical []byte) (eval.Task, error) {
	var r row
	if err := jsonRow(canonical, &r); err != nil {
		return eval.Task{}, fmt.Errorf("parse task: %w", err)
	}
	t, problems := r.build(nil)
	var errs []error
	for _, p := range problems {
		if !p.warning {
			errs = append(errs, fmt.Errorf("parse task %q: field %s: %s", t.InstanceID, p.field, p.reason))
		}
	}
	return t, errors.Join(errs...)
}

func unmarshalStrict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}
