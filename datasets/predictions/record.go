package predictions

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// reader turns records of one dialect into predictions.
type reader struct {
	d      Dialect
	keep   map[string]bool // fields whose text is wanted, by path
	open   map[string]bool // objects on the way to them
	model  string          // of records that name none
	strict bool            // the dialect was detected, not asked for
}

func newReader(d Dialect, model string, strict bool) *reader {
	r := &reader{d: d, model: model, strict: strict, keep: map[string]bool{"instance_id": true}, open: map[string]bool{}}
	for _, list := range [][]string{d.patch, d.model} {
		for _, path := range list {
			r.keep[path] = true
			for i := strings.LastIndexByte(path, '.'); i >= 0; i = strings.LastIndexByte(path[:i], '.') {
				r.open[path[:i]] = true
			}
		}
	}
	if d.pull {
		for _, f := range []string{"org", "repo", "number"} {
			r.keep[f] = true
		}
	}
	return r
}

// prediction reads one record. Fields that the dialect does not know are ignored.
func (r *reader) prediction(rec record) (eval.Prediction, error) {
	if r.d.bare {
		return r.bare(rec)
	}
	f := found{text: make(map[string]*string), shape: shape{inMap: rec.inMap, fields: make(map[string]bool)}}
	if err := r.walk(rec.raw, "", &f); err != nil {
		return eval.Prediction{}, err
	}
	if err := r.fits(f.shape); err != nil {
		return eval.Prediction{}, err
	}
	p := eval.Prediction{Model: r.model, Patch: f.first(r.d.patch)}
	var err error
	if p.InstanceID, err = r.id(rec, &f); err != nil {
		return eval.Prediction{}, err
	}
	if err := eval.ValidateInstanceID(p.InstanceID); err != nil {
		return eval.Prediction{}, err
	}
	if model := f.first(r.d.model); model != nil {
		if err := eval.ValidateModelName(*model); err != nil {
			return eval.Prediction{}, err
		}
		p.Model = *model
	}
	return p, nil
}

// fits refuses a record that shows another dialect: without the field of this
// one, it would be read as one without a patch.
func (r *reader) fits(s shape) error {
	if r.d.fits != nil && r.d.fits(s) || (r.d.fits == nil || !r.strict) && r.holds(s) {
		return nil
	}
	if other := s.candidates(); len(other) > 0 {
		return fmt.Errorf("it looks like %s, and is read as %s; split the file, or say how it is meant with --format", other[0].Name, r.d.Name)
	}
	return nil
}

// holds tells whether the record has the patch where the dialect has it.
func (r *reader) holds(s shape) bool {
	for _, path := range r.d.patch {
		field, _, _ := strings.Cut(path, ".")
		if s.has(field) {
			return true
		}
	}
	return false
}

// found are the wanted fields of one record: nil for null, absent for absent.
type found struct {
	text  map[string]*string
	shape shape
}

func (f *found) first(paths []string) *string {
	for _, p := range paths {
		if s := f.text[p]; s != nil {
			return s
		}
	}
	return nil
}

func (r *reader) walk(rec []byte, prefix string, f *found) error {
	return strictjson.Members(rec, func(key []byte, v strictjson.Value) error {
		if bytes.IndexByte(key, '.') >= 0 {
			return nil // no field has one; it is not the way into an object
		}
		path := prefix + string(key)
		if prefix == "" && telling[path] {
			f.shape.fields[path] = true
		}
		switch {
		case r.open[path]:
			if v.Kind == strictjson.Object {
				return r.walk(v.Raw, path+".", f)
			}
			if v.Kind != strictjson.Null {
				return fmt.Errorf("%s is %s, an object is expected", path, v.Kind)
			}
		case r.keep[path]:
			return f.take(path, v)
		}
		return nil
	})
}

// take notes the text of a field.
func (f *found) take(path string, v strictjson.Value) error {
	if _, again := f.text[path]; again {
		return fmt.Errorf("%s is given twice in the record", path)
	}
	f.text[path] = nil
	switch {
	case v.Kind == strictjson.Null:
	case v.Kind == strictjson.String:
		s, err := v.Text()
		if err != nil {
			return fmt.Errorf("%s has %w; write it as valid UTF-8", path, err)
		}
		f.text[path] = &s
		if path == "instance_id" {
			f.shape.id = s
		}
	case v.Kind == strictjson.Number && path == "number":
		s := string(v.Raw)
		f.text[path] = &s
	default:
		return fmt.Errorf("%s is %s, a string is expected", path, v.Kind)
	}
	return nil
}

// id finds the instance id of a record.
func (r *reader) id(rec record, f *found) (string, error) {
	inside, given := f.text["instance_id"]
	switch {
	case r.d.keyed && rec.inMap:
		if inside != nil && *inside != rec.key {
			return "", fmt.Errorf("its instance_id is %.80q and its key %.80q; the key is the id in %s", *inside, rec.key, r.d.Name)
		}
		return rec.key, nil
	case inside != nil:
		return *inside, nil
	case r.d.pull:
		return pullID(f)
	case given:
		return "", errors.New("instance_id is null")
	}
	return "", errors.New("instance_id is missing")
}

// pullID makes the id that Multi-SWE-bench's dataset has for a pull request.
func pullID(f *found) (string, error) {
	var parts [3]string
	for i, name := range []string{"org", "repo", "number"} {
		v := f.text[name]
		if v == nil {
			return "", fmt.Errorf("%s is missing, and there is no instance_id", name)
		}
		parts[i] = *v
	}
	if n := parts[2]; n == "" || strings.Trim(n, "0123456789") != "" {
		return "", fmt.Errorf("number is %.40q, the number of a pull request is expected", n)
	}
	return parts[0] + "__" + parts[1] + "-" + parts[2], nil
}

// bare makes a prediction of a file that is a patch and nothing else.
func (r *reader) bare(rec record) (eval.Prediction, error) {
	if err := eval.ValidateInstanceID(rec.key); err != nil {
		return eval.Prediction{}, err
	}
	if err := checkUTF8(rec.raw); err != nil {
		return eval.Prediction{}, err
	}
	patch := string(rec.raw)
	return eval.Prediction{InstanceID: rec.key, Model: r.model, Patch: &patch}, nil
}
