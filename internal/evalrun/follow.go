package evalrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/localstack"
	"harness/internal/runs"
	"harness/internal/session"
	"harness/reports"
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
func follow(ctx context.Context, app *cli.App, s *session.Session, p runs.Planned, o show) error {
	if err := carryOut(ctx, app, s, p, o.window); err != nil {
		return err
	}
	return Conclude(ctx, app, s.Store, p.Spec, o.json, o.outDir, o.maxMissing)
}

// carryOut starts or joins the run and shows its progress until it has ended.
func carryOut(ctx context.Context, app *cli.App, s *session.Session, p runs.Planned, window int) error {
	id := p.Spec.RunID
	if s.Kind == session.Embedded {
		// This process owns the only worker, so whatever Temporal has of the run is a
		// leftover: what is stored is the record.
		if err := runs.Terminate(ctx, s.Client, id, "started anew from what is stored"); err != nil {
			return err
		}
	}
	if window == 0 {
		window = defaultWindow(s)
	}
	announce(app, s, p, window)
	wf, err := runs.Start(ctx, s.Client, p, window, workflows.DefaultClass)
	if err != nil {
		return err
	}
	err = watch(ctx, app, s.Client, id, wf)
	if ctx.Err() != nil {
		return interrupted(ctx, app, s, id)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w; `harness resume %s` goes on with it", id, err, id)
	}
	return nil
}

// defaultWindow keeps a further trial ready for each slot, so that none waits for
// Temporal.
func defaultWindow(s *session.Session) int {
	return 2 * max(1, s.Slots())
}

func announce(app *cli.App, s *session.Session, p runs.Planned, window int) {
	verb := "run"
	if p.Existed {
		verb = "going on with run"
	}
	app.Note("%s %s: %d trials of %s, candidate %s, profile %s, runtime %s",
		verb, p.Spec.RunID, p.Spec.Entries, p.Spec.Dataset, p.Spec.Agent, p.Spec.Profile, p.Spec.Runtime)
	if n := s.Slots(); n > 0 {
		app.Note("%d sandboxes at once (%g cores, %s each), %d trials in flight", min(n, window), p.Spec.Limits.CPUs, cli.Size(p.Spec.Limits.MemoryBytes), window)
	}
	if s.UI != "" {
		app.Note("watch it at %s/namespaces/default/workflows?query=RunID%%3D%%22%s%%22", s.UI, p.Spec.RunID)
	}
}

// watch shows progress until the run's workflow has ended.
func watch(ctx context.Context, app *cli.App, c client.Client, id string, wf client.WorkflowRun) error {
	ended := make(chan error, 1)
	go func() { ended <- wf.Get(ctx, nil) }()
	view := cli.NewProgress(app)
	defer view.Done()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			// A query that fails while a server restarts is no reason to stop watching.
			if p, err := runs.Ask(ctx, c, id); err == nil {
				view.Show(p)
			}
		}
	}
}

// Watch follows a run that goes on.
func Watch(ctx context.Context, app *cli.App, s *session.Session, id string) error {
	if _, err := runs.Ask(ctx, s.Client, id); err != nil {
		return err
	}
	err := watch(ctx, app, s.Client, id, s.Client.GetWorkflow(ctx, eval.RunWorkflowID(id), ""))
	if ctx.Err() != nil {
		return &cli.ExitError{Code: cli.ExitInterrupted}
	}
	return err
}

// interrupted ends an embedded run so that it can be resumed, or leaves a run
// that other processes carry on with.
func interrupted(ctx context.Context, app *cli.App, s *session.Session, id string) error {
	if s.Kind != session.Embedded {
		return &cli.ExitError{Code: cli.ExitInterrupted, Msg: fmt.Sprintf("no longer watching; run %s goes on. `harness runs watch %s` looks again, `harness runs cancel %s` ends it", id, id, id)}
	}
	app.Note("interrupted: stopping the sandboxes of run %s", id)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := runs.Terminate(ctx, s.Client, id, "interrupted"); err != nil {
		app.Note("harness: %v", err)
	}
	return &cli.ExitError{Code: cli.ExitInterrupted, Msg: fmt.Sprintf("finished trials are kept; `harness resume %s` goes on", id)}
}

// Conclude shows a run's report and says how the command exits.
func Conclude(ctx context.Context, app *cli.App, store artifacts.Store, spec eval.RunSpec, asJSON bool, outDir string, maxMissing int) error {
	sum, err := reports.ReadSummary(ctx, store, spec.RunID)
	if err != nil {
		return fmt.Errorf("read the report of run %s: %w", spec.RunID, err)
	}
	where := store.URL(eval.ReportKey(spec.RunID, ""))
	if outDir != "" {
		if err := copyReport(ctx, store, spec.RunID, outDir); err != nil {
			return err
		}
		where = outDir
	}
	if asJSON {
		err = reports.WriteJSON(app.Out, sum)
	} else {
		err = reports.RenderTable(app.Out, sum, app.Width)
		fmt.Fprintf(app.Out, "\nsummary  %s\ntrials   %s\n", join(where, "summary.md"), join(where, "trials.parquet"))
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	if n := missing(sum); n > maxMissing {
		return &cli.ExitError{Code: cli.ExitMissing, Msg: fmt.Sprintf("%d results are missing (infra errors or unfinished trials), %d are allowed; `harness resume %s` tries them again", n, maxMissing, spec.RunID)}
	}
	return nil
}

func join(where, name string) string {
	if path.IsAbs(where) || !filepath.IsLocal(where) {
		return filepath.Clean(where) + "/" + name
	}
	return path.Join(where, name)
}

func missing(s reports.Summary) int {
	return s.Harness.NoResult + s.Harness.Outcomes[eval.InfraError.String()] + s.Harness.Outcomes[eval.Cancelled.String()]
}

// copyReport puts the report's files into a folder.
func copyReport(ctx context.Context, store artifacts.Store, run, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("copy report: %w", err)
	}
	prefix := eval.ReportKey(run, "")
	for info, err := range store.List(ctx, prefix) {
		if err != nil {
			return fmt.Errorf("copy report: %w", err)
		}
		if err := copyFile(ctx, store, info.Key, filepath.Join(dir, path.Base(info.Key))); err != nil {
			return fmt.Errorf("copy report: %w", err)
		}
	}
	return nil
}

func copyFile(ctx context.Context, store artifacts.Store, key, to string) (err error) {
	r, _, err := store.Get(ctx, key)
	if err != nil {
		return err
	}
	defer r.Close()
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(f, r)
	return err
}

// Report writes the report of a stored run anew, finished or not, and shows it.
func Report(ctx context.Context, app *cli.App, store artifacts.Store, run string, asJSON bool, outDir string) error {
	p, err := runs.Load(ctx, store, run)
	if err != nil {
		return err
	}
	if _, err := activities.BuildReport(ctx, store, p.Spec, nil); err != nil {
		return err
	}
	return Conclude(ctx, app, store, p.Spec, asJSON, outDir, p.Spec.Entries)
}

// storeOf is the store of a session that is not open yet: the running stack's, if
// there is one.
func StoreOf(cfg session.Config) string {
	if cfg.Store == "" && cfg.Temporal == "" {
		if st, err := localstack.Find(cfg.LocalStack("")); err == nil && st.Store != "" {
			return st.Store
		}
	}
	return cfg.StoreURL()
}
