package grade_test

import (
	"errors"
	"testing"

	"harness/eval"
	"harness/scoring/grade"
)

func TestFits(t *testing.T) {
	reward, lists := &eval.Task{InstanceID: "a", Family: eval.FamilyHarbor}, &eval.Task{InstanceID: "b", Family: eval.FamilyPro}
	for name, want := range map[string]*eval.Task{"harbor": reward, "swebench": lists, "pro": lists, "strict": lists} {
		p := profile(t, name)
		for _, task := range []*eval.Task{reward, lists} {
			if err := p.Fits(task); (err == nil) != (task == want) {
				t.Errorf("%s for a task of family %q: %v", name, task.Family, err)
			}
		}
	}
}

// What a task lacks is known before anything runs.
func TestFitsTells(t *testing.T) {
	none, other := task([]string{"f"}, nil), task([]string{"f"}, nil)
	none.LogParser, other.LogParser = "", "parse_log_nobody"
	half := task([]string{"f"}, nil)
	half.Baseline = &eval.Baseline{Run: &eval.TestStates{}}
	full := task([]string{"f"}, nil)
	full.Baseline = &eval.Baseline{Run: &eval.TestStates{}, Test: &eval.TestStates{}}
	tests := []struct {
		profile string
		task    *eval.Task
		want    error
	}{
		{"swebench", none, nil}, // what rows lack altogether is another's matter
		{"swebench", other, grade.ErrUnknownParser},
		{"strict", other, grade.ErrUnknownParser},
		{"multi-swe-bench", task([]string{"f"}, nil), grade.ErrNoBaseline},
		{"multi-swe-bench", half, grade.ErrNoBaseline},
		{"multi-swe-bench", full, nil},
	}
	for _, tt := range tests {
		for _, err := range []error{profile(t, tt.profile).Fits(tt.task), profile(t, tt.profile).FitsAll([]eval.Task{*full, *tt.task})} {
			if !errors.Is(err, tt.want) {
				t.Errorf("%s, parser %q: %v, want %v", tt.profile, tt.task.LogParser, err, tt.want)
			}
		}
	}
}

// A second opinion is for the logs of every recipe that asks for it.
func TestReads(t *testing.T) {
	for _, p := range grade.Profiles() {
		if !p.Reads(p.Recipe.Name) {
			t.Errorf("%s does not read logs of its own recipe", p.Name)
		}
		if strict := profile(t, "strict").Reads(p.Recipe.Name); strict == p.Rules.Reward {
			t.Errorf("strict reads logs of %s: %v", p.Recipe.Name, strict)
		}
	}
	if profile(t, "swebench-2").Reads("swebench") || profile(t, "swebench").Reads("live") {
		t.Error("a publisher's rules are for logs of its own recipe only")
	}
}
