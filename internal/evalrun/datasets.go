package evalrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"harness/datasets"
	"harness/datasets/fetch"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
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

// LoadDataset loads what a person means by given: a path, the name of an imported
// dataset, or an address, which is fetched. What is wrong with the dataset or the
// address is a usage error.
func LoadDataset(ctx context.Context, app *cli.App, cfg session.Config, given string, opts datasets.Options) (*datasets.Dataset, error) {
	path, opts, err := locate(ctx, app, cfg, given, opts)
	if err != nil {
		return nil, err
	}
	ds, err := datasets.Load(ctx, path, opts)
	if err != nil {
		return nil, datasetError(ctx, err)
	}
	return ds, nil
}

// ValidateDataset is LoadDataset for datasets.Validate.
func ValidateDataset(ctx context.Context, app *cli.App, cfg session.Config, given string, opts datasets.Options) (*datasets.Dataset, []datasets.Problem, error) {
	path, opts, err := locate(ctx, app, cfg, given, opts)
	if err != nil {
		return nil, nil, err
	}
	ds, problems, err := datasets.Validate(ctx, path, opts)
	if err != nil {
		return nil, nil, datasetError(ctx, err)
	}
	return ds, problems, nil
}

// ListDataset names the splits that given offers, without reading them.
func ListDataset(ctx context.Context, app *cli.App, cfg session.Config, given string) ([]fetch.Item, error) {
	if fetch.IsAddress(given) {
		items, err := fetcher(app, cfg).List(ctx, given)
		return items, addressError(err)
	}
	path := DatasetPath(cfg, given)
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		return nil, cli.Usage("%s is a file, and holds one split; `harness dataset show` lists its tasks", given)
	}
	names, err := datasets.Splits(path)
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	var items []fetch.Item
	for _, n := range names {
		items = append(items, fetch.Item{Split: n, Address: path})
	}
	return items, nil
}

// locate brings what given means onto this machine.
func locate(ctx context.Context, app *cli.App, cfg session.Config, given string, opts datasets.Options) (string, datasets.Options, error) {
	if !fetch.IsAddress(given) {
		return DatasetPath(cfg, given), opts, nil
	}
	got, err := fetcher(app, cfg).Fetch(ctx, given, opts.Split)
	if err != nil {
		return "", opts, addressError(err)
	}
	if opts.Name == "" {
		opts.Name = got.Name
	}
	opts.Files, opts.Split, opts.Source = got.Files, got.Split, got.Source
	return got.Dir, opts, nil
}

// fetcher keeps what it fetches below the data folder. The variables are those
// that Hugging Face's own tools read.
func fetcher(app *cli.App, cfg session.Config) *fetch.Fetcher {
	offline := false
	switch strings.ToUpper(app.Getenv("HF_HUB_OFFLINE")) {
	case "1", "ON", "YES", "TRUE":
		offline = true
	}
	return &fetch.Fetcher{
		Dir:      filepath.Join(cfg.Home, "cache", "datasets"),
		Endpoint: app.Getenv("HF_ENDPOINT"), Token: app.Getenv("HF_TOKEN"), Offline: offline,
		Objects: cfg.OpenObjects,
		Note:    func(text string) { app.Note("%s", escape.Terminal(text)) },
	}
}

// addressError makes a usage error of what another address would put right.
func addressError(err error) error {
	if errors.As(err, new(*fetch.AddressError)) {
		return &cli.UsageError{Err: err}
	}
	return err
}

func datasetError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return &cli.UsageError{Err: err}
}

// ImportOptions of Import and ImportReleasePinned.
type ImportOptions struct {
	Session session.Config
	JSON    bool
	Source  string
	Split   string
	Family  string // "" finds it out
	Out     string
	Name    string
	IDs     []string
	Filter  string
	// Pictures fetches those that tasks need and only name by address.
	Pictures bool

	// Of ImportReleasePinned only.
	Verified   bool
	NoFreeze   bool
	Runs       int
	BaseRecipe string
}

// Import writes a dataset in its canonical form. A dataset with a problem is not
// imported, and a file takes its name only when it is whole.
func Import(ctx context.Context, app *cli.App, o ImportOptions) error {
	if o.Out != "" {
		if err := datasets.CheckFileName(o.Out); err != nil {
			return &cli.UsageError{Err: err}
		}
	}
	ds, err := LoadDataset(ctx, app, o.Session, o.Source, datasets.Options{Name: o.Name, Split: o.Split, Family: o.Family})
	if err != nil {
		return err
	}
	if ds.Tasks, err = ds.Select(o.IDs, o.Filter); err != nil {
		return &cli.UsageError{Err: err}
	}
	if o.Pictures {
		if err := fetchPictures(ctx, app, fetcher(app, o.Session), ds.Tasks, o.Filter); err != nil {
			return err
		}
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
	if o.JSON {
		return app.JSON(map[string]any{"dataset": ds.Name, "tasks": len(ds.Tasks), "digest": digest, "path": out, "source": ds.Source})
	}
	app.Note("%s written to %s, digest %s", cli.Count(len(ds.Tasks), "task"), out, digest)
	return nil
}
