package grade_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"harness/eval"
	"harness/scoring/grade"
	"harness/scoring/logparse"
)

// Whatever a log holds, every profile ends it in one outcome that its lists and
// counts bear out, and however the log arrives, in the same one.
func FuzzGrade(f *testing.F) {
	for _, log := range []string{
		marked("PASSED f\nFAILED p\n"),
		marked("") + ">>>>> Test Exit Code: \n-3\nTests:\n\n 4",
		">>>>> Start Test Output>>>>> >>>>> End Test Output\xff\r>>>>> ",
		"PASSED f\nXFAIL p (1.2 s)\nSKIPPED p\n\x1b[31mPASSED g[x\x1b[0m\n14 passing\n",
		"Applied patch\n>>>>> Applied Patch (pred)\nERRORS f\nPASSED: p\n>>>>> Reward reward.txt: 1\n",
	} {
		f.Add([]byte(log), "f", "p", false)
		f.Add([]byte(log), "g[", "p [3 ms]", true)
	}
	f.Fuzz(func(t *testing.T, log []byte, f2p, p2p string, failOnly bool) {
		tk := task([]string{f2p, "f"}, []string{p2p})
		tk.Baseline = &eval.Baseline{
			Run: &eval.TestStates{}, Test: &eval.TestStates{Passed: []string{p2p}, Failed: []string{f2p}}, NoneToPass: []string{"f", "n"},
		}
		if failOnly {
			tk.EvalType = eval.EvalFailOnly
		}
		for _, p := range grade.Profiles() {
			one := func(chunk func(io.Reader) io.Reader) grade.Result {
				res, err := p.Grade(grade.Input{
					Task: tk, PatchGiven: true, Applied: true,
					Log: func() (io.ReadCloser, error) { return io.NopCloser(chunk(strings.NewReader(string(log)))), nil },
				})
				if err != nil {
					t.Fatalf("%s: %v", p.Name, err)
				}
				return res
			}
			res := one(func(r io.Reader) io.Reader { return r })
			if a, b := document(t, res), document(t, one(iotest.OneByteReader)); a != b {
				t.Errorf("%s: the way the log arrives matters:\n%s\n%s", p.Name, a, b)
			}
			if err := sound(res); err != nil {
				t.Errorf("%s: %v\n%s", p.Name, err, document(t, res))
			}
			if err := seen(res, tk); p.Name == "strict" && err != nil {
				t.Errorf("strict: %v\n%s", err, document(t, res))
			}
		}
	})
}

func document(t *testing.T, res grade.Result) string {
	t.Helper()
	doc, err := json.Marshal(grade.JSON(res))
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// seen checks that every test to fix of a resolved trial was reported as passed,
// and none as failed.
func seen(res grade.Result, t *eval.Task) error {
	if !res.Verdict.Resolved || t.EvalType == eval.EvalFailOnly {
		return nil
	}
	for _, name := range t.FailToPass {
		name = logparse.StripTimes(name)
		status, ok := res.StatusMap.Worst(name)
		if !ok {
			// It was cut: some name that begins with it.
			for n := range res.StatusMap.All() {
				if s, _ := res.StatusMap.Worst(n); strings.HasPrefix(n, name) && strings.Contains(name, "[") && s == logparse.Passed {
					status = s
				}
			}
		}
		if status != logparse.Passed {
			return fmt.Errorf("%q was not seen to pass", name)
		}
	}
	return nil
}

// sound checks that the parts of a result agree.
func sound(res grade.Result) error {
	v := res.Verdict
	resolved := v.Outcome == eval.Resolved
	switch {
	case !v.Outcome.Valid():
		return fmt.Errorf("outcome %s", v.Outcome)
	case v.Resolved != resolved || (res.Reason == "") != resolved || (res.Blame == eval.BlameNone) != resolved:
		return fmt.Errorf("%s, resolved %v, blame %q, reason %q", v.Outcome, v.Resolved, res.Blame, res.Reason)
	case !slices.IsSorted(v.Flags) || len(slices.Compact(slices.Clone(v.Flags))) < len(v.Flags):
		return fmt.Errorf("flags %q", v.Flags)
	case v.Official == nil:
		return nil
	case v.Official.Resolved != resolved || v.Official.PatchApplied != (v.Official.TestsStatus != nil):
		return fmt.Errorf("official report %+v", *v.Official)
	case v.Official.TestsStatus == nil:
		return nil
	}
	st := v.Official.TestsStatus
	if bad := len(st.FailToPass.Failure) + len(st.PassToPass.Failure) + len(st.PassToFail.Failure); resolved && bad > 0 {
		return fmt.Errorf("resolved with %d failures", bad)
	}
	rows := map[string]int{}
	for _, r := range res.Tests {
		rows[r.Group]++
	}
	c := res.Counts
	for _, g := range []struct {
		name          string
		list          eval.SuccessFailure
		passed, total int
	}{
		{eval.GroupF2P, st.FailToPass, *c.F2PPassed, *c.F2PTotal},
		{eval.GroupP2P, st.PassToPass, *c.P2PPassed, *c.P2PTotal},
	} {
		if g.passed != len(g.list.Success) || g.passed+len(g.list.Failure) > g.total || rows[g.name] != g.total {
			return fmt.Errorf("%s: %d of %d passed, %d rows, lists %+v", g.name, g.passed, g.total, rows[g.name], g.list)
		}
	}
	return nil
}
