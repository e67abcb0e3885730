package workflows_test

import (
	"context"
	"errors"
	"testing"

	"harness/activities"
	"harness/eval"
	"harness/workflows"
)

func taskInput(rounds int) workflows.TaskInput {
	return workflows.TaskInput{
		RunID: runID, Spec: eval.Ref{Key: "spec", SHA256: "z", Size: 3}, Shard: eval.Ref{Key: "0", SHA256: "x", Size: 1},
		InstanceID: "task-0000", Attempt: 1, Rounds: rounds, BudgetSeconds: 60, MaxInfraTries: 2, Class: "default",
	}
}

func TestTask(t *testing.T) {
	fault := activities.NewError(activities.ErrImageNotFound, errors.New("no image"))
	done := &activities.TrialSummary{Outcome: eval.Unresolved, Round: 1, Tries: 4}
	for _, c := range []struct {
		name       string
		rounds     int
		set        func(*stub)
		want       workflows.TaskResult
		executions int
		fails      string
	}{
		{name: "resolved in the first round", rounds: 3, executions: 1,
			want: workflows.TaskResult{TrialSummary: activities.TrialSummary{Outcome: eval.Resolved, Resolved: true, Round: 1, Tries: 1}, Stored: true}},
		{name: "all rounds", rounds: 3, executions: 3, set: func(s *stub) { s.outcome = func(int) eval.Outcome { return eval.Unresolved } },
			want: workflows.TaskResult{TrialSummary: activities.TrialSummary{Outcome: eval.Unresolved, Round: 3, Tries: 1}, Stored: true}},
		{name: "done before", rounds: 1, set: func(s *stub) {
			s.prepare = func(activities.TrialInput) (activities.Prepared, error) { return activities.Prepared{Done: done}, nil }
		}, want: workflows.TaskResult{TrialSummary: *done, Stored: true}},
		{name: "no sandbox", rounds: 1, set: func(s *stub) {
			s.prepare = func(activities.TrialInput) (activities.Prepared, error) {
				return activities.Prepared{Final: eval.PatchRejected}, nil
			}
		}, want: workflows.TaskResult{TrialSummary: activities.TrialSummary{Outcome: eval.PatchRejected, Round: 1, Tries: 1}, Stored: true}},
		{name: "a fault ends the rounds", rounds: 3, executions: 1, set: func(s *stub) {
			s.execute = func(context.Context, int, int) (activities.Executed, error) { return activities.Executed{}, fault }
		}, want: workflows.TaskResult{TrialSummary: activities.TrialSummary{Outcome: eval.InfraError, Round: 1}}},
		{name: "a fault while preparing", rounds: 1, set: func(s *stub) {
			s.prepare = func(activities.TrialInput) (activities.Prepared, error) {
				return activities.Prepared{}, activities.NewError(activities.ErrUnprocessable, errors.New("panic"))
			}
		}, want: workflows.TaskResult{TrialSummary: activities.TrialSummary{Outcome: eval.InfraError, Round: 1}}},
		{name: "a fault that can't be recorded", rounds: 1, executions: 1, fails: activities.ErrDatasetIntegrity, set: func(s *stub) {
			s.execute = func(context.Context, int, int) (activities.Executed, error) { return activities.Executed{}, fault }
			s.failRecord = activities.NewError(activities.ErrDatasetIntegrity, errors.New("damaged"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStub(1, 1)
			if c.set != nil {
				c.set(s)
			}
			env := newEnv(t, s)
			env.ExecuteWorkflow("Task", taskInput(c.rounds))
			err := env.GetWorkflowError()
			if c.fails != "" {
				if class, _ := activities.ErrorClass(err); err == nil || class != c.fails {
					t.Errorf("error %v, want one of class %s", err, c.fails)
				}
				return
			}
			var got workflows.TaskResult
			if err == nil {
				err = env.GetWorkflowResult(&got)
			}
			if err != nil || got != c.want || s.total() != c.executions {
				t.Errorf("result %+v, error %v, %d executions; want %+v, %d", got, err, s.total(), c.want, c.executions)
			}
		})
	}
}

// An artifact store that is away for a while costs time and nothing else.
func TestTaskOutlastsTheStore(t *testing.T) {
	s := newStub(1, 1)
	n := 0
	s.prepare = func(activities.TrialInput) (activities.Prepared, error) {
		if n++; n < 15 { // about ten minutes of tries
			return activities.Prepared{}, activities.NewError(activities.ErrArtifactStore, errors.New("connection refused"))
		}
		return activities.Prepared{}, nil
	}
	env := newEnv(t, s)
	start := env.Now()
	env.ExecuteWorkflow("Task", taskInput(1))
	if err := env.GetWorkflowError(); err != nil || s.total() != 1 {
		t.Fatalf("error %v, %d executions", err, s.total())
	}
	if waited := env.Now().Sub(start); waited.Minutes() < 5 {
		t.Errorf("waited %v, the outage was meant to last minutes", waited)
	}
}
