package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"harness/eval"
)

const maxWindow = 2000 // pending children that a server allows one workflow

// register makes the run answer queries, updates and its shards' signals.
func (r *run) register(ctx workflow.Context) error {
	set := func(paused bool) func(workflow.Context) error {
		return func(workflow.Context) error {
			r.paused = paused
			r.steer()
			return nil
		}
	}
	isPaused := func(want bool, otherwise string) workflow.UpdateHandlerOptions {
		return workflow.UpdateHandlerOptions{Validator: func(workflow.Context) error {
			if r.paused != want {
				return errors.New(otherwise)
			}
			return nil
		}}
	}
	r.listen(ctx)
	return errors.Join(
		workflow.SetQueryHandler(ctx, QueryProgress, r.progress),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdatePause, set(true), isPaused(false, "the run is paused already")),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateResume, set(false), isPaused(true, "the run is not paused")),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateSetConcurrency, r.setConcurrency,
			workflow.UpdateHandlerOptions{Validator: checkConcurrency}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateCancelTask, r.cancelTask,
			workflow.UpdateHandlerOptions{Validator: checkCancelTask}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateRetryInfra, r.retryInfra,
			workflow.UpdateHandlerOptions{Validator: r.checkRetryInfra}),
	)
}

func checkConcurrency(_ workflow.Context, n int) error {
	if n < 1 || n > maxWindow {
		return fmt.Errorf("concurrency %d: between 1 and %d trials can be in flight", n, maxWindow)
	}
	return nil
}

func (r *run) setConcurrency(_ workflow.Context, n int) error {
	r.window = n
	r.steer()
	return nil
}

func checkCancelTask(_ workflow.Context, c CancelTask) error {
	if c.Attempt < 1 {
		return fmt.Errorf("attempt %d: attempts count from 1", c.Attempt)
	}
	return eval.ValidateInstanceID(c.InstanceID)
}

func (r *run) cancelTask(ctx workflow.Context, c CancelTask) error {
	id := eval.TaskWorkflowID(r.in.RunID, c.InstanceID, c.Attempt)
	if err := workflow.RequestCancelExternalWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
		return fmt.Errorf("cancel task %s: it is not running: %w", id, err)
	}
	return nil
}

// checkRetryInfra: once the report is being written, nothing is started any more.
func (r *run) checkRetryInfra(workflow.Context) error {
	if r.phase == phaseReporting {
		return errors.New("the run has ended and its report is being written; resume the run when it is there")
	}
	return nil
}

func (r *run) retryInfra(workflow.Context) error {
	r.again = true
	return nil
}
