package evalrun

import (
	"context"
	"fmt"
	"os"
	"strings"

	"harness/datasets"
	"harness/datasets/predictions"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/runs"
)

// candidate fills in where the patches come from.
func (o *Options) candidate(ctx context.Context, app *cli.App, ds *datasets.Dataset, req *runs.Request) error {
	spec := &req.Spec
	switch {
	case o.Gold:
		spec.Candidate, spec.Agent = eval.CandidateGold, eval.CandidateGold
		req.Patch = func(t *eval.Task) *string { return &t.Patch }
	case o.Noop:
		spec.Candidate, spec.Agent = eval.CandidateNoop, eval.CandidateNoop
	default:
		if _, err := os.Stat(o.Predictions); err != nil {
			return &cli.UsageError{Err: fmt.Errorf("read predictions: %w", err)}
		}
		file, err := predictions.Load(ctx, o.Predictions, predictions.Options{Format: o.Format, Model: o.Model})
		if err != nil {
			return &cli.UsageError{Err: err}
		}
		if o.Format == "" && file.Dialect != predictions.Builtin()[0].Name {
			app.Note("predictions: read as %s (--format says otherwise)", file.Dialect)
		}
		spec.Candidate, spec.Agent, spec.Model = eval.CandidatePredictions, file.Model, file.Model
		spec.Coverage = file.Cover(ds.Tasks, req.Tasks)
		near := file.Near(ds.Tasks)
		noteCoverage(app, spec.Coverage, near)
		req.Patch = func(t *eval.Task) *string { return file.ByID[t.InstanceID].Patch }
		// As in the official harness: a task without a prediction is not run, and
		// shows as incomplete.
		req.Tasks = predicted(req.Tasks, file)
		if len(req.Tasks) == 0 {
			hint := ""
			if len(near) > 0 {
				hint = "; some of its ids are nearly those of the dataset, see above: write them as the dataset does"
			}
			return cli.Usage("%s has no prediction for any selected task of %s%s", o.Predictions, o.Dataset, hint)
		}
	}
	return nil
}

// noteCoverage says before anything runs what of the predictions will not count as
// it was given.
func noteCoverage(app *cli.App, c eval.Coverage, near map[string][]string) {
	for _, n := range []struct {
		list      []string
		one, many string
	}{
		{c.Missing, "selected task has no prediction", "selected tasks have no prediction"},
		{c.Duplicate, "id has several predictions; the last one counts", "ids have several predictions; the last one of each counts"},
		{withNear(c.Unknown, near), "prediction is for an id that the dataset does not have", "predictions are for ids that the dataset does not have"},
		{c.Malformed, "record can't be read as a prediction", "records can't be read as predictions"},
	} {
		switch len(n.list) {
		case 0:
		case 1:
			app.Note("predictions: 1 %s: %s", n.one, some(n.list))
		default:
			app.Note("predictions: %d %s: %s", len(n.list), n.many, some(n.list))
		}
	}
}

// withNear adds to unknown ids those of the dataset that they may stand for, and
// puts these first.
func withNear(unknown []string, near map[string][]string) []string {
	var first, rest []string
	for _, id := range unknown {
		if ids := near[id]; len(ids) > 0 {
			first = append(first, fmt.Sprintf("%s (it has %s)", id, strings.Join(ids, ", ")))
		} else {
			rest = append(rest, id)
		}
	}
	return append(first, rest...)
}

// some names the first few of a list.
func some(list []string) string {
	const most = 3
	text := strings.Join(list[:min(most, len(list))], ", ")
	if n := len(list) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return escape.Terminal(escape.Cut(text, 300))
}

func predicted(tasks []eval.Task, file *predictions.File) []eval.Task {
	var out []eval.Task
	for _, t := range tasks {
		if _, ok := file.ByID[t.InstanceID]; ok {
			out = append(out, t)
		}
	}
	return out
}
