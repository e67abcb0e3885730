package grade_test

import (
	"fmt"
	"strings"
	"testing"

	"harness/eval"
	"harness/scoring/grade"
)

// harborLog is a log as the eval script of a Harbor task leaves it.
func harborLog(tests string, trailer ...string) string {
	return ">>>>> Start Test Output\n" + tests + "\n>>>>> End Test Output\n>>>>> Test Exit Code: 0\n" + strings.Join(trailer, "\n") + "\n"
}

func txt(s string) string { return ">>>>> Reward reward.txt: " + s }
func jsn(s string) string { return ">>>>> Reward reward.json: " + s }

func TestHarbor(t *testing.T) {
	const pass = "PASSED ../tests/test_outputs.py::test_a\nFAILED ../tests/test_outputs.py::test_b - assert"
	for _, tt := range []struct {
		name, log string
		noop      bool
		want      eval.Outcome
		blame     eval.Blame
		reward    string // "" for none
		flags     string
	}{
		{name: "one", log: harborLog(pass, txt("1 ")), want: eval.Resolved, reward: "1"},
		{name: "one point nought", log: harborLog(pass, txt(" 1.0")), want: eval.Resolved, reward: "1"},
		{name: "zero", log: harborLog(pass, txt("0 ")), want: eval.Unresolved, blame: eval.BlameCandidate, reward: "0"},
		{name: "zero without a patch", noop: true, log: harborLog(pass, txt("0 ")), want: eval.Unresolved, reward: "0"},
		{name: "a part", log: harborLog(pass, txt("0.25")), want: eval.Unresolved, blame: eval.BlameCandidate, reward: "0.25"},
		{name: "nearly one", log: harborLog(pass, txt("0.9999999")), want: eval.Unresolved, blame: eval.BlameCandidate, reward: "0.9999999"},
		{name: "more than one", log: harborLog(pass, txt("7")), want: eval.Resolved, reward: "1", flags: "reward_clamped"},
		{name: "less than nought", log: harborLog(pass, txt("-1")), want: eval.Unresolved, blame: eval.BlameCandidate, reward: "0", flags: "reward_clamped"},
		{name: "not a number", log: harborLog(pass, txt("yes")), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_reward"},
		{name: "two numbers", log: harborLog(pass, txt("0 1")), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_reward"},
		{name: "NaN", log: harborLog(pass, txt("nan")), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_reward"},
		{name: "infinity", log: harborLog(pass, txt("1e999")), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_reward"},
		{name: "hexadecimal", log: harborLog(pass, txt("0x1p0")), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_reward"},
		{name: "empty", log: harborLog(pass, txt(" ")), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_reward"},
		{name: "none", log: harborLog(pass), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "no_reward"},
		{name: "none without a patch", noop: true, log: harborLog(pass), want: eval.TestsErrored, blame: eval.BlameEnvironment, flags: "no_reward"},
		{name: "JSON number", log: harborLog(pass, jsn("1")), want: eval.Resolved, reward: "1"},
		{name: "JSON reward", log: harborLog(pass, jsn(`{"reward": 0.5, "style": 1}`)), want: eval.Unresolved, blame: eval.BlameCandidate, reward: "0.5"},
		{name: "JSON mean", log: harborLog(pass, jsn(`{"a": 1, "b": 0.5}`)), want: eval.Unresolved, blame: eval.BlameCandidate, reward: "0.75"},
		{name: "JSON all ones", log: harborLog(pass, jsn(`{"a": 1, "b": true, "c": 1.0}`)), want: eval.Resolved, reward: "1"},
		{name: "JSON text", log: harborLog(pass, jsn(`{"reward": "1"}`)), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_reward"},
		{name: "JSON null", log: harborLog(pass, jsn(`null`)), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_reward"},
		{name: "JSON empty", log: harborLog(pass, jsn(`{}`)), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_reward"},
		{name: "JSON cut", log: harborLog(pass, jsn(`{"reward": 1`)), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_reward"},
		{name: "JSON NaN", log: harborLog(pass, jsn(`{"reward": NaN}`)), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_reward"},
		{name: "printed by the tests", log: harborLog(pass + "\n" + txt("1")), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "no_reward"},
		{name: "printed with an end marker", log: harborLog(">>>>> End Test Output\n"+txt("1"), txt("0")), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "reward_repeated"},
		{name: "printed behind the script's", log: harborLog(pass, txt("0"), txt("1")), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "reward_repeated"},
		{name: "another file", log: harborLog(pass, ">>>>> Reward other.txt: 1"), want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "no_reward"},
		{name: "no markers", log: txt("1") + "\n", want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "markers_missing"},
		{name: "not ended", log: ">>>>> Start Test Output\n" + txt("1") + "\n", want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "markers_missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			task := &eval.Task{InstanceID: "x", LogParser: "parse_log_pytest", Family: eval.FamilyHarbor}
			p := grade.ForFamily(task.Family)
			res, err := p.Grade(grade.Input{Task: task, PatchGiven: !tt.noop, Applied: true, Log: opener(tt.log)})
			if err != nil {
				t.Fatal(err)
			}
			v := res.Verdict
			if v.Outcome != tt.want || res.Blame != tt.blame || v.Resolved != (tt.want == eval.Resolved) || v.Official != nil {
				t.Errorf("got %s, blame %q (%s), official %v; want %s, blame %q", v.Outcome, res.Blame, res.Reason, v.Official, tt.want, tt.blame)
			}
			got := ""
			if v.Reward != nil {
				got = fmt.Sprint(*v.Reward)
			}
			if flags := strings.Join(v.Flags, " "); got != tt.reward || flags != tt.flags {
				t.Errorf("reward %q, flags %q; want %q, %q", got, flags, tt.reward, tt.flags)
			}
			if res.Counts != (eval.TestCounts{}) {
				t.Errorf("counts %+v: there are no lists", res.Counts)
			}
			if strings.Contains(tt.log, pass) && tt.flags != "markers_missing" && (len(res.Tests) != 2 || res.Tests[1].Status != "FAILED" || res.Tests[1].Group != eval.GroupOther) {
				t.Errorf("tests %+v", res.Tests)
			}
		})
	}
}
