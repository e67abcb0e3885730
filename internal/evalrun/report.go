package evalrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"harness/activities"
	"harness/artifacts"
	"harness/artifacts/dir"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/localstack"
	"harness/internal/runs"
	"harness/internal/session"
	"harness/reports"
)

// StoreOf is where a command finds runs when no session is open: the store of the
// stack that is up, if there is one.
func StoreOf(cfg session.Config) string {
	if cfg.Store == "" && cfg.Temporal == "" {
		if st, err := localstack.Find(cfg.LocalStack("")); err == nil && st.Mode == localstack.ModeUp && st.Store != "" {
			return st.Store
		}
	}
	return cfg.StoreURL()
}

// conclude shows the report of a run that has ended and says how the command exits.
func conclude(ctx context.Context, app *cli.App, store artifacts.Store, run string, o show) error {
	sum, err := reports.ReadSummary(ctx, store, run)
	if err != nil {
		return fmt.Errorf("read the report of run %s: %w", run, err)
	}
	where := func(name string) string { return store.URL(eval.ReportKey(run, name)) }
	if o.outDir != "" {
		if err := copyReport(ctx, store, run, o.outDir); err != nil {
			return fmt.Errorf("%w; the report itself is whole, at %s", err, where(""))
		}
		where = func(name string) string { return filepath.Join(o.outDir, name) }
	}
	if err := printReport(app, sum, o.json); err != nil {
		return err
	}
	if !o.json {
		fmt.Fprintf(app.Out, "\nsummary  %s\ntrials   %s\n", where(reports.FileSummary), where(reports.FileTrials))
	}
	if n := missing(sum); n > o.maxMissing {
		return &cli.ExitError{Code: cli.ExitMissing, Msg: missingText(sum, n, o.maxMissing)}
	}
	return nil
}

func printReport(app *cli.App, sum reports.Summary, asJSON bool) error {
	var err error
	if asJSON {
		err = reports.WriteJSON(app.Out, sum)
	} else {
		err = reports.RenderTable(app.Out, sum, app.OutWidth())
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// missing counts results that the run should have and does not: faults of ours,
// unfinished trials, and selected tasks that nobody gave a prediction for.
func missing(s reports.Summary) int {
	return unfinished(s) + infra(s) + len(s.Harness.Coverage.Missing)
}

func unfinished(s reports.Summary) int {
	return s.Harness.NoResult + s.Harness.Outcomes[eval.Cancelled.String()]
}

// missingText says what is missing and what to do; a negative allowed is not told.
func missingText(s reports.Summary, n, allowed int) string {
	var why, hints []string
	if k := infra(s); k > 0 {
		why = append(why, cli.Count(k, "infra error"))
	}
	if k := unfinished(s); k > 0 {
		why = append(why, fmt.Sprintf("%d unfinished", k))
	}
	if infra(s)+unfinished(s) > 0 {
		hints = append(hints, fmt.Sprintf("`harness resume %s` tries them again", s.Harness.Run.RunID))
	}
	if k := len(s.Harness.Coverage.Missing); k > 0 {
		why = append(why, fmt.Sprintf("%d without a prediction", k))
		hints = append(hints, "-i and --filter select tasks, --max-missing allows for missing ones")
	}
	limit := ""
	if allowed >= 0 {
		limit = fmt.Sprintf(", %d allowed", allowed)
	}
	return fmt.Sprintf("%s missing (%s)%s; %s", cli.Count(n, "result"), strings.Join(why, ", "), limit, strings.Join(hints, "; "))
}

func infra(s reports.Summary) int { return s.Harness.Outcomes[eval.InfraError.String()] }

// checkOut makes the folder for the report's copy before the run, not after hours.
func checkOut(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("-o %s: %w", dir, err)
	}
	f, err := os.CreateTemp(dir, ".harness-*")
	if err != nil {
		return fmt.Errorf("-o %s: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// copyReport puts the report's files into a folder.
func copyReport(ctx context.Context, store artifacts.Store, run, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("copy report: %w", err)
	}
	for info, err := range store.List(ctx, eval.ReportKey(run, "")) {
		if err == nil {
			err = copyFile(ctx, store, info.Key, filepath.Join(dir, path.Base(info.Key)))
		}
		if err != nil {
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

// ReportOptions of Report: where copies go, all of them optional.
type ReportOptions struct {
	JSON     bool
	OutDir   string // the report's own files
	Official string // folder for logs and reports as the official harness leaves them
	Preds    string // file for the run's predictions
	Force    bool   // Official and Preds may replace what is there
}

// Report writes the report of a stored run anew, finished or not, and shows it.
func Report(ctx context.Context, app *cli.App, store artifacts.Store, run string, o ReportOptions) error {
	if o.Force && o.Official == "" && o.Preds == "" {
		return cli.Usage("--force goes with --official or --preds")
	}
	if o.Preds == "-" {
		return cli.Usage("--preds - is no file: standard output has the report; give the name of a file")
	}
	p, err := runs.Load(ctx, store, run)
	if err != nil {
		return err
	}
	sum, err := activities.BuildReport(ctx, store, p.Spec, reports.Options{})
	if err != nil {
		return err
	}
	noteUnfinished(app, sum, false)
	if err := writeOfficial(ctx, app, store, p.Spec, o); err != nil {
		return err
	}
	return conclude(ctx, app, store, run, show{json: o.JSON, outDir: o.OutDir, maxMissing: missing(sum)})
}

// Show prints the report of a stored run, finished or not, and changes nothing.
func Show(ctx context.Context, app *cli.App, store artifacts.Store, run string, active, asJSON bool) error {
	p, err := runs.Load(ctx, store, run)
	if err != nil {
		return err
	}
	sum, err := reports.ReadSummary(ctx, store, run)
	if err == nil && missing(sum) == 0 {
		return conclude(ctx, app, store, run, show{json: asJSON})
	}
	// There is no report yet, or it may be older than what is stored: one is made
	// beside the store.
	tmp, err := os.MkdirTemp("", "harness-show-*")
	if err != nil {
		return fmt.Errorf("show run %s: %w", run, err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	beside, err := dir.Open(filepath.Join(tmp, "store"))
	if err != nil {
		return fmt.Errorf("show run %s: %w", run, err)
	}
	opts, err := activities.WithCalibration(ctx, store, p.Spec, reports.Options{TempDir: tmp})
	if err != nil {
		return err
	}
	sum, err = reports.Build(ctx, beside, p.Spec, activities.Results(ctx, store, p.Spec), opts)
	if err != nil {
		return err
	}
	noteUnfinished(app, sum, active)
	return printReport(app, sum, asJSON)
}

// noteUnfinished says what the report lacks; of a run that goes on, how far it is.
func noteUnfinished(app *cli.App, sum reports.Summary, active bool) {
	run := sum.Harness.Run.RunID
	switch n := missing(sum); {
	case active:
		app.Note("run %s goes on; what is not finished yet counts as cancelled below. `harness runs watch %s` follows it", run, run)
	case n > 0:
		app.Note("run %s: %s", run, missingText(sum, n, -1))
	}
}
