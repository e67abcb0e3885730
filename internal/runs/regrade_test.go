package runs_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
	"harness/internal/runs"
	"harness/internal/runs/runstest"
	"harness/scoring/grade"
)

// finish stores a result of a trial, with a log unless that is empty.
func finish(t *testing.T, store artifacts.Store, id eval.TrialID, o eval.Outcome, log string) {
	t.Helper()
	res := eval.TrialResult{Schema: 1, TrialID: id, Outcome: o, Artifacts: map[string]eval.Ref{}}
	if log != "" {
		enc, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := artifacts.PutBytes(t.Context(), store, eval.TryPrefix(id, 1, "x")+eval.FileLog, enc.EncodeAll([]byte(log), nil), artifacts.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		res.Artifacts[eval.FileLog] = ref
	}
	data, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	put(t, store, eval.ResultKey(id), string(data))
}

func trialID(run, instance string, round int) eval.TrialID {
	return eval.TrialID{RunID: run, InstanceID: instance, Attempt: 1, Round: round}
}

func TestRegrade(t *testing.T) {
	store := runstest.Store(t)
	p := runstest.Plan(t, store, runstest.Request(t, "run", runstest.Tasks(4)))
	finish(t, store, trialID("run", "task-0000", 1), eval.Unresolved, runstest.Log(true)) // as if an older grader had missed it
	finish(t, store, trialID("run", "task-0001", 1), eval.Resolved, runstest.Log(false))
	finish(t, store, trialID("run", "task-0002", 1), eval.EmptyPatch, "")
	profile, err := grade.ByName("swebench")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	err = runs.Regrade(t.Context(), store, p.Spec, profile, func(old eval.TrialResult, now *grade.Result) error {
		word := "none"
		if now != nil {
			word = now.Verdict.Outcome.String()
		}
		got[old.InstanceID] = old.Outcome.String() + " -> " + word
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"task-0000": "unresolved -> resolved", "task-0001": "resolved -> unresolved",
		"task-0002": "empty_patch -> none", "task-0003": "cancelled -> none",
	} {
		if got[id] != want {
			t.Errorf("%s: %s, want %s", id, got[id], want)
		}
	}
	stop := errors.New("enough")
	if err := runs.Regrade(t.Context(), store, p.Spec, profile, func(eval.TrialResult, *grade.Result) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v, want the caller's", err)
	}
}

func TestTrial(t *testing.T) {
	store := runstest.Store(t)
	req := runstest.Request(t, "run", runstest.Tasks(2))
	req.Spec.Rounds = 3
	runstest.Plan(t, store, req)
	finish(t, store, trialID("run", "task-0000", 1), eval.Unresolved, "")
	finish(t, store, trialID("run", "task-0000", 2), eval.Resolved, "")
	for round, want := range map[int]eval.Outcome{0: eval.Resolved, 1: eval.Unresolved, 2: eval.Resolved} {
		if got, err := runs.Trial(t.Context(), store, "run", "task-0000", 1, round); err != nil || got.Outcome != want {
			t.Errorf("round %d: %v, error %v; want %v", round, got.Outcome, err, want)
		}
	}
	// What was not finished is shown as such; what the run does not have is an error.
	for _, c := range []struct {
		instance string
		round    int
		known    bool
	}{{"task-0000", 3, true}, {"task-0001", 0, true}, {"task-0000", 4, false}, {"other", 0, false}} {
		got, err := runs.Trial(t.Context(), store, "run", c.instance, 1, c.round)
		if c.known && (err != nil || got.ErrorClass != activities.ClassNotFinished) {
			t.Errorf("%s, round %d: %q, error %v", c.instance, c.round, got.ErrorClass, err)
		}
		if !c.known && !errors.Is(err, runs.ErrNoTrial) {
			t.Errorf("%s, round %d: error %v", c.instance, c.round, err)
		}
	}
	if _, err := runs.Trial(t.Context(), store, "run", "../x", 1, 0); err == nil || errors.Is(err, runs.ErrNoTrial) {
		t.Errorf("error %v", err)
	}
	put(t, store, eval.ResultKey(trialID("run", "task-0001", 1)), "{")
	if _, err := runs.Trial(t.Context(), store, "run", "task-0001", 1, 0); err == nil || errors.Is(err, runs.ErrNoTrial) {
		t.Errorf("a damaged result: %v", err)
	}
}

func TestTestChanges(t *testing.T) {
	stored := []eval.TestResult{
		{Name: "a", Group: "F2P", Status: "FAILED"}, {Name: "a", Group: "P2P", Status: "PASSED"},
		{Name: "b", Group: "P2P", Status: "PASSED"}, {Name: "c", Group: "other", Status: "PASSED"},
	}
	now := []eval.TestResult{
		{Name: "a", Group: "F2P", Status: "PASSED"}, {Name: "a", Group: "P2P", Status: "PASSED"},
		{Name: "d", Group: "P2P", Status: "MISSING"}, {Name: "c", Group: "other", Status: "FAILED"},
	}
	want := []runs.TestChange{{Test: "a", Group: "F2P", Stored: "FAILED", Now: "PASSED"}, {Test: "d", Group: "P2P", Now: "MISSING"}}
	if got := runs.TestChanges(stored, now); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := runs.TestChanges(nil, nil); got == nil || len(got) != 0 {
		t.Errorf("got %v, want an empty list", got)
	}
}
