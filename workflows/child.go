package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// A child whose id is still taken belongs to an interrupted run of the same id
// that is just being ended: Temporal terminates the children of a terminated
// workflow one after the other, in its own time.
const (
	takenWait  = 2 * time.Second
	takenTries = 60
)

// startChild starts a child workflow and waits until it has started, trying
// again while its id is taken.
func startChild(ctx workflow.Context, start func() workflow.ChildWorkflowFuture) (workflow.ChildWorkflowFuture, error) {
	for try := 0; ; try++ {
		child := start()
		err := child.GetChildWorkflowExecution().Get(ctx, nil)
		if !temporal.IsWorkflowExecutionAlreadyStartedError(err) || try == takenTries {
			return child, err
		}
		if err := workflow.Sleep(ctx, takenWait); err != nil {
			return child, err
		}
	}
}
