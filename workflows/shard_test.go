package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"harness/activities"
	"harness/eval"
	"harness/workflows"
)

func shardInput(window int) workflows.ShardInput {
	return workflows.ShardInput{
		RunID: runID, Spec: eval.Ref{Key: "spec", SHA256: "z", Size: 3}, Shard: eval.Ref{Key: "0", SHA256: "x", Size: 1},
		Plan: activities.Plan{Tasks: 10, Rounds: 1, MaxInfraTries: 1, Dataset: "d", Agent: "gold"}, Class: "default",
		Control: workflows.Control{Window: window}, Last: true,
	}
}

// A shard that is told to continue as new lets its window end and hands over what
// is stored nowhere: control, failures, cancellations.
func TestShardContinuesAsNew(t *testing.T) {
	s := newStub(10, 10)
	env := newEnv(t, s)
	completed := 0
	env.SetOnChildWorkflowCompletedListener(func(*workflow.Info, converter.EncodedValue, error) {
		if completed++; completed == 4 {
			env.SignalWorkflow("control", workflows.Control{Window: 3})
			env.SetContinueAsNewSuggested(true)
		}
	})
	s.execute = func(_ context.Context, i, _ int) (activities.Executed, error) {
		if i == 1 {
			return activities.Executed{}, activities.NewError(activities.ErrSandboxCreate, errors.New("no room"))
		}
		return activities.Executed{}, nil
	}
	env.ExecuteWorkflow("Shard", shardInput(2))
	next := continued[workflows.ShardInput](t, env.GetWorkflowError())
	if next.Control.Window != 3 || next.Unstored[1] != eval.InfraError || len(next.Unstored) != 1 {
		t.Fatalf("carried %+v", next)
	}
	before := s.total()
	if before < 4 || before > 6 {
		t.Errorf("%d executions before, want the four and what was in flight", before)
	}

	env = newEnv(t, s)
	env.ExecuteWorkflow("Shard", next)
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	var res workflows.ShardResult
	if err := env.GetWorkflowResult(&res); err != nil {
		t.Fatal(err)
	}
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 9, eval.InfraError: 1})
	if s.total() != 10 {
		t.Errorf("%d executions, want each trial once", s.total())
	}
}

// A signal that came with the wish to continue as new is not lost.
func TestShardContinuesAsNewWhilePaused(t *testing.T) {
	s := newStub(2, 2)
	env := newEnv(t, s)
	// Both come with one workflow task.
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflowSkippingWorkflowTask("control", workflows.Control{Window: 5, Paused: true})
	}, time.Minute)
	env.RegisterDelayedCallback(func() { env.SetContinueAsNewSuggested(true) }, 2*time.Minute)
	in := shardInput(1)
	in.Control.Paused = true
	env.ExecuteWorkflow("Shard", in)
	next := continued[workflows.ShardInput](t, env.GetWorkflowError())
	if (next.Control != workflows.Control{Window: 5, Paused: true}) || s.total() != 0 {
		t.Errorf("carried %+v after %d executions", next.Control, s.total())
	}
}

// A shard that is cancelled while it waits to continue as new leaves no task
// running and does not continue.
func TestShardCancelledWhileContinuing(t *testing.T) {
	s := newStub(10, 10)
	env := newEnv(t, s)
	s.execute = func(_ context.Context, i, _ int) (activities.Executed, error) {
		if i == 1 {
			env.CancelWorkflow()
			time.Sleep(50 * time.Millisecond)
		}
		return activities.Executed{}, nil
	}
	env.SetOnChildWorkflowCompletedListener(func(*workflow.Info, converter.EncodedValue, error) { env.SetContinueAsNewSuggested(true) })
	env.ExecuteWorkflow("Shard", shardInput(2))
	if err := env.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("error %v, want a cancellation", err)
	}
	if s.total() > 2 || len(s.failures) == 0 || s.failures[0].Outcome != eval.Cancelled {
		t.Errorf("%d executions, recorded %+v", s.total(), s.failures)
	}
}

func TestShardProgress(t *testing.T) {
	s := newStub(4, 4)
	s.done = map[int]eval.Outcome{0: eval.Unresolved}
	env := newEnv(t, s)
	env.RegisterDelayedCallback(func() {
		v, err := env.QueryWorkflow(workflows.QueryProgress)
		if err != nil {
			t.Fatal(err)
		}
		var p workflows.ShardProgress
		if err := v.Get(&p); err != nil {
			t.Fatal(err)
		}
		if p.Total != 4 || p.Tally.Total() != 1 || len(p.Running) != 0 || !p.Control.Paused {
			t.Errorf("progress %+v", p)
		}
		env.SignalWorkflow("control", workflows.Control{Window: 1})
	}, time.Minute)
	in := shardInput(1)
	in.Control.Paused = true
	env.ExecuteWorkflow("Shard", in)
	if err := env.GetWorkflowError(); err != nil || s.total() != 3 {
		t.Errorf("error %v, %d executions", err, s.total())
	}
}
