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
		return func(ctx workflow.Context) error {
			r.paused = paused
			r.steer(ctx)
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
		workflow.SetUpdateHandler(ctx, UpdateRetryInfra, func(workflow.Context) error {
			r.again = true
			return nil
		}),
	)
}

func checkConcurrency(_ workflow.Context, n int) error {
	if n < 1 || n > maxWindow {
		return fmt.Errorf("concurrency %d: between 1 and %d trials can be in flight", n, maxWindow)
	}
	return nil
}

func (r *run) setConcurrency(ctx workflow.Context, n int) error {
	r.window = n
	r.steer(ctx)
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

// listen follows how the last trials of a shard end.
func (r *run) listen(ctx workflow.Context) {
	ch := workflow.GetSignalChannel(ctx, signalTail)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var t Tail
			if !ch.Receive(ctx, &t) {
				return
			}
			if s := r.active[t.Index]; s != nil {
				s.tail = t.Running
				r.steer(ctx)
			}
		}
	})
}
