package grade_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"harness/eval"
	"harness/internal/vectors"
	"harness/scoring/grade"
)

// Every profile that judges lists of tests has worked examples, and judges them as
// they say.
func TestVectors(t *testing.T) {
	const least = 20
	files, err := filepath.Glob("testdata/vectors/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range grade.Profiles() {
		file := filepath.Join("testdata", "vectors", p.Name+".txt")
		if !p.Rules.Reward && !slices.Contains(files, file) {
			t.Errorf("the profile %s has no %s", p.Name, file)
		}
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			all, err := vectors.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(all) < least {
				t.Errorf("%d vectors, want at least %d", len(all), least)
			}
			for _, v := range all {
				checkVector(t, profile(t, name), v)
			}
		})
	}
}

func checkVector(t *testing.T, p grade.Profile, v *vectors.Vector) {
	t.Helper()
	if p.Rules.Transitions && v.Task.Baseline == nil {
		v.Task.Baseline = &eval.Baseline{Run: &eval.TestStates{}, Test: &eval.TestStates{}}
	}
	res, err := p.Grade(grade.Input{Task: &v.Task, PatchGiven: true, Applied: true, Log: opener(string(v.Log))})
	if err != nil {
		t.Errorf("line %d: %v", v.Line, err)
		return
	}
	if got := res.Verdict.Outcome.String(); got != v.Outcome || strings.Join(res.Verdict.Flags, " ") != v.Flags {
		t.Errorf("line %d: %s\ngot  %s %v (%s)\nwant %s [%s]", v.Line, v.Why, got, res.Verdict.Flags, res.Reason, v.Outcome, v.Flags)
	}
	if got := infra(res.Verdict.Official); got != v.Infra {
		t.Errorf("line %d: %s\ngot  infra %q, want %q", v.Line, v.Why, got, v.Infra)
	}
	if off := res.Verdict.Official; off == nil || off.TestsStatus == nil {
		return // nothing was judged
	}
	if got := placed(res); !reflect.DeepEqual(got, v.Placed) {
		t.Errorf("line %d: %s\ngot  %q\nwant %q", v.Line, v.Why, got, v.Placed)
	}
}

// infra is the report's advice as vectors write it.
func infra(off *eval.OfficialReport) string {
	switch {
	case off == nil || off.InfraFailure == nil || off.InfraReason == "":
		return ""
	case *off.InfraFailure:
		return "environment " + off.InfraReason
	}
	return "ambiguous " + off.InfraReason
}

// placed says where the report puts each test.
func placed(res grade.Result) map[string]string {
	out := map[string]string{}
	st := res.Verdict.Official.TestsStatus
	in := map[string]int{}
	for _, l := range []struct {
		key   string
		names []string
	}{
		{"+" + eval.GroupF2P, st.FailToPass.Success}, {"-" + eval.GroupF2P, st.FailToPass.Failure},
		{"+" + eval.GroupP2P, st.PassToPass.Success}, {"-" + eval.GroupP2P, st.PassToPass.Failure},
		{"-" + eval.GroupP2F, st.PassToFail.Failure},
	} {
		for _, n := range l.names {
			out[l.key] += n + "\n"
			in[l.key[1:]+n]++
		}
	}
	for _, r := range res.Tests {
		if (r.Group == eval.GroupF2P || r.Group == eval.GroupP2P) && in[r.Group+r.Name] == 0 {
			out["0"+r.Group] += r.Name + "\n"
		}
	}
	return out
}
