package evalrun

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"harness/activities"
	"harness/datasets"
	"harness/datasets/releasepinned"
	"harness/eval"
	"harness/internal/buildinfo"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/runs"
	"harness/internal/session"
	"harness/sandbox/image"
	"harness/scoring/grade"
)

// ImportReleasePinned turns rows that are pinned to releases into a dataset with
// images, and takes its test lists from gold and unpatched runs in them.
func ImportReleasePinned(ctx context.Context, app *cli.App, o ImportOptions) error {
	rows, err := readRows(o)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	if o.Out == "" {
		return cli.Usage("say with -o which folder the dataset is written to")
	}
	base, err := baseRecipe(o.BaseRecipe)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	index := image.NewPyPI(filepath.Join(o.Session.Home, "cache", "files"), app.Getenv)
	res, err := releasepinned.Import(ctx, rows, releasepinned.Options{
		Out: o.Out, Base: base, Index: index, FullOnly: o.Verified, Log: o.Session.Logger,
	})
	if err != nil {
		return err
	}
	app.Note("%s in %s, %s on %s of dependencies", cli.Count(len(res.Tasks), "task"), o.Out, cli.Count(res.Images, "image"), cli.Count(res.Layers, "set"))
	if o.NoFreeze {
		app.Note("test lists are the published ones; build the images with `harness image build %s`", filepath.Join(o.Out, releasepinned.ImagesDir))
		return nil
	}
	if err := buildImages(ctx, app, o); err != nil {
		return err
	}
	return freeze(ctx, app, o, res.Tasks)
}

func readRows(o ImportOptions) ([]releasepinned.Row, error) {
	f, err := os.Open(o.Source)
	if err != nil {
		return nil, fmt.Errorf("import release-pinned rows: %w", err)
	}
	defer f.Close()
	rows, err := releasepinned.ReadRows(f)
	if err != nil || len(o.IDs) == 0 {
		return rows, err
	}
	var out []releasepinned.Row
	for _, id := range o.IDs {
		i := slices.IndexFunc(rows, func(r releasepinned.Row) bool { return r.InstanceID == id })
		if i < 0 {
			return nil, fmt.Errorf("import release-pinned rows: %s has no row %q", o.Source, id)
		}
		out = append(out, rows[i])
	}
	return out, nil
}

// baseRecipe finds the harness's own Python base beside the program or below the
// current folder.
func baseRecipe(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	const rel = "deploy/images/python.yaml"
	candidates := []string{rel}
	if self, err := os.Executable(); err == nil {
		candidates = append(candidates, filepath.Join(filepath.Dir(filepath.Dir(self)), rel))
	}
	for _, c := range candidates {
		if _, err := os.Stat(c); err == nil {
			return c, nil
		}
	}
	return "", fmt.Errorf("the recipe of the Python base is at none of %q; name it with --base", candidates)
}

func buildImages(ctx context.Context, app *cli.App, o ImportOptions) (err error) {
	recipes, err := image.FindRecipes(filepath.Join(o.Out, releasepinned.ImagesDir))
	if err != nil {
		return err
	}
	s, err := session.OpenSandboxes(ctx, o.Session, session.Work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	b, err := s.Builder(ctx, "runsc", app.Getenv)
	if err != nil {
		return err
	}
	_, err = b.BuildAll(ctx, recipes, func(p image.Progress) {
		if p.Done && p.Err == nil && !p.Built.Cached {
			app.Note("[%d/%d] %s: built in %s", p.Index, p.Total, p.Recipe.Name, p.Duration.Round(100*time.Millisecond))
		}
	})
	return err
}

// freeze runs gold and no-op and writes the dataset with the observed lists. Its
// runs are runs like any other: they are stored, and an import that was cut short
// goes on with them.
func freeze(ctx context.Context, app *cli.App, o ImportOptions, tasks []eval.Task) error {
	digest, err := datasets.Digest(tasks)
	if err != nil {
		return err
	}
	profile, err := grade.ByName("swebench")
	if err != nil {
		return err
	}
	spec := eval.RunSpec{
		Dataset: filepath.Base(o.Out), DatasetDigest: digest, Profile: profile.Name, Recipe: profile.Recipe,
		Limits: eval.DefaultLimits(), Network: eval.NetworkNone, Runtime: "runsc", Attempts: max(1, o.Runs), Rounds: 1,
		Disclosure: "none", MaxInfraTries: 5, HarnessVersion: buildinfo.Version(), CreatedAt: app.Now().UTC(),
	}
	d := demandOf(runs.Request{Spec: spec, Tasks: tasks}, o.Out)
	s, err := open(ctx, o.Session, []string{spec.Runtime}, d)
	if err != nil {
		return err
	}
	return inSession(ctx, app, s, func() error {
		observed := map[string]*observation{}
		app.Note("observing gold and unpatched runs; until the lists are frozen, tests may be called otherwise than published, so these outcomes are no verdicts")
		for _, candidate := range []string{eval.CandidateGold, eval.CandidateNoop} {
			spec.Candidate, spec.Agent, spec.CreatedAt = candidate, candidate, app.Now().UTC()
			if spec.RunID, err = freezeID(spec); err != nil {
				return err
			}
			if err := observe(ctx, app, s, spec, d, tasks, observed); err != nil {
				return err
			}
		}
		return writeFrozen(ctx, app, o, tasks, observed)
	})
}

// freezeID is the same for the same tasks, conditions and build: an import that was
// cut short goes on with its runs, and a newer build observes anew.
func freezeID(spec eval.RunSpec) (string, error) {
	spec.CreatedAt, spec.RunID = time.Time{}, ""
	data, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("name the runs of an import: %w", err)
	}
	sum := sha256.Sum256(data)
	return fmt.Sprintf("freeze-%s-%x", spec.Candidate, sum[:8]), nil
}

// observation is what the runs saw of one task.
type observation struct {
	gold, noop []map[string]string
	image      string
	runtime    string
	ends       []eval.TrialResult // of runs that were not graded
}

func observe(ctx context.Context, app *cli.App, s *session.Session, spec eval.RunSpec, d demand, tasks []eval.Task, into map[string]*observation) error {
	p, err := runs.Plan(ctx, s.Store, runs.Request{Spec: spec, Tasks: tasks, Patch: func(t *eval.Task) *string { return &t.Patch }})
	if err != nil {
		return err
	}
	if err := carryOut(ctx, app, s, p, d, 0); err != nil {
		return err
	}
	for r, err := range activities.Results(ctx, s.Store, p.Spec) {
		if err != nil {
			return err
		}
		ob := into[r.InstanceID]
		if ob == nil {
			ob = &observation{}
			into[r.InstanceID] = ob
		}
		if len(r.Tests) == 0 {
			ob.ends = append(ob.ends, r)
			continue
		}
		seen := map[string]string{}
		for _, t := range r.Tests {
			// An expected name that the log does not have was not observed; the runner
			// may well have printed another form of it.
			if t.Status != grade.StatusMissing {
				seen[t.Name] = t.Status
			}
		}
		ob.image, ob.runtime = r.Exec.ImageDigest, r.Exec.Runtime
		if spec.Candidate == eval.CandidateGold {
			ob.gold = append(ob.gold, seen)
		} else {
			ob.noop = append(ob.noop, seen)
		}
	}
	return nil
}

// writeFrozen replaces the dataset. A task whose runs do not bear out its gold
// patch keeps its published lists and is named.
func writeFrozen(ctx context.Context, app *cli.App, o ImportOptions, tasks []eval.Task, observed map[string]*observation) error {
	out := make([]eval.Task, len(tasks))
	frozen := 0
	for i, t := range tasks {
		ob := observed[t.InstanceID]
		if ob == nil {
			return fmt.Errorf("freeze: the runs have no record of %s", t.InstanceID)
		}
		f, err := releasepinned.Freeze(t, ob.gold, ob.noop)
		if err != nil {
			for _, r := range ob.ends {
				err = errors.Join(err, fmt.Errorf("%s ended as %s: %s", r.TrialID, r.Outcome, r.Reason))
			}
			app.Note("not frozen: %s", escape.TerminalLines(err.Error()))
			out[i] = t
			continue
		}
		f.Frozen.ImageDigest, f.Frozen.Runtime = ob.image, ob.runtime
		out[i] = f
		frozen++
	}
	path := filepath.Join(o.Out, releasepinned.DatasetFile)
	if err := datasets.WriteFile(ctx, path, &datasets.Dataset{Name: o.Name, Tasks: out}); err != nil {
		return err
	}
	app.Note("test lists of %d of %d tasks frozen in %s", frozen, len(tasks), path)
	if frozen < len(tasks) {
		return &cli.ExitError{Code: cli.ExitFailure}
	}
	return nil
}
