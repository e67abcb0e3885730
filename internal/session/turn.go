package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/internal/localstack"
)

// turnEvery is how often is looked whether a stack's owner has ended.
const turnEvery = 250 * time.Millisecond

// turn calls join with the stack of another process if fits says that it will
// do, or start if there is none. A stack that does not fit is one that ends with
// its owner's own work, or is not ready: using it would mean losing it in the
// middle, so turn waits for its end and says so.
func turn(ctx context.Context, cfg Config, fits func(localstack.State) bool, join func(localstack.State) error, start func() error) error {
	told := false
	for {
		st, err := localstack.Find(cfg.LocalStack(""))
		switch {
		case err == nil && fits(st):
			return join(st)
		case errors.Is(err, localstack.ErrNotRunning):
			err := start()
			var running *localstack.RunningError
			if !errors.As(err, &running) {
				return err
			}
			// Another process was faster.
		case err != nil:
			return err
		}
		if !told && st.Owner.Pid != 0 && st.Mode != localstack.ModeUp {
			told = true
			cfg.Note(fmt.Sprintf("waiting for %s to end: it has this machine's sandboxes to itself. Ctrl-C gives up; after `harness up` several runs can share them", holder(st)))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", holder(st), ctx.Err())
		case <-time.After(turnEvery):
		}
	}
}

// holder says for people who owns a stack.
func holder(st localstack.State) string {
	what := map[string]string{
		localstack.ModeUp: "`harness up`", localstack.ModeEmbedded: "a run with a stack of its own",
		localstack.ModeSandboxes: "a command that handles images or sandboxes", localstack.ModeWorker: "`harness worker`",
	}[st.Mode]
	if what == "" {
		return "a process that is just starting the local stack"
	}
	return fmt.Sprintf("process %d (%s)", st.Owner.Pid, what)
}
