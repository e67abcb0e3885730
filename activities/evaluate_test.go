package activities_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
	"harness/internal/runs"
	"harness/internal/runs/runstest"
	"harness/sandbox"
	"harness/sandbox/fake"
)

func (f *fixture) execute(entry int) activities.EvaluateInput {
	f.t.Helper()
	done := must[activities.Executed](f, f.acts.Execute, f.trial(entry))
	return activities.EvaluateInput{Trial: f.trial(entry), Report: &done.Report}
}

func TestEvaluateOutcomes(t *testing.T) {
	for _, c := range []struct {
		name    string
		tests   fake.Result
		outcome eval.Outcome
		blame   eval.Blame
	}{
		{"resolved", fake.Result{Stdout: runstest.Log(true)}, eval.Resolved, eval.BlameNone},
		{"unresolved", fake.Result{Stdout: runstest.Log(false)}, eval.Unresolved, eval.BlameCandidate},
		{"nothing printed", fake.Result{}, eval.NoTestsRan, eval.BlameAmbiguous},
		{"broken", fake.Result{Code: 2, Stdout: "boo\n"}, eval.TestsErrored, eval.BlameAmbiguous},
		{"died", fake.Result{Died: true}, eval.SandboxDied, eval.BlameAmbiguous},
		{"out of memory", fake.Result{Died: true, OOM: true}, eval.OutOfMemory, eval.BlameAmbiguous},
		{"disk full", fake.Result{Died: true, DiskFull: true}, eval.OutOfDisk, eval.BlameAmbiguous},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, 1, does(c.tests))
			f.pin(0)
			in := f.execute(0)
			sum := must[activities.TrialSummary](f, f.acts.Evaluate, in)
			if sum.Outcome != c.outcome || sum.Resolved != (c.outcome == eval.Resolved) || sum.Tries != 1 || sum.Round != 1 {
				t.Errorf("summary %+v, want %v", sum, c.outcome)
			}
			res := f.result("task-0000")
			if res.Outcome != c.outcome || res.Blame != c.blame || len(res.Verdicts) != 2 || res.Artifacts[eval.FileLog].SHA256 == "" ||
				res.Patch.ApplyMethod != "git-apply" || res.Limits != f.run.Spec.Limits || len(res.Phases) != 5 {
				t.Errorf("result %+v", res)
			}
		})
	}
}

func TestEvaluateNotApplied(t *testing.T) {
	f := newFixture(t, 1, nil)
	f.pin(0)
	f.rt.OnExec = func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result {
		return fake.Result{Code: 1, Stdout: "error: patch failed"}
	}
	in := f.execute(0)
	sum := must[activities.TrialSummary](f, f.acts.Evaluate, in)
	res := f.result("task-0000")
	if sum.Outcome != eval.PatchNotApplied || res.Blame != eval.BlameCandidate || res.Artifacts[eval.FileApplyLog].Size == 0 {
		t.Errorf("summary %+v, result %+v", sum, res)
	}
}

// Two tries that both got through: the first evaluation is the trial's result,
// and both are told of it.
func TestEvaluateFirstWins(t *testing.T) {
	n := 0
	f := newFixture(t, 1, func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result {
		n++
		return fake.Result{Stdout: runstest.Log(n == 1)}
	})
	f.pin(0)
	first, second := f.execute(0), f.execute(0)
	a := must[activities.TrialSummary](f, f.acts.Evaluate, first)
	b := must[activities.TrialSummary](f, f.acts.Evaluate, second)
	if a != b || a.Outcome != eval.Resolved || a.Tries != 1 {
		t.Errorf("told %+v and %+v, want the first twice", a, b)
	}
}

func TestEvaluateRace(t *testing.T) {
	const racers = 8
	n := 0
	f := newFixture(t, 1, func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result {
		n++
		return fake.Result{Stdout: runstest.Log(n%2 == 0)}
	})
	f.pin(0)
	var ins []activities.EvaluateInput
	for range racers {
		ins = append(ins, f.execute(0))
	}
	var wg sync.WaitGroup
	told := make([]activities.TrialSummary, racers)
	for i, in := range ins {
		wg.Go(func() {
			var err error
			if told[i], err = f.acts.Evaluate(t.Context(), in); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	res := f.result("task-0000")
	for _, got := range told {
		if got.Outcome != res.Outcome || got.Tries != res.Tries {
			t.Errorf("one was told %+v, stored is %v of try %d", got, res.Outcome, res.Tries)
		}
	}
}

func TestEvaluateFaults(t *testing.T) {
	f := newFixture(t, 1, nil)
	f.pin(0)
	in := f.execute(0)
	log := f.report(*in.Report).Artifacts[eval.FileLog]

	f.store.breakIt(func(op, key string) error {
		if op == "get" && key == log.Key {
			return errAway
		}
		return nil
	})
	_, err := call[activities.TrialSummary](f, f.acts.Evaluate, in)
	f.wantClass(err, activities.ErrArtifactStore)
	f.store.breakIt(func(op, key string) error {
		if op == "put" && strings.HasSuffix(key, "result.json") {
			return errAway
		}
		return nil
	})
	_, err = call[activities.TrialSummary](f, f.acts.Evaluate, in)
	f.wantClass(err, activities.ErrArtifactStore)
	f.store.breakIt(nil)

	put := func(key string, data []byte) {
		t.Helper()
		if _, err := artifacts.PutBytes(t.Context(), f.store, key, data, artifacts.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	old, err := artifacts.GetBytes(t.Context(), f.store, log.Key, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	put(log.Key, bytes.Repeat([]byte{0xff}, len(old)))
	_, err = call[activities.TrialSummary](f, f.acts.Evaluate, in)
	if class, msg := activities.ErrorClass(err); class != activities.ErrDatasetIntegrity && class != activities.ErrArtifactStore {
		t.Errorf("a damaged log: class %s (%s)", class, msg)
	}
	if err := f.store.Delete(t.Context(), log.Key); err != nil {
		t.Fatal(err)
	}
	_, err = call[activities.TrialSummary](f, f.acts.Evaluate, in)
	f.wantClass(err, activities.ErrDatasetIntegrity)
	put(log.Key, old)
	if got := must[activities.TrialSummary](f, f.acts.Evaluate, in); got.Outcome != eval.Resolved {
		t.Errorf("with the log back: %+v", got)
	}
}

// A task that our own grader can't grade fails at once, not after an hour of tries.
func TestEvaluateUnknownParser(t *testing.T) {
	f := newFixture(t, 1, nil, func(_ *activities.Config, r *runs.Request) { r.Tasks[0].LogParser = "parse_log_none" })
	f.pin(0)
	in := f.execute(0)
	_, err := call[activities.TrialSummary](f, f.acts.Evaluate, in)
	f.wantClass(err, activities.ErrUnprocessable)
}

// Every trial has a verdict by the strict rules beside its profile's own: here
// the test that must keep passing ended as an expected failure.
func TestEvaluateSecondOpinion(t *testing.T) {
	f := newFixture(t, 1, does(fake.Result{Stdout: strings.Replace(runstest.Log(true), "PASSED test_f.py::test_kept", "XFAIL test_f.py::test_kept", 1)}))
	f.pin(0)
	in := f.execute(0)
	must[activities.TrialSummary](f, f.acts.Evaluate, in)
	res := f.result("task-0000")
	if len(res.Verdicts) != 2 || res.Outcome != eval.Resolved {
		t.Fatalf("result %+v", res)
	}
	own, strict := res.Verdicts[0], res.Verdicts[1]
	if own.Recipe != "swebench" || own.Rules != "swebench" || !own.Resolved || own.Official == nil {
		t.Errorf("own verdict %+v", own)
	}
	if strict.Recipe != "swebench" || strict.Rules != "strict" || strict.Outcome != eval.Unresolved || strict.Official != nil {
		t.Errorf("second verdict %+v", strict)
	}
}
