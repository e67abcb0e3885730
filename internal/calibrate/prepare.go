package calibrate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"harness/datasets"
	"harness/eval"
	"harness/internal/buildinfo"
	"harness/internal/cli"
	"harness/internal/evalrun"
	"harness/internal/runs"
	"harness/scoring/calibration"
)

// maxRepeats bounds a slip of the finger.
const maxRepeats = 1000

func (o *Options) check() error {
	switch word, found := twice(o.Runtimes); {
	case o.Dataset == "":
		return errors.New("no dataset; give one with -d FILE")
	case o.Repeats < 1 || o.Repeats > maxRepeats:
		return fmt.Errorf("-n %d: between 1 and %d repeats are possible", o.Repeats, maxRepeats)
	case o.NoopRepeats < 0 || o.NoopRepeats > maxRepeats:
		return fmt.Errorf("--noop-runs %d: between 1 and %d repeats are possible", o.NoopRepeats, maxRepeats)
	case len(o.Runtimes) == 0:
		return errors.New("no runtime; give them with --runtimes runsc,runc")
	case found:
		return fmt.Errorf("--runtimes names %s twice", word)
	case o.MaxTries < 1:
		return fmt.Errorf("--max-tries %d: at least 1 is needed", o.MaxTries)
	case (len(o.IDs) > 0 || o.Filter != "") && o.Out == "":
		return errors.New("-i and --filter leave tasks out; say with -o where that calibration goes, so that it does not replace one of all tasks")
	}
	for _, r := range o.Runtimes {
		if !evalrun.KnownRuntime(r) {
			return fmt.Errorf("runtime %q is not known; known are runsc (gVisor) and runc", r)
		}
	}
	return errors.Join(evalrun.CheckWindow(o.Window, 0), o.Limits.Validate())
}

// prepare reads the dataset and names the runs. Nothing is stored or started.
func prepare(ctx context.Context, app *cli.App, o Options) (*job, error) {
	j := &job{o: o, app: app, path: evalrun.DatasetPath(o.Session, o.Dataset)}
	if j.o.NoopRepeats == 0 {
		j.o.NoopRepeats = o.Repeats
	}
	if err := j.o.check(); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	var err error
	if j.dataset, err = evalrun.LoadDataset(ctx, app, o.Session, o.Dataset, datasets.Options{Split: o.Split, Family: o.Family}); err != nil {
		return nil, err
	}
	tasks, err := j.dataset.Select(o.IDs, o.Filter)
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	if j.out, err = output(o.Out, o.Dataset, evalrun.CalibrationPaths(o.Dataset, j.dataset)); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	if j.profile, err = evalrun.ProfileFor(o.Profile, tasks); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	if notice := datasets.Complete(tasks, j.profile.Recipe).Notice(); notice != "" {
		app.Note("%s", notice)
	}
	for _, t := range tasks {
		s := selected{Task: t}
		if s.digest, err = evalrun.TaskDigest(&t); err != nil {
			return nil, err
		}
		switch {
		case t.Patch == "" && t.Solution == nil:
			s.why = calibration.NoGoldPatch
		case datasets.Runnable(&t) != nil:
			s.why = calibration.NotRunnable
		}
		j.tasks = append(j.tasks, s)
	}
	j.noteLeftOut()
	if len(j.executable()) == 0 {
		return nil, cli.Usage("no selected task of %s can be calibrated", o.Dataset)
	}
	if err := j.profile.FitsAll(j.executable()); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return j, j.plan()
}

// output is the file to write. That it can be written is found out now, not after
// hours.
func output(given, dataset string, beside []string) (string, error) {
	out := given
	switch {
	case out != "":
	case len(beside) == 0:
		return "", fmt.Errorf("%s is no file or folder of this machine; say with -o where its calibration goes, and give it to eval with --calibration", dataset)
	default:
		out = beside[0]
	}
	if st, err := os.Stat(out); err == nil && !st.Mode().IsRegular() {
		return "", fmt.Errorf("-o %s: it is not a file", out)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return "", fmt.Errorf("-o %s: %w", out, err)
	}
	f, err := os.CreateTemp(filepath.Dir(out), ".calibration-*")
	if err != nil {
		return "", fmt.Errorf("-o %s: %w", out, err)
	}
	return out, errors.Join(f.Close(), os.Remove(f.Name()))
}

// plan names the runs: for each runtime the gold one and the unpatched one.
func (j *job) plan() error {
	tasks := j.executable()
	digest, err := datasets.Digest(tasks)
	if err != nil {
		return err
	}
	for _, runtime := range j.o.Runtimes {
		for _, c := range []struct {
			candidate string
			repeats   int
		}{{eval.CandidateGold, j.o.Repeats}, {eval.CandidateNoop, j.o.NoopRepeats}} {
			spec := eval.RunSpec{
				Dataset: j.dataset.Name, DatasetDigest: j.dataset.Digest, Split: j.dataset.Split,
				Candidate: c.candidate, Agent: c.candidate, Profile: j.profile.Name, Recipe: j.profile.Recipe,
				Limits: j.o.Limits, Network: eval.NetworkNone, Runtime: runtime, Attempts: c.repeats, Rounds: 1,
				Disclosure: "none", MaxInfraTries: j.o.MaxTries,
			}
			if spec.RunID, err = runID(spec, digest); err != nil {
				return err
			}
			spec.DatasetSource = j.dataset.Source
			spec.HarnessVersion, spec.CreatedAt = buildinfo.Version(), j.app.Now().UTC()
			j.runs = append(j.runs, cell{runtime: runtime, candidate: c.candidate, req: runs.Request{
				Spec: spec, Tasks: tasks, Patch: func(t *eval.Task) *string { return &t.Patch },
			}})
		}
	}
	return nil
}

// runID is the same for the same tasks under the same conditions, whichever build
// and whenever: so a calibration that was cut short goes on, and one that is done
// is not done again.
func runID(spec eval.RunSpec, tasks string) (string, error) {
	spec.CreatedAt, spec.HarnessVersion, spec.RunID = time.Time{}, "", ""
	data, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("name the runs of a calibration: %w", err)
	}
	sum := sha256.Sum256(append(data, tasks...))
	return fmt.Sprintf("calibrate-%.40s-%s-%x", spec.Runtime, spec.Candidate, sum[:8]), nil
}
