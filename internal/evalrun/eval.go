// Package evalrun is `harness eval` and `harness resume` behind their flags:
// from a dataset and a candidate to a report that a person reads.
//
// It owns the order of these steps and what is told on the way. It knows nothing
// of flags.
package evalrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"harness/artifacts"
	"harness/datasets"
	"harness/datasets/predictions"
	"harness/eval"
	"harness/internal/buildinfo"
	"harness/internal/cli"
	"harness/internal/runs"
	"harness/internal/session"
	"harness/scoring/grade"
)

// Options of Eval. Exactly one of Predictions, Gold and Noop is set.
type Options struct {
	Session session.Config
	JSON    bool

	Dataset, Split string
	Family         string // of the dataset's rows; "" finds it out
	IDs            []string
	Filter         string

	Predictions string // file or folder
	Format      string // of the predictions; "" finds out
	Model       string // of predictions that name none
	Gold, Noop  bool

	// Calibration is a file, "" for the one beside the dataset if there is one, or
	// NoCalibration.
	Calibration string
	calibration []byte // what the file holds

	RunID    string
	Profile  string // "" for that of the dataset's family
	Runtime  string
	Network  string
	Limits   eval.Limits
	Attempts int
	MaxTries int

	Window     int
	MaxMissing int
	OutDir     string
}

// Eval plans a run, carries it out and shows its report.
func Eval(ctx context.Context, app *cli.App, o Options) error {
	req, err := request(ctx, app, &o)
	if err != nil {
		return err
	}
	if err := checkOut(o.OutDir); err != nil {
		return &cli.UsageError{Err: err}
	}
	if err := check(o.Session, []string{req.Spec.Runtime}); err != nil {
		return err
	}
	store, err := o.Session.OpenStore(ctx, StoreOf(o.Session))
	if err != nil {
		return err
	}
	if err := o.storeCalibration(ctx, store, &req); err != nil {
		return err
	}
	p, err := plan(ctx, store, req, o.RunID == "")
	if err != nil {
		return err
	}
	d := demandOf(req, DatasetPath(o.Session, o.Dataset))
	return carryThrough(ctx, app, o.Session, store, p, d, show{json: o.JSON, window: o.Window, maxMissing: o.MaxMissing, outDir: o.OutDir})
}

// plan stores the run. An id that was made, not given, is made different when
// another run has it: two may start in the same second.
func plan(ctx context.Context, store artifacts.Store, req runs.Request, made bool) (runs.Planned, error) {
	id := req.Spec.RunID
	for n := 2; ; n++ {
		p, err := runs.Plan(ctx, store, req)
		different := errors.Is(err, runs.ErrDifferent)
		switch {
		case made && (different || err == nil && p.Existed) && n < 100:
			req.Spec.RunID = fmt.Sprintf("%s-%d", id, n)
		case different:
			return p, &cli.UsageError{Err: err}
		default:
			return p, err
		}
	}
}

// ResumeOptions of Resume.
type ResumeOptions struct {
	Session    session.Config
	JSON       bool
	RunID      string
	Window     int
	MaxMissing int
	OutDir     string
}

func (o *ResumeOptions) check() error {
	return errors.Join(eval.ValidateRunID(o.RunID), CheckWindow(o.Window, o.MaxMissing), checkOut(o.OutDir))
}

// Resume goes on with a stored run.
func Resume(ctx context.Context, app *cli.App, o ResumeOptions) error {
	if err := o.check(); err != nil {
		return &cli.UsageError{Err: err}
	}
	// The spec says which runtime and how many slots an own stack needs.
	store, err := o.Session.OpenStore(ctx, StoreOf(o.Session))
	if err != nil {
		return err
	}
	p, err := runs.Load(ctx, store, o.RunID)
	if errors.Is(err, runs.ErrNoRun) {
		return &cli.UsageError{Err: err}
	}
	if err != nil {
		return err
	}
	if err := check(o.Session, []string{p.Spec.Runtime}); err != nil {
		return err
	}
	d, err := storedDemand(ctx, store, p.Spec)
	if err != nil {
		return err
	}
	return carryThrough(ctx, app, o.Session, store, p, d, show{json: o.JSON, window: o.Window, maxMissing: o.MaxMissing, outDir: o.OutDir})
}

// check refuses what no session could carry out.
func check(cfg session.Config, runtimes []string) error {
	if err := session.Check(cfg, runtimes); err != nil {
		return &cli.UsageError{Err: err}
	}
	return nil
}

// carryThrough carries out a run that is stored, in a session of its own, and
// shows its report.
func carryThrough(ctx context.Context, app *cli.App, cfg session.Config, store artifacts.Store, p runs.Planned, d demand, o show) error {
	s, err := open(ctx, cfg, []string{p.Spec.Runtime}, d)
	if err != nil {
		if !p.Existed {
			// It was never begun, so it is not worth a line in the list of runs.
			_, removeErr := runs.Remove(context.WithoutCancel(ctx), store, p.Spec.RunID)
			err = errors.Join(err, removeErr)
		}
		return err
	}
	return inSession(ctx, app, s, func() error {
		if was, is := store.URL(""), s.Store.URL(""); was != is {
			return fmt.Errorf("a local stack came up meanwhile that keeps artifacts in %s, not in %s; start again", is, was)
		}
		return follow(ctx, app, s, p, d, o)
	})
}

// inSession closes s after f; what f says comes first.
func inSession(ctx context.Context, app *cli.App, s *session.Session, f func() error) error {
	err := f()
	if closeErr := s.Close(ctx); closeErr != nil {
		app.Note("harness: clean-up: %v", closeErr)
		if err == nil {
			err = &cli.ExitError{Code: cli.ExitFailure}
		}
	}
	return err
}

// open opens a session that can carry out runs under the runtimes.
func open(ctx context.Context, cfg session.Config, runtimes []string, d demand) (*session.Session, error) {
	s, err := session.Open(ctx, cfg, session.Need{Handlers: runtimes, Slots: d.slots()})
	var mismatch *session.MismatchError
	if errors.As(err, &mismatch) {
		return nil, &cli.UsageError{Err: err}
	}
	return s, err
}

// request turns options into a run, reading dataset and predictions.
func request(ctx context.Context, app *cli.App, o *Options) (runs.Request, error) {
	var req runs.Request
	if err := o.check(); err != nil {
		return req, &cli.UsageError{Err: err}
	}
	if o.Profile != "" {
		if _, err := grade.ByName(o.Profile); err != nil {
			return req, &cli.UsageError{Err: err}
		}
	}
	ds, err := LoadDataset(ctx, app, o.Session, o.Dataset, datasets.Options{Split: o.Split, Family: o.Family})
	if err != nil {
		return req, err
	}
	if req.Tasks, err = ds.Select(o.IDs, o.Filter); err != nil {
		return req, &cli.UsageError{Err: err}
	}
	if len(req.Tasks) == 0 {
		return req, cli.Usage("no task of %s is selected by -i and --filter", o.Dataset)
	}
	profile, err := ProfileFor(o.Profile, req.Tasks)
	if err != nil {
		return req, &cli.UsageError{Err: err}
	}
	if notice := datasets.Complete(req.Tasks, profile.Recipe).Notice(); notice != "" {
		app.Note("%s", notice)
	}
	if err := datasets.AllRunnable(req.Tasks); err != nil {
		return req, &cli.UsageError{Err: withFilter(err, o.Filter, len(req.Tasks))}
	}
	if err := profile.FitsAll(req.Tasks); err != nil {
		return req, &cli.UsageError{Err: err}
	}
	req.Spec = eval.RunSpec{
		Dataset: ds.Name, DatasetDigest: ds.Digest, DatasetSource: ds.Source, Split: ds.Split,
		Profile: profile.Name, Recipe: profile.Recipe, Limits: o.Limits,
		Network: eval.NetworkPolicy(o.Network), Runtime: o.Runtime,
		Attempts: o.Attempts, Rounds: 1, Disclosure: "none", MaxInfraTries: o.MaxTries,
		HarnessVersion: buildinfo.Version(), CreatedAt: app.Now().UTC(),
	}
	if err := o.candidate(ctx, app, ds, &req); err != nil {
		return req, err
	}
	if err := o.calibrate(ctx, app, ds, &req); err != nil {
		return req, err
	}
	if req.Spec.RunID = o.RunID; req.Spec.RunID == "" {
		req.Spec.RunID = runID(ds.Name, req.Spec.Agent, app.Now())
	}
	if err := eval.ValidateRunID(req.Spec.RunID); err != nil {
		return req, &cli.UsageError{Err: err}
	}
	return req, nil
}

// ProfileFor is the profile of that name, or for "" that of the tasks' family.
func ProfileFor(name string, tasks []eval.Task) (grade.Profile, error) {
	if name == "" {
		return grade.ForFamily(tasks[0].Family), nil
	}
	return grade.ByName(name)
}

func (o *Options) check() error {
	n := 0
	for _, given := range []bool{o.Predictions != "", o.Gold, o.Noop} {
		if given {
			n++
		}
	}
	switch {
	case o.Dataset == "":
		return errors.New("no dataset; give one with -d FILE")
	case n != 1:
		return errors.New("give exactly one candidate: -p PREDICTIONS, --gold or --noop")
	case o.Predictions == "" && (o.Format != "" || o.Model != ""):
		return errors.New("--format and --model tell of predictions; give them with -p")
	case !KnownRuntime(o.Runtime):
		return fmt.Errorf("runtime %q is not known; known are runsc (gVisor) and runc", o.Runtime)
	case o.Network != string(eval.NetworkNone):
		return fmt.Errorf("network policy %q is not supported; sandboxes have no network (\"none\")", o.Network)
	case o.Attempts < 1:
		return fmt.Errorf("--attempts %d: at least 1 is needed", o.Attempts)
	case o.MaxTries < 1:
		return fmt.Errorf("--max-tries %d: at least 1 is needed", o.MaxTries)
	}
	if o.Format != "" {
		if _, err := predictions.ByName(o.Format); err != nil {
			return err
		}
	}
	return errors.Join(CheckWindow(o.Window, o.MaxMissing), o.Limits.Validate())
}

// KnownRuntime reports whether name can be a runtime of a sandbox.
func KnownRuntime(name string) bool {
	return name == "runsc" || name == "runc" || strings.HasPrefix(name, "io.containerd.")
}

// maxWindow is how many children Temporal lets one workflow have.
const maxWindow = 2000

// CheckWindow refuses numbers that no run could have: -j and --max-missing.
func CheckWindow(window, maxMissing int) error {
	switch {
	case window < 0 || window > maxWindow:
		return fmt.Errorf("-j %d: between 1 and %d trials can be in flight", window, maxWindow)
	case maxMissing < 0:
		return fmt.Errorf("--max-missing %d: must not be negative", maxMissing)
	}
	return nil
}

// runID makes a name from what the run is about. Characters that ids may not
// have become "-".
func runID(dataset, agent string, now time.Time) string {
	word := func(s string) string {
		s = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
				return r
			}
			return '-'
		}, s)
		return strings.Trim(s[:min(len(s), 35)], "-_")
	}
	parts := []string{word(dataset), word(agent), now.UTC().Format("20060102-150405")}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "-")
}
