package datasets

import (
	"slices"
	"strings"
	"testing"

	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// A family may read lists and objects under names of its own, not only texts.
func TestFamilyReadsAnyShape(t *testing.T) {
	fam := &family{
		reads: map[string]string{"instance_id": "title", "FAIL_TO_PASS": "f2p_tests", "PASS_TO_PASS": "p2p_tests", "limits": "base"},
		fill:  func(*filling) {},
	}
	build := func(fixed string) (eval.Task, []rowProblem) {
		var r row
		*r.at("title") = cell{kind: strictjson.String, text: "a-1"}
		*r.at("f2p_tests") = cell{kind: strictjson.Array, raw: []byte(fixed)}
		*r.at("p2p_tests") = cell{kind: strictjson.String, text: `["c"]`}
		*r.at("base") = cell{kind: strictjson.Object, raw: []byte(`{"cpus": 2}`)}
		for _, name := range []string{"repo", "base_commit", "patch", "test_patch"} {
			*r.at(name) = cell{kind: strictjson.String, text: "a/a"}
		}
		return r.build(fam)
	}
	got, _ := build(`["a", "b"]`)
	if !slices.Equal(got.FailToPass, []string{"a", "b"}) || !slices.Equal(got.PassToPass, []string{"c"}) {
		t.Errorf("lists %q, %q", got.FailToPass, got.PassToPass)
	}
	if got.InstanceID != "a-1" || got.Limits == nil || got.Limits.CPUs == nil || *got.Limits.CPUs != 2 {
		t.Errorf("id %q, limits %+v", got.InstanceID, got.Limits)
	}
	_, problems := build(`["a", 1]`)
	if !slices.ContainsFunc(problems, func(p rowProblem) bool {
		return p.field == "f2p_tests" && strings.Contains(p.reason, "element 2 is a number")
	}) {
		t.Errorf("problems %v", problems)
	}
}
