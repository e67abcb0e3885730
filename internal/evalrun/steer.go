package evalrun

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"harness/eval"
	"harness/internal/cli"
	"harness/internal/localstack"
	"harness/internal/runs"
	"harness/internal/session"
	"harness/internal/temporalx"
)

// Steered is a run that goes on, and the session through which it is steered.
type Steered struct {
	*session.Session
	RunID string
}

// Steer connects to the run's Temporal and calls f. A run that does not go on is
// a usage error that says what it is instead.
func Steer(ctx context.Context, cfg session.Config, run string, f func(Steered) error) (err error) {
	if err := eval.ValidateRunID(run); err != nil {
		return &cli.UsageError{Err: err}
	}
	s, err := session.Connect(ctx, cfg)
	var mismatch *session.MismatchError
	switch {
	case errors.Is(err, localstack.ErrNotRunning):
		return notGoingOn(ctx, cfg, run, "the local stack is not up")
	case errors.As(err, &mismatch):
		return &cli.UsageError{Err: err}
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	goesOn, err := active(ctx, s.Client, run)
	if err != nil {
		return err
	}
	if !goesOn {
		return notGoingOn(ctx, cfg, run, "")
	}
	return f(Steered{s, run})
}

func notGoingOn(ctx context.Context, cfg session.Config, run, why string) error {
	store, err := cfg.OpenStore(ctx, StoreOf(cfg))
	if err != nil {
		return err
	}
	if _, err := runs.Load(ctx, store, run); errors.Is(err, runs.ErrNoRun) {
		return &cli.UsageError{Err: err}
	} else if err != nil {
		return err
	}
	if why != "" {
		why = ": " + why
	}
	return cli.Usage("run %s is not going on%s; `harness runs show %s` shows what it has, `harness resume %s` goes on with it", run, why, run, run)
}

// active reports whether Temporal has a running workflow of the run.
func active(ctx context.Context, c client.Client, run string) (bool, error) {
	d, err := c.DescribeWorkflow(ctx, eval.RunWorkflowID(run), "")
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask Temporal about run %s: %w", run, err)
	}
	return d.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// Update sends one of the run's updates. What its validator refuses is a usage error.
func (s Steered) Update(ctx context.Context, name string, args ...any) error {
	err := runs.Update(ctx, s.Client, s.RunID, name, args...)
	var refused *temporal.ApplicationError
	if errors.As(err, &refused) {
		return cli.Usage("run %s: %s", s.RunID, refused.Message())
	}
	return err
}

// Watch follows the run until it ends.
func (s Steered) Watch(ctx context.Context, app *cli.App) error {
	err := watch(ctx, app, s.Session, s.RunID, s.Client.GetWorkflow(ctx, eval.RunWorkflowID(s.RunID), ""))
	if ctx.Err() != nil {
		return &cli.ExitError{Code: cli.ExitInterrupted}
	}
	if err := ended(app, s.RunID, err); err != nil {
		return err
	}
	app.Note("run %s has ended; `harness runs show %s` shows its report", s.RunID, s.RunID)
	return nil
}

// ActiveHere lists the runs of the given store that go on on this machine's stack;
// none when it is not up.
func ActiveHere(ctx context.Context, cfg session.Config) (map[string]bool, error) {
	st, err := localstack.Find(cfg.LocalStack(""))
	if err != nil || st.Temporal == "" || cfg.Store != "" && !cfg.SameStore(st.Store) {
		return nil, nil // nothing can go on there
	}
	c, err := temporalx.Dial(ctx, st.Temporal, "", "", cfg.Logger)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ids, err := runs.Active(ctx, c)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, id := range ids {
		out[id] = true
	}
	return out, nil
}
