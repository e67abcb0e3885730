package official

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
	"harness/scoring/grade"
)

// Where things are below the folder, and how they are named.
const (
	logsDir      = "logs/run_evaluation"
	fileRun      = "run.json"
	fileInstance = "run_instance.log"
	filePatch    = "patch.diff"
	fileEval     = "eval.sh"
	fileOutput   = "test_output.txt"
	fileReport   = "report.json"

	maxName = 255 // bytes that file systems take
)

// Options of Write.
type Options struct {
	// Force replaces what an earlier Write of the same run left. Otherwise
	// anything that is in the way is an error, and is left as it is.
	Force bool
}

// Tree is one attempt of a run as it was written. Paths are relative to the folder.
type Tree struct {
	Run         string // its name in the official layout
	Logs        string // folder of the instances
	Report      string // the run report
	Predictions string
	Instances   int // folders of instances
}

// ErrNotExpressible: the official harness has no way to say what the run is.
var ErrNotExpressible = errors.New("it can't be written as the official harness writes runs")

// ExistsError: something is in the way.
type ExistsError struct {
	Path string
	// Other: it is nothing that was ever written there, and is never replaced.
	Other bool
}

func (e *ExistsError) Error() string {
	if e.Other {
		return e.Path + " exists already and is not what would be written there; choose another place"
	}
	return e.Path + " exists already; choose another place, or replace it with --force"
}

// inTheWay judges what stands where a folder or a file is to be written; info and
// err are what Lstat says of it.
func inTheWay(target string, info fs.FileInfo, err error, folder, force bool) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir() != folder || !folder && !info.Mode().IsRegular():
		return &ExistsError{Path: target, Other: true}
	case !force:
		return &ExistsError{Path: target}
	}
	return nil
}

// Write writes a run into a folder, which is made if need be. The official
// harness knows one attempt a task: further attempts become runs of their own,
// "<run>.a1" and on. Trials that have no result yet have no folder and count as
// errors, as they would there.
//
// Everything is made beside its place and moved there at the end.
func Write(ctx context.Context, store artifacts.Store, spec eval.RunSpec, dir string, o Options) ([]Tree, error) {
	trees, err := write(ctx, store, spec, dir, o)
	if err != nil {
		return nil, fmt.Errorf("write run %s for the official harness into %s: %w", spec.RunID, dir, err)
	}
	return trees, nil
}

func write(ctx context.Context, store artifacts.Store, spec eval.RunSpec, dir string, o Options) (_ []Tree, err error) {
	model, err := modelOf(spec)
	if err != nil {
		return nil, err
	}
	profile, err := grade.ByName(spec.Profile)
	if err != nil {
		return nil, err
	}
	entries, err := entriesOf(ctx, store, spec)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()

	w := &writer{
		store: store, spec: spec, root: root, force: o.Force,
		labels: profile.Rules.InfraLabels, model: model, entries: entries,
	}
	if err := w.plan(); err != nil {
		return nil, err
	}
	for _, a := range w.runs {
		for i, target := range a.targets() {
			if err := w.free(i, target); err != nil {
				return nil, err
			}
		}
	}
	w.stage = ".harness-official-" + strings.ToLower(rand.Text())
	if err := root.Mkdir(w.stage, 0o755); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.RemoveAll(w.stage)) }()
	if err := w.fill(ctx); err != nil {
		return nil, err
	}
	return w.publish()
}

// writer writes one run.
type writer struct {
	store   artifacts.Store
	spec    eval.RunSpec
	root    *os.Root
	stage   string
	force   bool
	labels  bool // the rules have the fields of release 5
	model   string
	entries map[string]eval.ShardEntry
	runs    []*attempt // by attempt
}

// attempt is one attempt of every task: a run to the official harness.
type attempt struct {
	Tree
	model string // the model as it names files
	stage string
	preds *predictionsFile
	count tally
}

// modelOf is what a run's predictions name as their model.
func modelOf(spec eval.RunSpec) (string, error) {
	if spec.Candidate == eval.CandidateNoop {
		return "", fmt.Errorf("%w: a no-op run has no predictions", ErrNotExpressible)
	}
	model := spec.Model
	if model == "" {
		model = spec.Agent
	}
	return model, eval.ValidateModelName(model)
}

// plan names everything that will be written.
func (w *writer) plan() error {
	file := strings.ReplaceAll(w.model, "/", "__")
	for n := 1; n <= w.spec.Attempts; n++ {
		a := &attempt{model: file, Tree: Tree{Run: w.spec.RunID, Predictions: "preds.jsonl"}}
		if w.spec.Attempts > 1 {
			a.Run = fmt.Sprintf("%s.a%d", w.spec.RunID, n)
			a.Predictions = fmt.Sprintf("preds.a%d.jsonl", n)
		}
		a.Logs = path.Join(logsDir, a.Run, file)
		a.Report = file + "." + a.Run + ".json"
		if len(a.Report) > maxName {
			return fmt.Errorf("model name and run id make a file name of %d bytes, at most %d are possible: %s", len(a.Report), maxName, a.Report)
		}
		if file == fileRun {
			return fmt.Errorf("%w: a model named %q has its logs where the run's own %s is", ErrNotExpressible, w.model, fileRun)
		}
		a.count = tally{labels: w.labels, spec: &w.spec}
		w.runs = append(w.runs, a)
	}
	return nil
}

// targets are what is written, and stageNames the same in the staging folder.
func (a *attempt) targets() [4]string {
	return [...]string{a.Logs, path.Join(logsDir, a.Run, fileRun), a.Predictions, a.Report}
}

var stageNames = [4]string{"logs", "run", "preds", "report"}

// free refuses to write over anything, unless that is wanted.
func (w *writer) free(i int, target string) error {
	info, err := w.root.Lstat(target)
	return inTheWay(target, info, err, stageNames[i] == "logs", w.force)
}

// fill makes everything in the staging folder.
func (w *writer) fill(ctx context.Context) (err error) {
	for n, a := range w.runs {
		a.stage = path.Join(w.stage, fmt.Sprint(n+1))
		if err := w.root.MkdirAll(path.Join(a.stage, "logs"), 0o755); err != nil {
			return err
		}
		f, err := w.create(path.Join(a.stage, "preds"))
		if err != nil {
			return err
		}
		a.preds = newPredictionsFile(f, w.model, w.spec.Coverage.Null)
		defer func() { err = errors.Join(err, a.preds.close()) }()
	}
	if err := lastRounds(activities.Results(ctx, w.store, w.spec), func(t eval.TrialResult) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if t.Attempt < 1 || t.Attempt > len(w.runs) {
			return fmt.Errorf("the record of %s is of an attempt that the run does not have", t.TrialID)
		}
		return w.trial(ctx, w.runs[t.Attempt-1], t)
	}); err != nil {
		return err
	}
	for _, a := range w.runs {
		if err := a.preds.close(); err != nil {
			return err
		}
		report, err := a.count.encode()
		if err != nil {
			return err
		}
		if err := w.put(path.Join(a.stage, "report"), report); err != nil {
			return err
		}
		run, err := w.runFile()
		if err != nil {
			return err
		}
		if err := w.put(path.Join(a.stage, "run"), run); err != nil {
			return err
		}
	}
	return nil
}

// publish moves what was made to its place, the run report last: a tree with one
// is whole. What is replaced goes the other way, and then with the staging folder.
func (w *writer) publish() ([]Tree, error) {
	var trees []Tree
	for _, a := range w.runs {
		if err := w.root.MkdirAll(path.Join(logsDir, a.Run), 0o755); err != nil {
			return nil, err
		}
		for i, target := range a.targets() {
			if err := w.free(i, target); err != nil {
				return nil, err
			}
			err := w.root.Rename(target, path.Join(a.stage, "old-"+stageNames[i]))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if err := w.root.Rename(path.Join(a.stage, stageNames[i]), target); err != nil {
				return nil, err
			}
		}
		trees = append(trees, a.Tree)
	}
	return trees, nil
}

// create makes a new file; one that is there is an error.
func (w *writer) create(name string) (*os.File, error) {
	return w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

func (w *writer) put(name string, data []byte) error {
	f, err := w.create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
