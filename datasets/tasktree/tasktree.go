package tasktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"harness/datasets/internal/tree"
)

// Files of a repository.
const (
	configFile = "sweb.yaml"
	tasksDir   = "tasks"
	taskFile   = "task.yaml"
	testsFile  = "tests.json"
	assetsDir  = "test_assets"
)

// deprecated is the split of tasks that are kept but never published.
const deprecated = "deprecated"

// config is sweb.yaml.
type config struct {
	Datasets []string `yaml:"datasets"`
	Splits   []string `yaml:"splits"`
}

// Is reports whether dir looks like a task repository: by its sweb.yaml, or by
// its first task.
func Is(dir string) bool {
	f, err := tree.Open(dir, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	if f.Has(configFile) {
		return true
	}
	ids, err := f.Folders(tasksDir)
	return err == nil && len(ids) > 0 && isTask(f, path.Join(tasksDir, ids[0]))
}

func isTask(f *tree.Folder, dir string) bool {
	return f.Has(path.Join(dir, taskFile)) && f.Has(path.Join(dir, testsFile))
}

// Load hands each task of the repository at dir to add, in the order of their
// ids, with what is wrong with it. opts.Split chooses: a split ("dev"), a dataset
// by its short name ("SWE-bench_Lite"), or one of the other ("SWE-bench_Lite/dev").
// Without it a task is taken when sweb.yaml publishes its split.
func Load(ctx context.Context, dir string, opts tree.Options, add func(tree.Loaded) error) error {
	f, err := opts.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	cfg, err := readConfig(f)
	if err != nil {
		return err
	}
	ids, err := f.Folders(tasksDir)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	found := false
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, meta, err := readTask(f, id)
		if err != nil {
			return err
		}
		l.Problems = append(l.Problems, cfg.check(f, id, meta)...)
		for _, word := range meta.words() {
			seen[word] = true
		}
		if !cfg.wants(meta, opts.Split) {
			continue
		}
		found = true
		if err := add(l); err != nil {
			return err
		}
	}
	if !found && len(ids) > 0 && opts.Split == "" {
		return fmt.Errorf("none of its tasks is of a split that %s publishes; there is %s: choose with --split", configFile, list(seen))
	}
	if !found && len(ids) > 0 {
		return fmt.Errorf("%w %q; there is %s", tree.ErrNoSplit, opts.Split, list(seen))
	}
	return nil
}

// Splits names the splits and datasets that the repository publishes.
func Splits(dir string) ([]string, error) {
	f, err := tree.Open(dir, tree.MaxConfigBytes)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	cfg, err := readConfig(f)
	return cfg.Splits, err
}

// readConfig reads sweb.yaml. A folder of tasks without one publishes them all.
func readConfig(f *tree.Folder) (config, error) {
	var c config
	err := f.YAML(configFile, &c)
	if errors.Is(err, fs.ErrNotExist) {
		return config{}, nil
	}
	if err == nil && len(c.Splits) == 0 {
		c.Splits = []string{"test"} // the default of the form
	}
	return c, err
}

// check compares a task with what the repository says of itself.
func (c config) check(f *tree.Folder, id string, m meta) []tree.Problem {
	var out []tree.Problem
	warn := func(field, reason, fix string) {
		out = append(out, tree.Problem{File: f.Path(path.Join(tasksDir, id, taskFile)), Field: field, Reason: reason, Fix: fix, Warning: true})
	}
	if len(c.Splits) > 0 && m.Split != "" && m.Split != deprecated && !slices.Contains(c.Splits, m.Split) {
		warn("split", fmt.Sprintf("%q is not among the splits of %s, so the task is not published", m.Split, configFile), "add it there")
	}
	for _, d := range m.Datasets {
		if len(c.Datasets) > 0 && !slices.Contains(c.Datasets, d) {
			warn("datasets", fmt.Sprintf("%q is not among the datasets of %s", d, configFile), "add it there")
		}
	}
	return out
}

// wants reports whether the task belongs to what was asked for. One that can't
// be read belongs to everything: it must not get lost silently.
func (c config) wants(m meta, split string) bool {
	switch {
	case m.unread:
		return true
	case split != "":
		return slices.Contains(m.words(), split)
	case m.Split == deprecated:
		return false
	case len(c.Splits) == 0:
		return true
	}
	return slices.Contains(c.Splits, m.Split)
}

// words are the values of opts.Split that mean the task.
func (m meta) words() []string {
	out := []string{}
	if m.Split != "" {
		out = append(out, m.Split)
	}
	for _, d := range m.Datasets {
		short := path.Base(d)
		out = append(out, short)
		if m.Split != "" {
			out = append(out, short+"/"+m.Split)
		}
	}
	return out
}

func list(words map[string]bool) string {
	var names []string
	for w := range words {
		names = append(names, w)
	}
	slices.Sort(names)
	const most = 20
	if len(names) > most {
		names = append(names[:most], "more")
	}
	if len(names) == 0 {
		return "none at all"
	}
	return strings.Join(names, ", ")
}
