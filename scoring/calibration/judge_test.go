package calibration_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"harness/eval"
	"harness/scoring/calibration"
)

const (
	f2p = "test_x.py::test_fixed"
	p2p = "test_x.py::test_kept"
)

// repeat is a finished execution: "resolved", "unresolved", ... and the statuses
// of the expected tests and of one other, "" for a test that is not there.
func repeat(outcome eval.Outcome, statuses ...string) eval.TrialResult {
	r := eval.TrialResult{Outcome: outcome, Limits: eval.DefaultLimits()}
	r.Exec.Runtime, r.Exec.RuntimeVersion, r.Exec.ImageDigest = "runsc", "1.0", "sha256:abc"
	for i, s := range statuses {
		if s != "" {
			r.Tests = append(r.Tests, eval.TestResult{
				Name:  []string{f2p, p2p, "test_x.py::test_other"}[i],
				Group: []string{eval.GroupF2P, eval.GroupP2P, eval.GroupOther}[i], Status: s,
			})
		}
	}
	return r
}

var (
	solved = repeat(eval.Resolved, "PASSED", "PASSED")
	open   = repeat(eval.Unresolved, "FAILED", "PASSED")
	lost   = eval.TrialResult{Outcome: eval.InfraError}
	ended  = eval.TrialResult{Outcome: eval.TimedOut}
)

func under(runtime string, gold, noop []eval.TrialResult) calibration.Under {
	return calibration.Under{Runtime: runtime, GoldRun: "g", NoopRun: "n", Gold: gold, Noop: noop}
}

func of(r ...eval.TrialResult) []eval.TrialResult { return r }

var task = &eval.Task{InstanceID: "some__task-1", EvalType: eval.EvalPassAndFail, FailToPass: []string{f2p}, PassToPass: []string{p2p}}

func show(b *bool) string {
	if b == nil {
		return "unknown"
	}
	return fmt.Sprint(*b)
}

func TestTask(t *testing.T) {
	for _, c := range []struct {
		name       string
		gold, noop []eval.TrialResult
		calibrated string
		reasons    string
	}{
		{"as it should be", of(solved, solved), of(open, open), "true", ""},
		{"one repeat is enough", of(solved), of(open), "true", ""},
		{"gold fails", of(open, open), of(open), "false", "gold_fails"},
		{"gold runs into the time limit", of(ended), of(open), "false", "gold_fails"},
		{"gold fails now and then", of(solved, open, solved), of(open), "false", "gold_unsteady"},
		{"nothing has to be done", of(solved), of(solved, solved), "false", "noop_resolves"},
		{"nothing has to be done now and then", of(solved), of(solved, open), "false", "noop_unsteady"},
		{"both", of(open), of(solved), "false", "gold_fails noop_resolves"},
		{"a fault of ours is no failure", of(solved, lost), of(lost, open), "true", ""},
		{"no result of gold", of(lost, lost), of(open), "unknown", "gold_unknown"},
		{"no result without a patch", of(solved), of(lost), "unknown", "noop_unknown"},
		{"no result at all", of(lost), of(repeat(eval.Cancelled)), "unknown", "gold_unknown noop_unknown"},
		{"a failure is one whatever is unknown", of(open), of(lost), "false", "gold_fails noop_unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := calibration.Judge(task, "d", []calibration.Under{under("runsc", c.gold, c.noop)})[0]
			if show(got.Calibrated) != c.calibrated || strings.Join(got.Reasons, " ") != c.reasons {
				t.Errorf("calibrated %s, reasons %q; want %s, %q", show(got.Calibrated), got.Reasons, c.calibrated, c.reasons)
			}
			if got.Differs != nil {
				t.Errorf("one runtime differs from itself: %v", *got.Differs)
			}
			if got.InstanceID != "some__task-1" || got.Digest != "d" || got.Runtime != "runsc" || got.GoldRun != "g" || got.NoopRun != "n" {
				t.Errorf("it is about %+v", got)
			}
			if got.Gold.Planned != len(c.gold) || len(got.Gold.Seen) != len(c.gold) || got.Noop.Planned != len(c.noop) {
				t.Errorf("repeats %+v, %+v", got.Gold, got.Noop)
			}
		})
	}
}

func TestTests(t *testing.T) {
	s := func(word ...string) []eval.TrialResult { // of a test that is all there is
		var out []eval.TrialResult
		for _, w := range word {
			switch w {
			case "?":
				out = append(out, lost)
			case "!":
				out = append(out, ended)
			default:
				o := eval.Resolved
				if w != "PASSED" && w != "XFAIL" {
					o = eval.Unresolved
				}
				out = append(out, repeat(o, w, "PASSED"))
			}
		}
		return out
	}
	for _, c := range []struct {
		name                       string
		gold, noop                 []eval.TrialResult
		goldFlake, noopFlake       string
		failsOnGold, passesOnNoop  string
		quarantined, reasons, seen string
	}{
		{"steady", s("PASSED", "PASSED"), s("FAILED", "FAILED"), "0/2", "0/2", "false", "false", "false", "", "PASSED PASSED"},
		{"flaky with gold", s("PASSED", "FAILED", "PASSED"), s("FAILED"), "1/3", "", "false", "false", "true", "flaky", "PASSED FAILED PASSED"},
		{"flaky without a patch", s("PASSED"), s("FAILED", "PASSED"), "", "1/2", "false", "false", "true", "flaky", "PASSED"},
		{"two words for one behaviour", s("PASSED", "XFAIL"), s("FAILED", "ERROR"), "0/2", "0/2", "false", "false", "false", "", "PASSED XFAIL"},
		{"absent is not failed", s("PASSED"), s("FAILED", "MISSING"), "", "1/2", "false", "false", "true", "flaky", "PASSED"},
		{"three behaviours", s("PASSED", "FAILED", "SKIPPED"), s("FAILED"), "2/3", "", "false", "false", "true", "flaky", "PASSED FAILED SKIPPED"},
		{"always fails", s("FAILED", "FAILED"), s("FAILED"), "0/2", "", "true", "false", "true", "fails_on_gold", "FAILED FAILED"},
		{"passes without a patch", s("PASSED"), s("PASSED", "PASSED"), "", "0/2", "false", "true", "true", "passes_on_noop", "PASSED"},
		{"unknown repeats do not count", s("PASSED", "?", "PASSED"), s("?", "FAILED"), "0/2", "", "false", "false", "false", "", "PASSED UNKNOWN PASSED"},
		{"an ended trial says nothing of tests", s("PASSED", "!"), s("FAILED"), "", "", "false", "false", "false", "", "PASSED UNKNOWN"},
		{"gold unknown", s("?", "!"), s("FAILED"), "", "", "unknown", "false", "false", "", "UNKNOWN UNKNOWN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := calibration.Judge(task, "d", []calibration.Under{under("runsc", c.gold, c.noop)})[0].Tests[0]
			if got.Name != f2p || got.Group != eval.GroupF2P {
				t.Fatalf("the first test is %+v", got)
			}
			for _, k := range []struct{ what, got, want string }{
				{"gold flake", flake(got.Gold), c.goldFlake}, {"unpatched flake", flake(got.Noop), c.noopFlake},
				{"fails on gold", show(got.FailsOnGold), c.failsOnGold}, {"passes on no-op", show(got.PassesOnNoop), c.passesOnNoop},
				{"quarantined", show(got.Quarantined), c.quarantined}, {"reasons", strings.Join(got.Reasons, " "), c.reasons},
				{"seen with gold", strings.Join(got.Gold.Seen, " "), c.seen},
			} {
				if k.got != k.want {
					t.Errorf("%s: %q, want %q", k.what, k.got, k.want)
				}
			}
		})
	}
}

// flake writes a flake rate as a fraction.
func flake(r calibration.Repeats) string {
	if r.Flake == nil {
		return ""
	}
	return fmt.Sprintf("%.0f/%d", math.Round(r.Flake.Rate*float64(r.Measured)), r.Measured)
}

func TestFlakeInterval(t *testing.T) {
	got := calibration.Judge(task, "d", []calibration.Under{under("runsc", of(solved, open, solved), of(open))})[0]
	f := got.Tests[0].Gold.Flake
	if f == nil || math.Abs(f.Rate-1.0/3) > 1e-9 || math.Abs(f.Low-0.0614919) > 1e-6 || math.Abs(f.High-0.7923404) > 1e-6 {
		t.Errorf("flake of one in three: %+v", f)
	}
	if got.Gold.Flake == nil || *got.Gold.Flake != *f {
		t.Errorf("the task's own flake is %+v", got.Gold.Flake)
	}
}

func TestPassToPass(t *testing.T) {
	got := calibration.Judge(task, "d", []calibration.Under{under("runsc", of(solved), of(open))})[0].Tests[1]
	if show(got.PassesOnNoop) != "true" || show(got.Quarantined) != "false" {
		t.Errorf("a test that is meant to pass without a patch: %+v", got)
	}
}

func TestDiffers(t *testing.T) {
	flaky := of(solved, open)
	for _, c := range []struct {
		name       string
		a, b       calibration.Under
		task, test string
	}{
		{"alike", under("a", of(solved), of(open)), under("b", of(solved), of(open)), "false", "false"},
		{"gold fails under one", under("a", of(solved), of(open)), under("b", of(open), of(open)), "true", "true"},
		{"a no-op passes under one", under("a", of(solved), of(open)), under("b", of(solved), of(solved)), "true", "true"},
		{"flaky under one is no difference", under("a", flaky, of(open)), under("b", of(open), of(open)), "false", "false"},
		{"not measured under one", under("a", of(solved), of(open)), under("b", of(lost), of(lost)), "unknown", "unknown"},
		{"half measured", under("a", of(solved), of(open)), under("b", of(lost), of(open)), "false", "false"},
		{"the task ends otherwise, its tests are not known", under("a", of(solved), of(open)), under("b", of(ended), of(open)), "true", "false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, order := range [][]calibration.Under{{c.a, c.b}, {c.b, c.a}} {
				for _, got := range calibration.Judge(task, "d", order) {
					if show(got.Differs) != c.task {
						t.Errorf("%s: task differs %s, want %s", got.Runtime, show(got.Differs), c.task)
					}
					i := slices.IndexFunc(got.Tests, func(x calibration.Test) bool { return x.Name == f2p })
					if i < 0 {
						continue
					}
					test := got.Tests[i]
					if show(test.Differs) != c.test || slices.Contains(test.Reasons, calibration.Differs) != (c.test == "true") {
						t.Errorf("%s: test differs %s, reasons %v, want %s", got.Runtime, show(test.Differs), test.Reasons, c.test)
					}
				}
			}
		})
	}
}

func TestOtherTests(t *testing.T) {
	with := repeat(eval.Resolved, "PASSED", "PASSED", "FAILED")
	got := calibration.Judge(task, "d", []calibration.Under{under("runsc", of(with, solved), of(open))})[0].Tests
	if len(got) != 3 {
		t.Fatalf("%d tests, want 3", len(got))
	}
	other := got[2]
	if other.Group != eval.GroupOther || !reflect.DeepEqual(other.Gold.Seen, []string{"FAILED", "MISSING"}) || !reflect.DeepEqual(other.Noop.Seen, []string{"MISSING"}) {
		t.Errorf("a test that one log has: %+v", other)
	}
	if other.Quarantined != nil || other.FailsOnGold != nil {
		t.Errorf("a test that decides nothing is judged: %+v", other)
	}
	if flake(other.Gold) != "1/2" {
		t.Errorf("its flake rate is %q", flake(other.Gold))
	}
}

// A test that is in no log of the other runtime is missing there.
func TestDiffersByAbsence(t *testing.T) {
	with := repeat(eval.Resolved, "PASSED", "PASSED", "PASSED")
	got := calibration.Judge(task, "d", []calibration.Under{under("a", of(with), of(open)), under("b", of(solved), of(open))})
	if show(got[0].Tests[2].Differs) != "true" || len(got[1].Tests) != 2 {
		t.Errorf("under one runtime only: %+v", got)
	}
}

// The rules of the run say what counts as passing, not the status alone.
func TestVerdictDecides(t *testing.T) {
	skipped := repeat(eval.Resolved, "PASSED", "SKIPPED")
	skipped.Verdicts = []eval.Verdict{{Official: &eval.OfficialReport{TestsStatus: &eval.TestsStatus{
		FailToPass: eval.SuccessFailure{Success: []string{f2p}}, PassToPass: eval.SuccessFailure{Success: []string{p2p}},
	}}}}
	got := calibration.Judge(task, "d", []calibration.Under{under("runsc", of(skipped), of(open))})[0].Tests[1]
	if got.Gold.Good != 1 || show(got.FailsOnGold) != "false" {
		t.Errorf("skipped, and a success by the rules: %+v", got)
	}
	failOnly := *task
	failOnly.EvalType = eval.EvalFailOnly
	got = calibration.Judge(&failOnly, "d", []calibration.Under{under("runsc", of(solved), of(repeat(eval.Resolved, "MISSING", "PASSED")))})[0].Tests[0]
	if show(got.PassesOnNoop) != "true" || !reflect.DeepEqual(got.Reasons, []string{calibration.PassesOnNoop}) {
		t.Errorf("absent where only failures are reported: %+v", got)
	}
}

func TestWords(t *testing.T) {
	r := calibration.Repeats{Seen: []string{"FAILED", "PASSED", "PASSED", "ERROR"}}
	if got := fmt.Sprint(r.Words()); got != "[{PASSED 2} {ERROR 1} {FAILED 1}]" {
		t.Error(got)
	}
}
