package datasets_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"harness/datasets"
	"harness/eval"
)

func TestDiff(t *testing.T) {
	task := func(id string, change func(*eval.Task)) eval.Task {
		t := eval.Task{InstanceID: id, Repo: "octo/calc", Patch: "one\ntwo\nthree\n", FailToPass: []string{"a", "b"}, PassToPass: []string{"c", "d"}}
		if change != nil {
			change(&t)
		}
		return t
	}
	set := func(tasks ...eval.Task) *datasets.Dataset {
		d, err := datasets.Digest(tasks)
		if err != nil {
			t.Fatal(err)
		}
		return &datasets.Dataset{Tasks: tasks, Digest: d}
	}
	cpus := 2.0
	a := set(task("t-1", nil), task("t-2", nil), task("t-3", nil), task("t-4", nil), task("t-5", nil))
	b := set(task("t-6", nil), task("t-4", func(t *eval.Task) {
		t.FailToPass, t.PassToPass = []string{"b", "e", "e"}, []string{"d", "c"}
	}), task("t-1", nil), task("t-3", func(t *eval.Task) {
		t.Patch, t.Version, t.Limits = "one\ntwo\nthree"+strings.Repeat("!", 200), "1", &eval.LimitsSpec{CPUs: &cpus}
	}), task("t-5", func(t *eval.Task) { t.Patch += "four" }))
	d, err := datasets.Diff(a, b)
	if err != nil {
		t.Fatal(err)
	}
	want := &datasets.Difference{
		DigestA: a.Digest, DigestB: b.Digest, Equal: 1, Added: []string{"t-6"}, Removed: []string{"t-2"}, Reordered: true,
		Changed: []datasets.Change{
			{InstanceID: "t-4", Fields: []datasets.FieldChange{
				{Field: "FAIL_TO_PASS", Added: []string{"e", "e"}, Removed: []string{"a"}},
				{Field: "PASS_TO_PASS", Reordered: true},
			}},
			{InstanceID: "t-3", Fields: []datasets.FieldChange{
				{Field: "limits", BytesB: len(`{"cpus":2}`), Line: 1, LineB: `{"cpus":2}`},
				{Field: "patch", BytesA: 14, BytesB: 213, Line: 3, LineA: "three", LineB: "three" + strings.Repeat("!", 115) + "..."},
				{Field: "version", BytesB: 1, Line: 1, LineB: "1"},
			}},
			{InstanceID: "t-5", Fields: []datasets.FieldChange{{Field: "patch", BytesA: 14, BytesB: 18, Line: 4, LineB: "four"}}},
		},
	}
	if !reflect.DeepEqual(d, want) {
		got, _ := json.MarshalIndent(d, "", " ")
		t.Errorf("%s", got)
	}
	d, err = datasets.Diff(a, a)
	if err != nil || !d.Same || d.Equal != 5 || len(d.Added)+len(d.Removed)+len(d.Changed) > 0 || d.Reordered {
		t.Errorf("with itself: %+v, %v", d, err)
	}
}
