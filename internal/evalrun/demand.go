package evalrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"harness/activities"
	"harness/artifacts"
	"harness/datasets"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/runs"
	"harness/internal/session"
	"harness/worker"
)

// demand is what the trials of a run ask of a machine.
type demand struct {
	limits []eval.Limits // of each trial
	images []string      // each once, in order of first use
	recipe string        // folder from which the images can be built, "" when not known
}

func (d *demand) add(t *eval.Task, spec eval.RunSpec, seen map[string]bool) {
	for range spec.Attempts {
		d.limits = append(d.limits, t.Limits.Apply(spec.Limits))
	}
	if !seen[t.Image] {
		seen[t.Image] = true
		d.images = append(d.images, t.Image)
	}
}

// slots is how many trials of the run this machine can execute at once.
func (d *demand) slots() int { return max(1, worker.SlotsFor(d.limits)) }

func demandOf(req runs.Request, dataset string) demand {
	var d demand
	seen := map[string]bool{}
	for i := range req.Tasks {
		d.add(&req.Tasks[i], req.Spec, seen)
	}
	// A folder of a dataset may bring its recipes.
	dir := filepath.Join(dataset, "images")
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		d.recipe = dir
	}
	return d
}

const taskReaders = 16

// storedDemand reads the tasks of a stored run.
func storedDemand(ctx context.Context, store artifacts.Store, spec eval.RunSpec) (demand, error) {
	var refs []eval.Ref
	known := map[string]bool{}
	for _, ref := range spec.Shards {
		shard, err := activities.LoadShard(ctx, store, ref)
		if err != nil {
			return demand{}, fmt.Errorf("read run %s: %w", spec.RunID, err)
		}
		for _, e := range shard.Entries {
			if !known[e.Task.Key] {
				known[e.Task.Key] = true
				refs = append(refs, e.Task)
			}
		}
	}
	tasks := make([]eval.Task, len(refs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(taskReaders)
	for i, ref := range refs {
		g.Go(func() error {
			data, err := artifacts.GetRef(ctx, store, ref, maxTaskBytes)
			if err != nil {
				return fmt.Errorf("read a task of run %s: %w", spec.RunID, err)
			}
			t, err := datasets.ParseTask(data)
			// The rest of a task is of no interest here, and may be large.
			tasks[i] = eval.Task{Image: t.Image, Limits: t.Limits}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return demand{}, err
	}
	var d demand
	seen := map[string]bool{}
	for i := range tasks {
		d.add(&tasks[i], spec, seen)
	}
	return d, nil
}

const maxTaskBytes = 64 << 20

// remoteWindow is how many trials of a run wait for workers elsewhere, whose
// number is not known here.
const remoteWindow = 200

// parallel is how a run uses the machine.
type parallel struct {
	atOnce int  // trials executed at once; 0 when only workers elsewhere know
	window int  // trials in flight
	capped bool // below the slots of the stack that is up, since more do not fit
}

func (d *demand) parallel(kind session.Kind, slots, asked int) parallel {
	if slots == 0 {
		if asked == 0 {
			asked = remoteWindow
		}
		return parallel{window: asked}
	}
	// A further trial is kept ready for each slot, so that none waits for Temporal.
	window := asked
	if window == 0 {
		window = 2 * slots
	}
	// The slots of a stack that is up were computed for other limits than this
	// run's, so here the window has to keep within what the machine has.
	fit := d.slots()
	capped := kind == session.Local && fit < min(slots, window, len(d.limits))
	if capped {
		slots, window = fit, fit
	}
	return parallel{min(slots, window, len(d.limits)), min(window, len(d.limits)), capped}
}

// announce says what is about to be done and returns the window.
func announce(app *cli.App, s *session.Session, p runs.Planned, d demand, asked int) int {
	verb := "run"
	if p.Existed {
		verb = "going on with run"
	}
	spec := &p.Spec
	app.Note("%s %s: %s of %s, candidate %s, profile %s, runtime %s", verb, spec.RunID, cli.Count(spec.Entries, "trial"),
		escape.Terminal(spec.Dataset), escape.Terminal(spec.Agent), spec.Profile, spec.Runtime)
	par := d.parallel(s.Kind, s.Slots(), asked)
	if par.atOnce > 0 {
		app.Note("%s at once (%s), %s in flight", cli.Count(par.atOnce, "sandbox"), d.describe(spec.Limits), cli.Count(par.window, "trial"))
	}
	if par.capped {
		app.Note("note: the stack that is up has %d slots; this run uses %d of them, since no more sandboxes of its size fit into this machine", s.Slots(), par.atOnce)
	}
	if s.Kind != session.Remote && worker.SlotsFor(d.limits) == 0 {
		app.Note("warning: a sandbox of this run may take more cores or memory than this machine has; it can be slow, or run out of memory through no fault of the candidate's")
	}
	if s.UI != "" {
		app.Note("watch it at %s/namespaces/default/workflows?query=RunID%%3D%%22%s%%22", s.UI, spec.RunID)
	}
	return par.window
}

func (d *demand) describe(run eval.Limits) string {
	text := fmt.Sprintf("%s, %s each", cli.Count(run.CPUs, "core"), cli.Size(run.MemoryBytes))
	for _, l := range d.limits {
		if l.CPUs != run.CPUs || l.MemoryBytes != run.MemoryBytes {
			return text + "; some tasks differ"
		}
	}
	return text
}

// warnOfImages names images that are not there before anything slow begins. The
// run goes on: its other trials need not wait for that.
func warnOfImages(ctx context.Context, app *cli.App, s *session.Session, d demand) error {
	missing, err := s.MissingImages(ctx, d.images)
	if err != nil || len(missing) == 0 {
		return err
	}
	const most = 5
	named := missing[:min(most, len(missing))]
	text := escape.Terminal(strings.Join(named, ", "))
	if n := len(missing) - len(named); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	todo := "make them with `harness image build RECIPE|FOLDER` or `harness image import ARCHIVE`"
	if d.recipe != "" {
		todo = fmt.Sprintf("make them with `harness image build %s`", d.recipe)
	}
	app.Note("warning: %d of %d images are not on this machine (%s); their trials will end as infra_error: %s, then `harness resume`", len(missing), len(d.images), text, todo)
	return nil
}
