package official

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"harness/activities"
	"harness/artifacts"
	"harness/datasets"
	"harness/eval"
	"harness/scoring/grade"
	"harness/scoring/logparse"
)

const (
	maxTaskBytes  = 64 << 20
	maxPatchBytes = 256 << 20
)

// trial writes one trial: its prediction, its folder if it got as far as a
// sandbox, and what the run report counts.
func (w *writer) trial(ctx context.Context, a *attempt, t eval.TrialResult) error {
	e, ok := w.entries[t.InstanceID]
	if !ok {
		return fmt.Errorf("the record of %s is of a task that the run does not have", t.TrialID)
	}
	patch, err := w.patch(ctx, e, t)
	if err != nil {
		return fmt.Errorf("patch of %s: %w", t.TrialID, err)
	}
	if err := a.preds.add(t.InstanceID, patch); err != nil {
		return err
	}
	c := counted{id: t.InstanceID, empty: len(patch) == 0}
	if c.empty && ran(t.Outcome) {
		return fmt.Errorf("%w: %s was evaluated without a patch", ErrNotExpressible, t.TrialID)
	}
	if !c.empty && t.ErrorClass != activities.ClassNotFinished {
		if err := w.folder(ctx, a, t, e, patch, &c); err != nil {
			return fmt.Errorf("%s: %w", t.TrialID, err)
		}
		a.Instances++
	}
	a.count.add(c)
	return nil
}

// patch reads what was graded: the patch of the round, or the one of the plan.
func (w *writer) patch(ctx context.Context, e eval.ShardEntry, t eval.TrialResult) ([]byte, error) {
	ref, ok := t.Artifacts[eval.FilePatch]
	if !ok {
		if e.Patch == nil {
			return nil, nil
		}
		ref = *e.Patch
	}
	return artifacts.GetRef(ctx, w.store, ref, maxPatchBytes)
}

// folder writes the folder of an instance, with the files of the steps that the
// trial got to.
func (w *writer) folder(ctx context.Context, a *attempt, t eval.TrialResult, e eval.ShardEntry, patch []byte, c *counted) error {
	dir := path.Join(a.stage, "logs", t.InstanceID)
	if err := w.root.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := w.put(path.Join(dir, filePatch), patch); err != nil {
		return err
	}
	log := instanceLog{t: &t, version: w.spec.HarnessVersion, timeout: t.Limits.WallSeconds}
	var err error
	if log.apply, err = w.small(ctx, t, eval.FileApplyLog); err != nil {
		return err
	}
	if ref, ok := t.Artifacts[eval.FileLog]; ok && ran(t.Outcome) {
		log.ran = true
		if err := w.tests(ctx, dir, e, ref); err != nil {
			return err
		}
	}
	official, err := report(t)
	if err != nil {
		return err
	}
	if official != nil {
		c.report, c.resolved = true, official.Resolved
		data, err := pyJSON(map[string]*eval.OfficialReport{t.InstanceID: official})
		if err != nil {
			return err
		}
		if err := w.put(path.Join(dir, fileReport), data); err != nil {
			return err
		}
		log.report = data
	}
	text := log.text()
	if err := w.put(path.Join(dir, fileInstance), text); err != nil {
		return err
	}
	if w.labels && !c.resolved {
		c.reason, c.environment, err = w.label(dir, log.ran)
	}
	return err
}

// ran tells whether a trial with this outcome got as far as its tests.
func ran(o eval.Outcome) bool {
	return o != eval.PatchNotApplied && o != eval.PatchRejected && o != eval.EmptyPatch && o != eval.InfraError && o != eval.Cancelled
}

// report is what the run's own rules have as the official report, nil where the
// official harness would have written none.
func report(t eval.TrialResult) (*eval.OfficialReport, error) {
	var r *eval.OfficialReport
	if len(t.Verdicts) > 0 {
		r = t.Verdicts[0].Official
	}
	if r == nil && (t.Outcome == eval.Resolved || t.Outcome == eval.Unresolved) {
		return nil, fmt.Errorf("%w: its rules have no report of the official form", ErrNotExpressible)
	}
	return r, nil
}

// tests writes the script as it was run and what it printed.
func (w *writer) tests(ctx context.Context, dir string, e eval.ShardEntry, log eval.Ref) (err error) {
	data, err := artifacts.GetRef(ctx, w.store, e.Task, maxTaskBytes)
	if err != nil {
		return err
	}
	task, err := datasets.ParseTask(data)
	if err != nil {
		return err
	}
	if err := w.put(path.Join(dir, fileEval), []byte(grade.PrepareScript(&task, w.spec.Recipe))); err != nil {
		return err
	}
	r, err := activities.OpenLog(ctx, w.store, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	f, err := w.create(path.Join(dir, fileOutput))
	if err != nil {
		return err
	}
	return errors.Join(copyText(f, r), f.Close())
}

// small reads an artifact that is never large, nil when there is none.
func (w *writer) small(ctx context.Context, t eval.TrialResult, name string) ([]byte, error) {
	ref, ok := t.Artifacts[name]
	if !ok {
		return nil, nil
	}
	data, err := artifacts.GetRef(ctx, w.store, ref, maxTaskBytes)
	return logparse.Decode(data), err
}

// label classifies a failure by what was written, as the official run report does.
func (w *writer) label(dir string, output bool) (reason string, environment bool, err error) {
	var texts []io.Reader
	for _, name := range []string{fileOutput, fileInstance} {
		if name == fileOutput && !output {
			continue
		}
		f, err := w.root.Open(path.Join(dir, name))
		if err != nil {
			return "", false, err
		}
		defer func() { _ = f.Close() }()
		if len(texts) > 0 {
			texts = append(texts, newline())
		}
		texts = append(texts, f)
	}
	return grade.InfraLabel(logparse.TextMode(io.MultiReader(texts...)))
}
