package evalrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"harness/internal/cli"
	"harness/internal/runs"
	"harness/internal/session"
	"harness/workflows"
)

// show says how a run is followed and what its end is.
type show struct {
	json       bool
	window     int
	maxMissing int
	outDir     string
}

const pollEvery = time.Second

// follow carries the run out and shows its report.
func follow(ctx context.Context, app *cli.App, s *session.Session, p runs.Planned, d demand, o show) error {
	if err := carryOut(ctx, app, s, p, d, o.window); err != nil {
		return err
	}
	return conclude(ctx, app, s.Store, p.Spec.RunID, o)
}

// carryOut starts or joins the run and shows its progress until it has ended.
func carryOut(ctx context.Context, app *cli.App, s *session.Session, p runs.Planned, d demand, window int) error {
	id := p.Spec.RunID
	if s.Kind == session.Embedded {
		// This process owns the only worker, so whatever Temporal has of the run is a
		// leftover: what is stored is the record.
		if err := runs.Terminate(ctx, s.Client, id, "started anew from what is stored"); err != nil {
			return err
		}
	}
	window = announce(app, s, p, d, window)
	if err := warnOfImages(ctx, app, s, d); err != nil {
		return err
	}
	wf, err := runs.Start(ctx, s.Client, p, window, workflows.DefaultClass)
	if err != nil {
		return err
	}
	err = watch(ctx, app, s, id, wf)
	if ctx.Err() != nil {
		return interrupted(ctx, app, s, id)
	}
	return ended(app, id, err)
}

// ended says how a run's workflow ended. A cancelled run has a report, too.
func ended(app *cli.App, id string, err error) error {
	var terminated *temporal.TerminatedError
	switch {
	case err == nil:
		return nil
	case temporal.IsCanceledError(err):
		app.Note("run %s was cancelled", id)
		return nil
	case errors.As(err, &terminated):
		return fmt.Errorf("run %s was ended from outside; `harness resume %s` goes on with it", id, id)
	}
	return fmt.Errorf("run %s: %w; `harness resume %s` goes on with it", id, err, id)
}

// watch shows progress until the run's workflow has ended.
func watch(ctx context.Context, app *cli.App, s *session.Session, id string, wf client.WorkflowRun) error {
	ended := make(chan error, 1)
	go func() { ended <- wf.Get(ctx, nil) }()
	view := cli.NewProgress(app)
	show := func() {
		// A query that fails while a server restarts is no reason to stop watching.
		if p, err := runs.Ask(ctx, s.Client, id); err == nil {
			view.Show(p)
		}
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				view.Leave()
				return err
			}
			if !app.Terminal {
				show()
			}
			view.Clear()
			return nil
		case <-ctx.Done():
			view.Leave()
			return ctx.Err()
		case <-tick.C:
			if s.Gone() {
				view.Leave()
				return errGone
			}
			show()
		}
	}
}

var errGone = errors.New("the local stack was taken down")

// interrupted ends an embedded run so that it can be resumed, or leaves a run
// that other processes carry on with.
func interrupted(ctx context.Context, app *cli.App, s *session.Session, id string) error {
	if s.Kind != session.Embedded {
		return &cli.ExitError{Code: cli.ExitInterrupted, Msg: fmt.Sprintf("no longer watching; run %s goes on. `harness runs watch %s` looks again, `harness runs cancel %s` ends it", id, id, id)}
	}
	if app.Terminal {
		fmt.Fprint(app.Err, "\r\x1b[K") // what the terminal made of Ctrl-C
	}
	app.Note("interrupted: stopping the sandboxes of run %s (Ctrl-C again ends at once and leaves them to the next command)", id)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := runs.Terminate(ctx, s.Client, id, "interrupted"); err != nil {
		app.Note("harness: %v", err)
	}
	return &cli.ExitError{Code: cli.ExitInterrupted, Msg: fmt.Sprintf("finished trials are kept; `harness resume %s` goes on", id)}
}
