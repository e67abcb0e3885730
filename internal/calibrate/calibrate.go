// Package calibrate is `harness dataset calibrate` behind its flags: gold and
// unpatched runs over a dataset under each runtime, and the calibration table made
// from what they saw.
//
// It owns which runs these are and what is told of them. The runs are ordinary
// ones, durable and resumable; what follows from their results is decided in
// scoring/calibration.
package calibrate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"harness/artifacts"
	"harness/datasets"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/evalrun"
	"harness/internal/runs"
	"harness/internal/session"
	"harness/scoring/calibration"
	"harness/scoring/grade"
)

// Options of Run.
type Options struct {
	Session session.Config
	JSON    bool

	Dataset, Split string
	Family         string // of the dataset's rows; "" finds it out
	IDs            []string
	Filter         string

	Repeats     int // of the gold patch
	NoopRepeats int // of the unpatched repository; 0 means as many
	Runtimes    []string

	Profile  string // "" for that of the dataset's family
	Limits   eval.Limits
	MaxTries int
	Window   int
	Out      string // file, "" means beside the dataset
}

// job is a calibration that can be carried out.
type job struct {
	o       Options
	app     *cli.App
	dataset *datasets.Dataset
	path    string // of the dataset, as it was found
	out     string
	profile grade.Profile
	tasks   []selected
	runs    []cell
}

// selected is a task of the selection.
type selected struct {
	eval.Task
	digest string
	why    string // it can't be calibrated, "" when it can
}

// cell is one run: a candidate under a runtime.
type cell struct {
	runtime, candidate string
	req                runs.Request
	planned            runs.Planned
}

// Run calibrates a dataset. A run that an earlier, interrupted calibration began
// is gone on with; when all of them are finished nothing is executed.
func Run(ctx context.Context, app *cli.App, o Options) error {
	j, err := prepare(ctx, app, o)
	if err != nil {
		return err
	}
	store, err := o.Session.OpenStore(ctx, evalrun.StoreOf(o.Session))
	if err != nil {
		return err
	}
	done, err := j.finished(ctx, store)
	if err != nil {
		return err
	}
	if done {
		app.Note("all %d runs of this calibration are finished and stored; nothing is executed again", len(j.runs))
		return j.conclude(ctx, store)
	}
	return evalrun.InBatch(ctx, app, o.Session, o.Runtimes, j.runs[0].req, j.path, func(b *evalrun.Batch) error {
		for i := range j.runs {
			c := &j.runs[i]
			app.Note("[%d/%d] %s under %s, %s", i+1, len(j.runs), c.what(), c.runtime, cli.Count(c.req.Spec.Attempts, "repeat"))
			if c.planned, err = b.Run(ctx, c.req, o.Window); err != nil {
				return again(err)
			}
		}
		return j.conclude(ctx, b.Store())
	})
}

func (c *cell) what() string {
	if c.candidate == eval.CandidateGold {
		return "gold patches"
	}
	return "unpatched"
}

// again adds to the advice on an interrupted run what goes on with all of them.
func again(err error) error {
	var exit *cli.ExitError
	if errors.As(err, &exit) && exit.Code == cli.ExitInterrupted {
		return &cli.ExitError{Code: exit.Code, Msg: exit.Msg + "; the same `harness dataset calibrate` goes on with the calibration"}
	}
	return err
}

// finished finds out whether every run is stored with all of its results.
func (j *job) finished(ctx context.Context, store artifacts.Store) (bool, error) {
	for i := range j.runs {
		c := &j.runs[i]
		p, err := runs.Load(ctx, store, c.req.Spec.RunID)
		if errors.Is(err, runs.ErrNoRun) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if whole, err := runs.Finished(ctx, store, p.Spec); err != nil || !whole {
			return false, err
		}
		c.planned = p
	}
	return true, nil
}

// conclude writes the table and shows what it holds.
func (j *job) conclude(ctx context.Context, store artifacts.Store) error {
	sum, err := j.write(ctx, store)
	if err != nil {
		return err
	}
	if j.o.JSON {
		err = j.app.JSON(sum)
	} else {
		err = sum.print(j.app)
	}
	if err != nil {
		return fmt.Errorf("print the calibration: %w", err)
	}
	if n := sum.unknown(); n > 0 {
		return &cli.ExitError{Code: cli.ExitMissing, Msg: fmt.Sprintf("%s could not be measured; the same command tries again what ended in a fault of ours", cli.Count(n, "judgement"))}
	}
	return nil
}

// executable are the tasks that are run.
func (j *job) executable() []eval.Task {
	var out []eval.Task
	for i := range j.tasks {
		if j.tasks[i].why == "" {
			out = append(out, j.tasks[i].Task)
		}
	}
	return out
}

// noteLeftOut names the tasks that are not run, by why.
func (j *job) noteLeftOut() {
	for _, n := range []struct{ why, text string }{
		{calibration.NoGoldPatch, "without a gold patch or solution"},
		{calibration.NotRunnable, "without an image, an eval script or a parser"},
	} {
		var ids []string
		for i := range j.tasks {
			if j.tasks[i].why == n.why {
				ids = append(ids, j.tasks[i].InstanceID)
			}
		}
		if len(ids) > 0 {
			j.app.Note("can't be calibrated: %s %s", cli.Count(len(ids), "task"), n.text+first(": ", ids))
		}
	}
}

// twice finds a word that is there more than once.
func twice(words []string) (string, bool) {
	for i, w := range words {
		if slices.Contains(words[:i], w) {
			return w, true
		}
	}
	return "", false
}
