package evalrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"harness/datasets"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/session"
)

// DatasetsDir is where datasets are kept that were imported by name.
func DatasetsDir(cfg session.Config) string { return filepath.Join(cfg.Home, "datasets") }

// DatasetPath is the file or folder that a person means: a path, or the name of
// an imported dataset.
func DatasetPath(cfg session.Config, given string) string {
	if _, err := os.Stat(given); err == nil || strings.ContainsRune(given, filepath.Separator) {
		return given
	}
	named := filepath.Join(DatasetsDir(cfg), given+".parquet")
	if _, err := os.Stat(named); err == nil {
		return named
	}
	return given
}

// ImportOptions of Import and ImportReleasePinned.
type ImportOptions struct {
	Session session.Config
	Source  string
	Out     string
	Name    string
	IDs     []string

	// Of ImportReleasePinned only.
	Verified   bool
	NoFreeze   bool
	Runs       int
	BaseRecipe string
}

// Import writes a dataset in its canonical form.
func Import(ctx context.Context, app *cli.App, o ImportOptions) error {
	ds, err := datasets.Load(ctx, o.Source, datasets.Options{Name: o.Name})
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	if ds.Tasks, err = ds.Select(o.IDs, ""); err != nil {
		return &cli.UsageError{Err: err}
	}
	out := o.Out
	if out == "" {
		if err := eval.ValidateRunID(ds.Name); err != nil {
			return cli.Usage("%q can't be the name of a dataset; give one with --name, or a file with -o", ds.Name)
		}
		out = filepath.Join(DatasetsDir(o.Session), ds.Name+".parquet")
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return fmt.Errorf("import dataset: %w", err)
	}
	if err := datasets.WriteFile(ctx, out, ds); err != nil {
		return err
	}
	digest, err := datasets.Digest(ds.Tasks)
	if err != nil {
		return err
	}
	app.Note("%s written to %s, digest %s", cli.Count(len(ds.Tasks), "task"), out, digest)
	return nil
}
