package workflows_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"harness/activities"
	"harness/eval"
	"harness/workflows"
)

// update sends an update from whatever goroutine and waits for its answer.
func update(t *testing.T, env *testsuite.TestWorkflowEnvironment, name string, args ...any) error {
	t.Helper()
	answer := make(chan error, 1)
	env.UpdateWorkflow(name, "", callbacks{func(err error) { answer <- err }}, args...)
	select {
	case err := <-answer:
		return err
	case <-time.After(20 * time.Second):
		t.Errorf("update %s: no answer", name)
		return nil
	}
}

func wantRefusal(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want one that says %q", err, says)
	}
}

// later runs f when nothing else is left to do: all trials that were started have
// ended and the run waits.
func later(env *testsuite.TestWorkflowEnvironment, f func()) {
	env.RegisterDelayedCallback(f, time.Hour)
}

func progress(t *testing.T, env *testsuite.TestWorkflowEnvironment) (p workflows.RunProgress) {
	t.Helper()
	v, err := env.QueryWorkflow(workflows.QueryProgress)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Get(&p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPauseAndResume(t *testing.T) {
	s := newStub(10, 10)
	env := newEnv(t, s)
	s.execute = func(_ context.Context, i, _ int) (activities.Executed, error) {
		if i == 2 {
			if err := update(t, env, workflows.UpdatePause); err != nil {
				t.Error(err)
			}
			wantRefusal(t, update(t, env, workflows.UpdatePause), "paused already")
		}
		if i > 2 { // some may be started before the shard hears of it
			time.Sleep(20 * time.Millisecond)
		}
		return activities.Executed{}, nil
	}
	paused := false
	later(env, func() {
		paused = true
		if p := progress(t, env); !p.Paused || p.Phase != "running" || p.Total != 10 || p.Window != 2 || len(p.Active) != 1 {
			t.Errorf("progress %+v", p)
		}
		if n := s.total(); n < 3 || n == 10 {
			t.Errorf("%d trials ran before the pause took effect, want 3 and not all", n)
		}
		env.UpdateWorkflow(workflows.UpdateResume, "", callbacks{func(err error) {
			if err != nil {
				t.Error(err)
			}
		}})
	})
	res, err := run(t, env, runInput(2))
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 10})
	if !paused {
		t.Error("the run did not pause")
	}
}

func TestSetConcurrency(t *testing.T) {
	s := newStub(40, 40)
	env := newEnv(t, s)
	var early atomic.Int64
	s.execute = func(_ context.Context, i, _ int) (activities.Executed, error) {
		if i == 4 {
			s.mu.Lock()
			early.Store(int64(s.peak))
			s.mu.Unlock()
			if err := update(t, env, workflows.UpdateSetConcurrency, 8); err != nil {
				t.Error(err)
			}
			for _, bad := range []int{-1, 0, 2001} {
				wantRefusal(t, update(t, env, workflows.UpdateSetConcurrency, bad), "between 1 and 2000")
			}
		}
		time.Sleep(5 * time.Millisecond)
		return activities.Executed{}, nil
	}
	res, err := run(t, env, runInput(1))
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 40})
	if early.Load() != 1 || s.peak < 2 || s.peak > 8 {
		t.Errorf("at most %d in flight with a window of 1, at most %d with one of 8", early.Load(), s.peak)
	}
}

// The window reaches a shard that is told before it has started, too.
func TestSetConcurrencyAtTheStart(t *testing.T) {
	s := newStub(20, 20)
	env := newEnv(t, s)
	env.RegisterDelayedCallback(func() {
		for _, n := range []int{2, 7, 4} {
			env.UpdateWorkflow(workflows.UpdateSetConcurrency, "", callbacks{func(err error) {
				if err != nil {
					t.Error(err)
				}
			}}, n)
		}
	}, 0)
	s.execute = func(context.Context, int, int) (activities.Executed, error) {
		time.Sleep(10 * time.Millisecond)
		return activities.Executed{}, nil
	}
	if _, err := run(t, env, runInput(1)); err != nil {
		t.Fatal(err)
	}
	if s.peak < 2 || s.peak > 7 {
		t.Errorf("at most %d in flight, the last word was 4", s.peak)
	}
}

func TestCancelTask(t *testing.T) {
	s := newStub(3, 3)
	env := newEnv(t, s)
	s.execute = func(_ context.Context, i, _ int) (activities.Executed, error) {
		if i == 0 {
			for _, c := range []struct {
				in   workflows.CancelTask
				says string
			}{
				{workflows.CancelTask{InstanceID: "task-0000"}, "attempts count from 1"},
				{workflows.CancelTask{InstanceID: "../x", Attempt: 1}, "instance id"},
			} {
				wantRefusal(t, update(t, env, workflows.UpdateCancelTask, c.in), c.says)
			}
			env.CancelWorkflowByID(eval.TaskWorkflowID(runID, "task-0000", 1), "")
			time.Sleep(50 * time.Millisecond)
		}
		return activities.Executed{}, nil
	}
	res, err := run(t, env, runInput(1))
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 2, eval.Cancelled: 1})
	if len(s.failures) != 1 || s.failures[0].Outcome != eval.Cancelled {
		t.Errorf("recorded %+v", s.failures)
	}
}

// What failed for our fault is tried again in shards that had it, and only that;
// what a person cancelled stays cancelled.
func TestRetryInfra(t *testing.T) {
	s := newStub(6, 2)
	s.maxTries = 1
	env := newEnv(t, s)
	var broken atomic.Bool
	broken.Store(true)
	s.execute = func(_ context.Context, i, n int) (activities.Executed, error) {
		switch {
		case i == 2 && n == 1: // cancelled in the shard of an infra error
			env.CancelWorkflowByID(eval.TaskWorkflowID(runID, "task-0002", 1), "")
			time.Sleep(50 * time.Millisecond)
		case i == 3 && broken.Load():
			return activities.Executed{}, activities.NewError(activities.ErrSandboxCreate, errors.New("no room"))
		case i == 5:
			broken.Store(false)
			if err := update(t, env, workflows.UpdateRetryInfra); err != nil {
				t.Error(err)
			}
		}
		return activities.Executed{}, nil
	}
	res, err := run(t, env, runInput(1))
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 5, eval.Cancelled: 1})
	if s.executed[3] != 2 || s.executed[2] != 1 || s.total() != 7 {
		t.Errorf("executed %v: want the failed one twice, the others once", s.executed)
	}
	if len(s.opened) != 4 || s.opened[3] != 1 {
		t.Errorf("shards opened: %v, want the second one again", s.opened)
	}
}

// With the report under way it is too late.
func TestRetryInfraTooLate(t *testing.T) {
	s := newStub(1, 1)
	env := newEnv(t, s)
	s.onReport = func() {
		wantRefusal(t, update(t, env, workflows.UpdateRetryInfra), "report is being written")
	}
	if _, err := run(t, env, runInput(1)); err != nil {
		t.Fatal(err)
	}
}
