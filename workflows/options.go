package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// heartbeatTimeout is how long a silent activity is believed to be alive.
	heartbeatTimeout = 30 * time.Second
	// executeSlack covers loading, storing and clean-up, on top of a trial's own
	// budget, with an artifact store that is away for a while at either end.
	executeSlack = 30 * time.Minute
	// storeOutage is how long a step waits for an artifact store that is away.
	storeOutage = time.Hour
)

// step is for cheap work in the worker's own process: no queue, one event.
func step(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: storeOutage,
		StartToCloseTimeout:    10 * time.Minute,
		Summary:                summary,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	})
}

// onHarness is for longer work on the queue of the workflows.
func onHarness(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           QueueHarness,
		Summary:             summary,
		StartToCloseTimeout: storeOutage,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: 20},
	})
}

// onSandbox is for what runs where the sandboxes are. attempts bounds tries that
// end in a fault of ours.
func onSandbox(ctx workflow.Context, class, summary string, budget time.Duration, attempts int) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           SandboxQueue(class),
		Summary:             summary,
		StartToCloseTimeout: budget + executeSlack,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 2 * time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: int32(attempts)},
	})
}
