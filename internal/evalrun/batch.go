package evalrun

import (
	"context"

	"harness/artifacts"
	"harness/internal/cli"
	"harness/internal/runs"
	"harness/internal/session"
)

// Batch carries out several runs over the same tasks in one session, one after
// another.
type Batch struct {
	app     *cli.App
	session *session.Session
	demand  demand
}

// InBatch opens a session that has all of the runtimes and room for runs like the
// given one, calls f and closes the session. A runtime that is not there is an
// error before f is called. dataset is where the tasks come from: a folder may
// bring the recipes of its images.
func InBatch(ctx context.Context, app *cli.App, cfg session.Config, runtimes []string, like runs.Request, dataset string, f func(*Batch) error) error {
	if err := check(cfg, runtimes); err != nil {
		return err
	}
	d := demandOf(like, dataset)
	s, err := open(ctx, cfg, runtimes, d)
	if err != nil {
		return err
	}
	return inSession(ctx, app, s, func() error { return f(&Batch{app, s, d}) })
}

// Store is where the session keeps runs.
func (b *Batch) Store() artifacts.Store { return b.session.Store }

// Run plans the run, or finds it as it was planned before, and carries it out.
// Window is how many trials are in flight, 0 for enough to keep the machine busy.
func (b *Batch) Run(ctx context.Context, req runs.Request, window int) (runs.Planned, error) {
	p, err := runs.Plan(ctx, b.session.Store, req)
	if err != nil {
		return p, err
	}
	return p, carryOut(ctx, b.app, b.session, p, b.demand, window)
}
