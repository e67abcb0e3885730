package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"harness/eval"
	"harness/workflows"
)

// Start starts the run's workflow. A run that is going on already is joined.
func Start(ctx context.Context, c client.Client, p Planned, window int, class string) (client.WorkflowRun, error) {
	in := workflows.RunInput{RunID: p.Spec.RunID, Spec: p.Ref, Window: window, Class: class}
	if err := in.Validate(); err != nil {
		return nil, err
	}
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       eval.RunWorkflowID(p.Spec.RunID),
		TaskQueue:                workflows.QueueHarness,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            fmt.Sprintf("%s on %s, %d trials", p.Spec.Agent, p.Spec.Dataset, p.Spec.Entries),
		TypedSearchAttributes:    workflows.RunAttributes(p.Spec),
		Priority:                 temporal.Priority{FairnessKey: fairnessKey(p.Spec.RunID)}, // shards, tasks and activities inherit it
	}, "Run", in)
	if err != nil {
		return nil, fmt.Errorf("start run %s: %w", p.Spec.RunID, err)
	}
	return run, nil
}

// fairnessKey shares the workers between runs that go on at once. Temporal takes
// at most 64 bytes.
func fairnessKey(run string) string {
	if len(run) <= 64 {
		return run
	}
	sum := sha256.Sum256([]byte(run))
	return hex.EncodeToString(sum[:])
}

// ErrNotActive: Temporal knows no running workflow of the run.
var ErrNotActive = errors.New("the run is not going on")

// Progress is where a run stands.
type Progress struct {
	workflows.RunProgress
	Running int // trials in flight
}

// Ask returns the progress of a run that Temporal knows, active shards included.
func Ask(ctx context.Context, c client.Client, run string) (Progress, error) {
	var p Progress
	if err := query(ctx, c, eval.RunWorkflowID(run), &p.RunProgress); err != nil {
		return p, err
	}
	if p.Tally == nil {
		p.Tally = workflows.Tally{}
	}
	for _, i := range p.Active {
		var s workflows.ShardProgress
		// A shard that has just been started, or has just ended, tells nothing yet.
		if err := query(ctx, c, eval.ShardWorkflowID(run, i), &s); err == nil {
			p.Tally.Add(s.Tally)
			p.Running += len(s.Running)
		}
	}
	return p, nil
}

func query(ctx context.Context, c client.Client, id string, into any) error {
	v, err := c.QueryWorkflow(ctx, id, "", workflows.QueryProgress)
	if err != nil {
		return notActive(id, err)
	}
	return v.Get(into)
}

func notActive(id string, err error) error {
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return fmt.Errorf("%s: %w", id, ErrNotActive)
	}
	return fmt.Errorf("ask Temporal about %s: %w", id, err)
}

// Update sends one of the run's updates and waits until it took effect.
func Update(ctx context.Context, c client.Client, run, name string, args ...any) error {
	h, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: eval.RunWorkflowID(run), UpdateName: name, Args: args,
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = h.Get(ctx, nil)
	}
	if err != nil {
		return fmt.Errorf("%s run %s: %w", name, run, notActive(run, err))
	}
	return nil
}

// Cancel asks a run to end; its report is still written.
func Cancel(ctx context.Context, c client.Client, run string) error {
	if err := c.CancelWorkflow(ctx, eval.RunWorkflowID(run), ""); err != nil {
		return fmt.Errorf("cancel run %s: %w", run, notActive(run, err))
	}
	return nil
}

// Terminate ends a run's workflows at once, for a resumption to start anew from
// what is stored. A run that is not active is no error.
func Terminate(ctx context.Context, c client.Client, run, reason string) error {
	err := c.TerminateWorkflow(ctx, eval.RunWorkflowID(run), "", reason)
	var notFound *serviceerror.NotFound
	if err != nil && !errors.As(err, &notFound) {
		return fmt.Errorf("end run %s: %w", run, err)
	}
	return nil
}

// Active lists the ids of runs that are going on.
func Active(ctx context.Context, c client.Client) ([]string, error) {
	var ids []string
	var page []byte
	for {
		resp, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: `WorkflowType = "Run" AND ExecutionStatus = "Running"`, NextPageToken: page,
		})
		if err != nil {
			return nil, fmt.Errorf("list active runs: %w", err)
		}
		for _, e := range resp.GetExecutions() {
			ids = append(ids, e.GetExecution().GetWorkflowId())
		}
		if page = resp.GetNextPageToken(); len(page) == 0 {
			return ids, nil
		}
	}
}
