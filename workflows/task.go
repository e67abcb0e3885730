package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"harness/activities"
	"harness/eval"
)

// TaskInput is one task x attempt.
type TaskInput struct {
	RunID         string   `json:"run_id"`
	Spec          eval.Ref `json:"spec"`
	Shard         eval.Ref `json:"shard"`
	Entry         int      `json:"entry"`
	InstanceID    string   `json:"instance_id"`
	Attempt       int      `json:"attempt"`
	Rounds        int      `json:"rounds"`
	BudgetSeconds int64    `json:"budget_seconds"`
	MaxInfraTries int      `json:"max_infra_tries"`
	Class         string   `json:"class"`
}

// TaskResult is the last round's summary. Stored is false when the trial has no
// result and would be done again by a resumed run.
type TaskResult struct {
	activities.TrialSummary
	Stored bool `json:"stored"`
}

// Task plays the rounds of one attempt.
func Task(ctx workflow.Context, in TaskInput) (TaskResult, error) {
	return (&task{in: in}).run(ctx)
}

type task struct {
	in TaskInput
	a  *activities.Activities // nil: only names its methods
}

func (t *task) run(ctx workflow.Context) (TaskResult, error) {
	var last TaskResult
	for round := 1; round <= t.in.Rounds; round++ {
		var err error
		if last, err = t.round(ctx, round); err != nil {
			return last, err
		}
		if last.Resolved || !last.Stored {
			break
		}
	}
	err := workflow.UpsertTypedSearchAttributes(ctx, SearchOutcome.ValueSet(last.Outcome.String()))
	return last, err
}

// round is one trial: parse and preprocess, execute, evaluate.
func (t *task) round(ctx workflow.Context, round int) (TaskResult, error) {
	trial := activities.TrialInput{RunID: t.in.RunID, Spec: t.in.Spec, Shard: t.in.Shard, Entry: t.in.Entry, Round: round}
	summary, err := t.trial(ctx, trial)
	if err == nil {
		return TaskResult{TrialSummary: summary, Stored: true}, nil
	}
	return t.failed(ctx, trial, err)
}

func (t *task) trial(ctx workflow.Context, in activities.TrialInput) (s activities.TrialSummary, err error) {
	var prep activities.Prepared
	if err := workflow.ExecuteLocalActivity(step(ctx, "parse, preprocess"), t.a.Prepare, in).Get(ctx, &prep); err != nil {
		return s, err
	}
	if prep.Done != nil {
		return *prep.Done, nil
	}
	grade := activities.EvaluateInput{Trial: in, Final: prep.Final}
	if prep.Final == eval.OutcomeInvalid {
		done, err := t.execute(ctx, in)
		if err != nil {
			return s, err
		}
		grade.Report = &done.Report
	}
	err = workflow.ExecuteLocalActivity(step(ctx, "evaluate"), t.a.Evaluate, grade).Get(ctx, &s)
	return s, err
}

// execute runs the trial; a sandbox that died gets one more chance, and dying
// again is final: dying never wins retries.
func (t *task) execute(ctx workflow.Context, in activities.TrialInput) (done activities.Executed, err error) {
	budget := time.Duration(t.in.BudgetSeconds) * time.Second
	summary := fmt.Sprintf("execute %s, attempt %d, round %d", t.in.InstanceID, t.in.Attempt, in.Round)
	for range 2 {
		ctx := onSandbox(ctx, t.in.Class, summary, budget, t.in.MaxInfraTries)
		if err := workflow.ExecuteActivity(ctx, t.a.Execute, in).Get(ctx, &done); err != nil || !done.Died {
			return done, err
		}
	}
	return done, nil
}

// failed records why a trial has no result. Only when that can't be recorded does
// the workflow fail.
func (t *task) failed(ctx workflow.Context, in activities.TrialInput, cause error) (TaskResult, error) {
	f := activities.FailureInput{Trial: in, Outcome: eval.InfraError}
	f.Class, f.Message = activities.ErrorClass(cause)
	// With a cancelled task, whatever fails fails for that: a worker that went silent
	// meanwhile, too.
	if temporal.IsCanceledError(cause) || ctx.Err() != nil {
		f.Outcome, f.Class, f.Message = eval.Cancelled, "Cancelled", "the trial was cancelled"
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	res := TaskResult{TrialSummary: activities.TrialSummary{Outcome: f.Outcome, Round: in.Round}}
	err := workflow.ExecuteLocalActivity(step(ctx, "record failure"), t.a.RecordFailure, f).Get(ctx, nil)
	return res, err
}
