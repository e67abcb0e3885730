package workflows_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"harness/activities"
	"harness/eval"
	"harness/workflows"
)

func TestRunHappyPath(t *testing.T) {
	s := newStub(10, 4)
	s.outcome = func(i int) eval.Outcome {
		if i%5 == 0 {
			return eval.Unresolved
		}
		return eval.Resolved
	}
	s.prepare = func(in activities.TrialInput) (p activities.Prepared, err error) {
		if s.entry(in) == 3 {
			p.Final = eval.EmptyPatch
		}
		return p, nil
	}
	res, err := run(t, newEnv(t, s), runInput(3))
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 7, eval.Unresolved: 2, eval.EmptyPatch: 1})
	if res.Report.Key != "report.json" || s.reports != 1 {
		t.Errorf("result %+v after %d reports", res, s.reports)
	}
	if s.total() != 9 || s.executed[3] != 0 {
		t.Errorf("executed %v: all but the empty patch, once each", s.executed)
	}
	if !slices.IsSorted(s.opened) || len(s.opened) != 3 {
		t.Errorf("shards opened: %v", s.opened)
	}
}

func TestRunRefusesInput(t *testing.T) {
	for _, in := range []workflows.RunInput{{}, {RunID: "r", Window: 0, Class: "c"}, {RunID: "r", Window: 1}, {RunID: "../r", Window: 1, Class: "c"}} {
		_, err := run(t, newEnv(t, newStub(1, 1)), in)
		if class, _ := activities.ErrorClass(err); class != activities.ErrInvalidSpec {
			t.Errorf("%+v: error %v", in, err)
		}
	}
}

// Over 400 trials in two shards: never more in flight than the window, never a
// shard started before there is a place for it, and the window is handed over
// while the first shard's last trials run.
func TestRunWindowOverShards(t *testing.T) {
	const window = 20
	s := newStub(450, 400)
	overlap := make(chan struct{})
	s.execute = func(_ context.Context, i, _ int) (activities.Executed, error) {
		for start := time.Now(); i < window && !s.reached(window); time.Sleep(time.Millisecond) {
			if time.Since(start) > 30*time.Second { // none of the first ends before all of the window run
				return activities.Executed{}, errors.New("the window is not used")
			}
		}
		if i == 399 { // the first shard's last trial waits for one of the second shard
			select {
			case <-overlap:
			case <-time.After(30 * time.Second):
				return activities.Executed{}, errors.New("the second shard does not start")
			}
		}
		if i == 400 {
			close(overlap)
		}
		time.Sleep(time.Millisecond)
		return activities.Executed{}, nil
	}
	res, err := run(t, newEnv(t, s), runInput(window))
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 450})
	if s.peak != window {
		t.Errorf("%d trials in flight, the window is %d", s.peak, window)
	}
	if s.total() != 450 {
		t.Errorf("%d executions, want 450", s.total())
	}
}

// A resumed run runs what has no result and nothing else.
func TestRunResumed(t *testing.T) {
	s := newStub(6, 3)
	s.done = map[int]eval.Outcome{0: eval.Resolved, 1: eval.Unresolved, 2: eval.TimedOut, 4: eval.Resolved}
	pins := 0
	s.pin = func(shard int) error {
		if pins++; shard != 1 {
			t.Errorf("images of shard %d are looked up for nothing", shard)
		}
		return nil
	}
	res, err := run(t, newEnv(t, s), runInput(2))
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 4, eval.Unresolved: 1, eval.TimedOut: 1})
	if s.total() != 2 || s.executed[3] != 1 || s.executed[5] != 1 || pins != 1 {
		t.Errorf("executed %v, pinned %d times", s.executed, pins)
	}
}

// A fault of ours is tried again with limits, then recorded; the run goes on.
func TestRunInfraFailure(t *testing.T) {
	s := newStub(3, 3)
	s.execute = func(_ context.Context, i, _ int) (activities.Executed, error) {
		if i == 1 {
			return activities.Executed{}, activities.NewError(activities.ErrSandboxCreate, errors.New("no room"))
		}
		if i == 2 {
			return activities.Executed{}, activities.NewError(activities.ErrImageNotFound, errors.New("no image"))
		}
		return activities.Executed{}, nil
	}
	res, err := run(t, newEnv(t, s), runInput(1))
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 1, eval.InfraError: 2})
	if s.executed[1] != 3 || s.executed[2] != 1 {
		t.Errorf("executed %v: 3 tries of what may pass, one of what can't", s.executed)
	}
	if len(s.failures) != 2 || s.failures[0].Class != activities.ErrSandboxCreate || s.failures[0].Outcome != eval.InfraError ||
		s.failures[0].Message != "no room" || s.failures[1].Class != activities.ErrImageNotFound {
		t.Errorf("recorded %+v", s.failures)
	}
}

// A sandbox that died gets one more chance, and that is all.
func TestRunSandboxDied(t *testing.T) {
	for _, diesTwice := range []bool{false, true} {
		s := newStub(1, 1)
		s.execute = func(_ context.Context, _, n int) (activities.Executed, error) {
			return activities.Executed{Report: eval.Ref{Key: "k", SHA256: "s", Size: int64(n)}, Died: n == 1 || diesTwice}, nil
		}
		res, err := run(t, newEnv(t, s), runInput(1))
		if err != nil {
			t.Fatal(err)
		}
		if s.total() != 2 || res.Tally.Total() != 1 {
			t.Errorf("dies twice %v: %d executions, tally %v; want 2 and one trial", diesTwice, s.total(), res.Tally)
		}
	}
}

// A shard whose images can't be looked up is missing data, not the end of the run.
func TestRunShardCannotStart(t *testing.T) {
	s := newStub(6, 2)
	s.done = map[int]eval.Outcome{2: eval.Resolved}
	s.pin = func(shard int) error {
		if shard == 1 {
			return activities.NewError(activities.ErrRuntimeUnhealthy, errors.New("no containerd"))
		}
		return nil
	}
	res, err := run(t, newEnv(t, s), runInput(2))
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 5, eval.InfraError: 1})
	if len(s.shardFailures) != 1 || s.shardFailures[0].Class != activities.ErrRuntimeUnhealthy || s.shardFailures[0].Shard.Index != 1 || s.reports != 1 {
		t.Errorf("recorded %+v, %d reports", s.shardFailures, s.reports)
	}
}

// When not even that can be recorded the run fails, after its table was written.
func TestRunShardFails(t *testing.T) {
	s := newStub(4, 2)
	s.pin = func(shard int) error {
		if shard == 0 {
			return activities.NewError(activities.ErrImageUnsupported, errors.New("no"))
		}
		return nil
	}
	s.failRecord = activities.NewError(activities.ErrDatasetIntegrity, errors.New("the store is damaged"))
	_, err := run(t, newEnv(t, s), runInput(2))
	if class, msg := activities.ErrorClass(err); class != activities.ErrDatasetIntegrity || msg != "shard 0: the store is damaged" {
		t.Errorf("error %s: %s", class, msg)
	}
	if s.reports != 1 || s.total() != 2 {
		t.Errorf("%d reports, %d executions; want the other shard done and a table", s.reports, s.total())
	}
}

func TestRunTaskFails(t *testing.T) {
	s := newStub(2, 2)
	s.execute = func(_ context.Context, i, _ int) (activities.Executed, error) {
		if i == 0 {
			return activities.Executed{}, activities.NewError(activities.ErrImageNotFound, errors.New("no image"))
		}
		return activities.Executed{}, nil
	}
	s.failRecord = activities.NewError(activities.ErrDatasetIntegrity, errors.New("damaged"))
	res, err := run(t, newEnv(t, s), runInput(2))
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 1, eval.InfraError: 1})
}

func TestRunReportFails(t *testing.T) {
	s := newStub(1, 1)
	s.reportErr = activities.NewError(activities.ErrDatasetIntegrity, errors.New("a result is damaged"))
	_, err := run(t, newEnv(t, s), runInput(1))
	if class, _ := activities.ErrorClass(err); class != activities.ErrDatasetIntegrity {
		t.Errorf("error %v", err)
	}
}

// Cancelling ends what runs, records it, writes the table, and shows the run as cancelled.
func TestRunCancelled(t *testing.T) {
	s := newStub(6, 2)
	env := newEnv(t, s)
	s.execute = func(ctx context.Context, i, _ int) (activities.Executed, error) {
		if i == 1 {
			env.CancelWorkflow()
			time.Sleep(50 * time.Millisecond) // the environment ends the activity for the workflow, not for us
		}
		return activities.Executed{}, nil
	}
	_, err := run(t, env, runInput(1))
	if !temporal.IsCanceledError(err) {
		t.Fatalf("error %v, want a cancellation", err)
	}
	if s.reports != 1 || s.total() != 2 {
		t.Errorf("%d reports, %d executions", s.reports, s.total())
	}
	if len(s.failures) != 1 || s.failures[0].Outcome != eval.Cancelled || s.failures[0].Class != "Cancelled" || s.failures[0].Trial.Entry != 1 {
		t.Errorf("recorded %+v", s.failures)
	}
}

// Two entries of one id can't run at once: the later waits for its id, as a
// resumed run waits for the children of the one it takes over from.
func TestRunWaitsForATakenID(t *testing.T) {
	s := newStub(4, 2)
	s.id = func(int) string { return "same" }
	s.execute = func(context.Context, int, int) (activities.Executed, error) {
		time.Sleep(20 * time.Millisecond)
		return activities.Executed{}, nil
	}
	res, err := run(t, newEnv(t, s), runInput(4))
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 4})
	if s.peak != 1 {
		t.Errorf("%d trials of one id in flight", s.peak)
	}
}

// A run whose history grows too long goes on in a new one with all it knows.
func TestRunContinuesAsNew(t *testing.T) {
	s := newStub(6, 2)
	env := newEnv(t, s)
	shards := 0
	env.SetOnChildWorkflowCompletedListener(func(info *workflow.Info, _ converter.EncodedValue, _ error) {
		if info.WorkflowType.Name != "Shard" {
			return
		}
		if shards++; shards == 1 {
			env.SetContinueAsNewSuggested(true)
		}
	})
	s.outcome = func(i int) eval.Outcome {
		if i == 0 {
			return eval.Unresolved
		}
		return eval.Resolved
	}
	_, err := run(t, env, runInput(1))
	next := continued[workflows.RunInput](t, err)
	if c := next.Carry; c == nil || !slices.Equal(c.Todo, []int{1, 2}) || c.Window != 1 || c.Done[0].Tally.Total() != 2 {
		t.Fatalf("carried %+v", next.Carry)
	}
	res, err := run(t, newEnv(t, s), next)
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 5, eval.Unresolved: 1})
	if s.total() != 6 || s.reports != 1 {
		t.Errorf("%d executions, %d reports", s.total(), s.reports)
	}
}
