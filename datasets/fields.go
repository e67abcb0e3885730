package datasets

import (
	"encoding/json"
	"errors"
	"fmt"

	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// shape is what a field holds in a row.
type shape uint8

const (
	shapeText   shape = iota // a string
	shapeList                // a list of strings, or a string that holds such a list as JSON
	shapeObject              // an object (or what kind says), or a string that holds one as JSON
)

// field is one column of the row schema. The table below is the schema: rows of
// every file format are read by it and Parquet files are written by it.
type field struct {
	name     string
	shape    shape
	required bool
	text     func(*eval.Task) *string
	list     func(*eval.Task) *[]string
	object   func(*eval.Task) any // a pointer to the value to decode into
	keys     string               // of an object, for messages
	kind     strictjson.Kind      // of an object: Object unless said
	blank    bool                 // "" is no value
	// decode reads an object that decodeObject does not.
	decode func(raw []byte, t *eval.Task) error
}

var fields = [...]field{
	{name: "instance_id", required: true, text: func(t *eval.Task) *string { return &t.InstanceID }},
	{name: "repo", required: true, text: func(t *eval.Task) *string { return &t.Repo }},
	{name: "base_commit", required: true, text: func(t *eval.Task) *string { return &t.BaseCommit }},
	{name: "version", text: func(t *eval.Task) *string { return &t.Version }},
	{name: "language", text: func(t *eval.Task) *string { return &t.Language }},
	{name: "difficulty", text: func(t *eval.Task) *string { return &t.Difficulty }},
	{name: "created_at", text: func(t *eval.Task) *string { return &t.CreatedAt }},
	{name: "problem_statement", text: func(t *eval.Task) *string { return &t.ProblemStatement }},
	{name: "hints_text", text: func(t *eval.Task) *string { return &t.HintsText }},
	{name: "patch", required: true, text: func(t *eval.Task) *string { return &t.Patch }},
	{name: "test_patch", required: true, text: func(t *eval.Task) *string { return &t.TestPatch }},
	{name: "FAIL_TO_PASS", shape: shapeList, required: true, list: func(t *eval.Task) *[]string { return &t.FailToPass }},
	{name: "PASS_TO_PASS", shape: shapeList, required: true, list: func(t *eval.Task) *[]string { return &t.PassToPass }},
	{name: "image", text: func(t *eval.Task) *string { return &t.Image }},
	{name: "eval_script", text: func(t *eval.Task) *string { return &t.EvalScript }},
	{name: "log_parser", text: func(t *eval.Task) *string { return &t.LogParser }},
	{name: "eval_type", text: func(t *eval.Task) *string { return &t.EvalType }},
	{name: "workdir", text: func(t *eval.Task) *string { return &t.WorkDir }},
	{name: "limits", shape: shapeObject, object: func(t *eval.Task) any { return &t.Limits },
		keys: "the numbers cpus, memory_bytes, disk_bytes, wall_seconds, processes, output_bytes"},
	{name: "frozen", shape: shapeObject, object: func(t *eval.Task) any { return &t.Frozen },
		keys: "runtime, image_digest, gold_runs, noop_runs, published_f2p, published_p2p, missing, note"},
	{name: "family", text: func(t *eval.Task) *string { return &t.Family }},
	{name: "image_assets", shape: shapeObject, object: func(t *eval.Task) any { return &t.ImageAssets }, blank: true,
		decode: decodeAssets, keys: "problem_statement, patch and test_patch, each a list of addresses or of {url, path}"},
	{name: "files", shape: shapeObject, object: func(t *eval.Task) any { return &t.Files }, kind: strictjson.Array,
		keys: "a list of {path, mode, data}, data in base64"},
	{name: "solution", shape: shapeObject, object: func(t *eval.Task) any { return &t.Solution },
		keys: "script, files and timeout_seconds"},
	{name: "baseline", shape: shapeObject, object: func(t *eval.Task) any { return &t.Baseline },
		keys: "run, test and gold, each with the lists passed, failed and skipped, and the lists s2p and n2p"},
}

const numFields = len(fields)

var fieldIndex = func() map[string]int {
	m := make(map[string]int, numFields)
	for i, f := range fields {
		m[f.name] = i
	}
	return m
}()

// cell is the value of one field of one row, whatever file it comes from. A
// null is the same as no value.
type cell struct {
	kind strictjson.Kind
	text string   // String
	list []string // Array in a list field, once read
	raw  []byte   // any other kind, as JSON; valid until the next row
	err  error    // why the value is refused
}

func (c *cell) missing() bool { return c.kind == strictjson.Absent || c.kind == strictjson.Null }

// row is what a reader hands to the schema: the cells of known fields, those of
// fields that other families have, and the names of all fields that the schema
// does not know, to recognise other families.
type row struct {
	cells [numFields]cell
	extra [numMembers]cell
	names []string
}

// at returns the cell of a field or of a family's member, nil when there is none
// of that name.
func (r *row) at(name string) *cell {
	if i, ok := fieldIndex[name]; ok {
		return &r.cells[i]
	}
	if i, ok := memberIndex[name]; ok {
		return &r.extra[i]
	}
	return nil
}

func (f *field) set(t *eval.Task, c *cell) error {
	if c.err != nil {
		return c.err
	}
	switch f.shape {
	case shapeText:
		if c.kind != strictjson.String {
			return fmt.Errorf("it is %s, a string is expected", c.kind)
		}
		*f.text(t) = c.text
	case shapeList:
		list := c.list
		switch c.kind {
		case strictjson.Array:
			if list == nil { // a member of another family: readers keep those as they are
				var err error
				if list, err = stringList(c.raw); err != nil {
					return err
				}
			}
		case strictjson.String:
			var err error
			if list, err = stringList([]byte(c.text)); err != nil {
				return fmt.Errorf("the string does not hold a JSON list of strings: %w", err)
			}
		default:
			return fmt.Errorf("it is %s, a list of strings (or a JSON string of one) is expected", c.kind)
		}
		*f.list(t) = list
	case shapeObject:
		return f.setObject(t, c)
	}
	return nil
}

func (f *field) setObject(t *eval.Task, c *cell) error {
	want := f.kind
	if want == strictjson.Absent {
		want = strictjson.Object
	}
	raw := c.raw
	switch c.kind {
	case want:
	case strictjson.String:
		if f.blank && c.text == "" {
			return nil
		}
		raw = []byte(c.text)
	default:
		return fmt.Errorf("it is %s, %s is expected", c.kind, want)
	}
	if f.decode != nil {
		return f.decode(raw, t)
	}
	return decodeJSON(raw, want, f.object(t))
}

// stringList reads a JSON list of strings.
func stringList(raw []byte) ([]string, error) {
	out := []string{}
	err := strictjson.Elements(raw, func(v strictjson.Value) error {
		if v.Kind != strictjson.String {
			return fmt.Errorf("element %d is %s, a string is expected", len(out)+1, v.Kind)
		}
		s, err := v.Text()
		if err != nil {
			return fmt.Errorf("element %d has %w", len(out)+1, err)
		}
		out = append(out, s)
		return nil
	})
	return out, err
}

// decodeJSON fills our own small structs. They are ours, so an unknown key is a slip.
func decodeJSON(raw []byte, want strictjson.Kind, into any) error {
	v, err := strictjson.Parse(raw)
	if err != nil {
		return err
	}
	if v.Kind != want {
		return fmt.Errorf("it is %s, %s is expected", v.Kind, want)
	}
	if err := v.CheckText(); err != nil {
		return err
	}
	if err := unmarshalStrict(raw, into); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) {
			return fmt.Errorf("%s is a %s, a value of type %s is expected", te.Field, te.Value, te.Type)
		}
		return err
	}
	return nil
}
