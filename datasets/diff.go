package datasets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"harness/eval"
)

// Difference is what it takes to make dataset B of dataset A. Tasks are the same
// by their id.
type Difference struct {
	DigestA string   `json:"digest_a"`
	DigestB string   `json:"digest_b"`
	Same    bool     `json:"same"`  // the digests are equal
	Equal   int      `json:"equal"` // tasks that are in both, and equal
	Added   []string `json:"added"` // ids that only B has, in its order
	Removed []string `json:"removed"`
	Changed []Change `json:"changed"`
	// Reordered: the tasks of both stand in another order in B.
	Reordered bool `json:"reordered"`
}

// Change is a task that is in both datasets, with the fields that differ.
type Change struct {
	InstanceID string        `json:"instance_id"`
	Fields     []FieldChange `json:"fields"`
}

// FieldChange is one field that differs. For a list of texts Added and Removed say
// how; for a text sizes, and the first line that differs.
type FieldChange struct {
	Field string `json:"field"`
	// Of a list.
	Added     []string `json:"added,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	Reordered bool     `json:"reordered,omitempty"`
	// Of anything else. A field that one of the tasks lacks has size 0 there.
	BytesA int `json:"bytes_a,omitempty"`
	BytesB int `json:"bytes_b,omitempty"`
	Line   int `json:"line,omitempty"` // from 1
	// The line that differs, shortened.
	LineA string `json:"line_a,omitempty"`
	LineB string `json:"line_b,omitempty"`
}

// Diff compares the tasks of two datasets, in their canonical form.
func Diff(a, b *Dataset) (*Difference, error) {
	d := &Difference{
		DigestA: a.Digest, DigestB: b.Digest, Same: a.Digest == b.Digest,
		Added: []string{}, Removed: []string{}, Changed: []Change{},
	}
	inA := make(map[string]*eval.Task, len(a.Tasks))
	for i := range a.Tasks {
		inA[a.Tasks[i].InstanceID] = &a.Tasks[i]
	}
	inB := make(map[string]bool, len(b.Tasks))
	var orderB []string
	for i := range b.Tasks {
		t := &b.Tasks[i]
		inB[t.InstanceID] = true
		before, both := inA[t.InstanceID]
		if !both {
			d.Added = append(d.Added, t.InstanceID)
			continue
		}
		orderB = append(orderB, t.InstanceID)
		fields, err := diffTasks(before, t)
		if err != nil {
			return nil, err
		}
		if len(fields) == 0 {
			d.Equal++
			continue
		}
		d.Changed = append(d.Changed, Change{t.InstanceID, fields})
	}
	var orderA []string
	for i := range a.Tasks {
		if id := a.Tasks[i].InstanceID; inB[id] {
			orderA = append(orderA, id)
		} else {
			d.Removed = append(d.Removed, id)
		}
	}
	d.Reordered = !slices.Equal(orderA, orderB)
	return d, nil
}

// diffTasks works on the canonical JSON, so that it sees every field there is.
func diffTasks(a, b *eval.Task) ([]FieldChange, error) {
	rawA, err := CanonicalJSON(a)
	if err != nil {
		return nil, err
	}
	rawB, err := CanonicalJSON(b)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(rawA, rawB) {
		return nil, nil
	}
	var fieldsA, fieldsB map[string]json.RawMessage
	if err := json.Unmarshal(rawA, &fieldsA); err != nil {
		return nil, fmt.Errorf("compare task %q: %w", a.InstanceID, err)
	}
	if err := json.Unmarshal(rawB, &fieldsB); err != nil {
		return nil, fmt.Errorf("compare task %q: %w", a.InstanceID, err)
	}
	names := make([]string, 0, len(fieldsA))
	for name := range fieldsA {
		names = append(names, name)
	}
	for name := range fieldsB {
		if _, both := fieldsA[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []FieldChange
	for _, name := range names {
		if va, vb := fieldsA[name], fieldsB[name]; !bytes.Equal(va, vb) {
			out = append(out, diffField(name, va, vb))
		}
	}
	return out, nil
}

func diffField(name string, a, b json.RawMessage) FieldChange {
	listA, isListA := asList(a)
	listB, isListB := asList(b)
	if isListA && isListB {
		return diffLists(name, listA, listB)
	}
	return diffTexts(name, asText(a), asText(b))
}

// asList takes a value that is not there for an empty list.
func asList(raw json.RawMessage) (list []string, ok bool) {
	if raw == nil {
		return nil, true
	}
	return list, json.Unmarshal(raw, &list) == nil
}

// asText is the text itself, or the JSON of anything else.
func asText(raw json.RawMessage) string {
	var s string
	if raw != nil && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// diffLists counts: a test that is given twice in one of the lists differs.
func diffLists(name string, a, b []string) FieldChange {
	c := FieldChange{Field: name}
	count := make(map[string]int, len(a))
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		if count[s]--; count[s] < 0 {
			c.Added = append(c.Added, s)
		}
	}
	for _, s := range a {
		if count[s] > 0 {
			count[s]--
			c.Removed = append(c.Removed, s)
		}
	}
	c.Reordered = len(c.Added) == 0 && len(c.Removed) == 0
	return c
}

func diffTexts(name, a, b string) FieldChange {
	c := FieldChange{Field: name, BytesA: len(a), BytesB: len(b), Line: 1}
	for {
		lineA, restA, moreA := strings.Cut(a, "\n")
		lineB, restB, moreB := strings.Cut(b, "\n")
		if lineA != lineB || moreA != moreB {
			c.LineA, c.LineB = firstDifference(lineA, lineB)
			return c
		}
		a, b = restA, restB
		c.Line++
	}
}

// firstDifference shortens two lines to where they differ.
func firstDifference(a, b string) (string, string) {
	const before, most = 20, 120
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	from := max(0, same-before)
	cut := func(s string) string {
		start := min(from, len(s))
		out := s[start:min(start+most, len(s))]
		if start > 0 {
			out = "..." + out
		}
		if start+most < len(s) {
			out += "..."
		}
		return strings.ToValidUTF8(out, "")
	}
	return cut(a), cut(b)
}
