package activities

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// Heartbeat is what Execute reports: where it is and, for the try that comes
// after a lost one, what was lost.
type Heartbeat struct {
	Stage     string `json:"stage"`
	SandboxID string `json:"sandbox_id"`
	Try       int    `json:"try"`
}

// heartbeatEvery is well under the workflow's heartbeat timeout.
const heartbeatEvery = 5 * time.Second

// heart sends heartbeats while an activity runs: cancellation reaches it by them
// only. A server that does not answer holds up the heart, never the activity.
type heart struct {
	mu    sync.Mutex
	last  Heartbeat
	beat  chan struct{} // there is something new to tell
	done  chan struct{}
	ended chan struct{}
}

func newHeart(ctx context.Context, first Heartbeat) *heart {
	h := &heart{last: first, beat: make(chan struct{}, 1), done: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(h.ended)
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-h.beat:
			case <-tick.C:
			case <-h.done:
				return
			}
			activity.RecordHeartbeat(ctx, h.now())
		}
	}()
	return h
}

func (h *heart) now() Heartbeat {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// tell changes what the next heartbeats say and sends one soon.
func (h *heart) tell(change func(*Heartbeat)) {
	h.mu.Lock()
	change(&h.last)
	h.mu.Unlock()
	select {
	case h.beat <- struct{}{}:
	default: // one is due already
	}
}

func (h *heart) stop() {
	close(h.done)
	<-h.ended
}

// alive ends the returned context, too, when the worker stops: its sandboxes
// must be gone within seconds, not after the test's own time limit.
func (a *Activities) alive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case <-a.cfg.Stopping: // nil: never
			cancel(errStopping)
		case <-done:
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// patiently repeats a step while the artifact store is away: what a sandbox has
// worked out for half an hour is not thrown away for that. Any other error, and
// that of an outage that lasts, is returned.
func (a *Activities) patiently(ctx context.Context, step func() error) error {
	patience := a.cfg.StorePatience
	if patience == 0 {
		patience = 10 * time.Minute
	}
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		err := step()
		if !isStoreAway(err) {
			return err
		}
		a.log.Warn("the artifact store does not answer, waiting", "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-enough.C:
			return err
		case <-time.After(wait):
		}
	}
}

func isStoreAway(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == ErrArtifactStore
}
