package evalrun

import (
	"context"
	"errors"
	"path/filepath"

	"harness/artifacts"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/runs/official"
)

// writeOfficial writes a run in the forms of the official harness and says where.
func writeOfficial(ctx context.Context, app *cli.App, store artifacts.Store, spec eval.RunSpec, o ReportOptions) error {
	if o.Official != "" {
		trees, err := official.Write(ctx, store, spec, o.Official, official.Options{Force: o.Force})
		if err != nil {
			return asWrittenWrong(err)
		}
		for _, t := range trees {
			where := func(name string) string { return escape.Terminal(filepath.Join(o.Official, filepath.FromSlash(name))) }
			app.Note("official logs of %s in %s; run report %s; predictions %s",
				cli.Count(t.Instances, "instance"), where(t.Logs), where(t.Report), where(t.Predictions))
		}
	}
	if o.Preds != "" {
		n, err := official.WritePredictions(ctx, store, spec, o.Preds, o.Force)
		if err != nil {
			return asWrittenWrong(err)
		}
		app.Note("%s in %s", cli.Count(n, "prediction"), escape.Terminal(o.Preds))
	}
	return nil
}

// asWrittenWrong makes a usage error of what the caller can do otherwise.
func asWrittenWrong(err error) error {
	if errors.Is(err, official.ErrNotExpressible) || errors.As(err, new(*official.ExistsError)) {
		return &cli.UsageError{Err: err}
	}
	return err
}
