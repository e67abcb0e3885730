package datasets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"harness/datasets/internal/layout"
	"harness/datasets/internal/source"
)

// location is what a path given by the user stands for.
type location struct {
	path        string      // as people know it: the file, or the folder of several
	name, split string      // "" when nothing says them
	files       []string    // to be read one after the other
	tasks       *taskFolder // for a folder whose tasks are folders
}

// knownSplits are file names that name a split rather than a dataset.
var knownSplits = []string{"test", "dev", "train", "validation", "val"}

const knownNames = ".jsonl, .json, .csv or .parquet"

func resolve(path string, opts Options) (location, error) {
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return location{}, absent(path)
		}
		return location{}, fmt.Errorf("load dataset: %w", err)
	}
	switch {
	case info.IsDir() && len(opts.Files) > 0:
		return resolveFiles(path, opts)
	case info.IsDir():
		return resolveDir(path, opts.Split)
	}
	return resolveFile(path, opts.Split)
}

func absent(path string) error {
	return fmt.Errorf("load dataset: %s does not exist; give a %s file (.gz and .zst too), a directory with one, the name of an imported dataset, or an address (hf://org/name, s3://bucket/prefix): %w", path, knownNames, os.ErrNotExist)
}

func resolveFile(path, split string) (location, error) {
	n := source.ParseName(path)
	if n.Format == "" {
		return location{}, fmt.Errorf("load dataset %s: the file name does not say what it holds; name it %s, and .gz or .zst behind that when compressed", path, knownNames)
	}
	loc := location{path: path, name: n.Stem, split: split, files: []string{path}}
	own := n.Stem
	if s, index, of, ok := layout.Shard(n.Stem); ok {
		if of != 1 {
			return location{}, fmt.Errorf("load dataset %s: the file is shard %d of %d only; give the directory that holds all of them", path, index, of)
		}
		own = s
	}
	if slices.Contains(knownSplits, own) {
		if split != "" && split != own {
			return location{}, fmt.Errorf("load dataset %s: the file holds split %q, not %q", path, own, split)
		}
		loc.split = own
		loc.name = dirName(filepath.Dir(path))
	}
	return loc, nil
}

// resolveFiles is for files that somebody else has looked up.
func resolveFiles(dir string, opts Options) (location, error) {
	loc := location{path: dir, name: dirName(dir), split: opts.Split}
	for _, f := range opts.Files {
		if !filepath.IsLocal(f) {
			return location{}, fmt.Errorf("load dataset %s: file %q is outside of it", dir, f)
		}
		loc.files = append(loc.files, filepath.Join(dir, f))
	}
	if len(loc.files) == 1 {
		loc.path = loc.files[0]
	}
	return loc, nil
}

// resolveDir finds out what kind of folder it is. Each kind says whether the
// folder is one of it.
func resolveDir(dir, split string) (location, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return location{}, fmt.Errorf("load dataset: %w", err)
	}
	if loc, found, err := resolveSaved(dir, split); found || err != nil {
		return loc, err
	}
	if loc, found := resolveTasks(dir, split, entries); found {
		return loc, nil
	}
	return resolveSplits(dir, split, entries)
}

// resolveSplits looks for dataset.*, else for the files of the split, else for the
// only split there is. Which is meant is never guessed.
func resolveSplits(dir, split string, entries []os.DirEntry) (location, error) {
	splits := layout.Group(fileNames("", entries))
	if len(splits) == 0 {
		// A clone of a hub repository keeps its files in data.
		if inside, err := os.ReadDir(filepath.Join(dir, "data")); err == nil {
			splits = layout.Group(fileNames("data/", inside))
		}
	}
	loc := location{path: dir, name: dirName(dir), split: split}
	pick := func(s *layout.Split) (location, error) {
		if err := s.Err(); err != nil {
			return location{}, fmt.Errorf("load dataset %s: %w", dir, err)
		}
		for _, f := range s.Files {
			loc.files = append(loc.files, filepath.Join(dir, filepath.FromSlash(f)))
		}
		if len(loc.files) == 1 {
			loc.path = loc.files[0]
		}
		if s.Name != "dataset" {
			loc.split = s.Name
		}
		return loc, nil
	}
	named := func(name string) int {
		return slices.IndexFunc(splits, func(s layout.Split) bool { return s.Name == name })
	}
	switch whole, asked := named("dataset"), named(split); {
	case whole >= 0:
		return pick(&splits[whole])
	case asked >= 0:
		return pick(&splits[asked])
	case len(splits) == 0 && split == "":
		return location{}, fmt.Errorf("load dataset %s: the directory holds no %s file", dir, knownNames)
	case split != "":
		return location{}, fmt.Errorf("load dataset %s: it has no split %q; there is %s", dir, split, orNothing(layout.Names(splits)))
	case len(splits) == 1:
		return pick(&splits[0])
	}
	return location{}, fmt.Errorf("load dataset %s: it holds several splits (%s); say which with --split, or give the file that is meant", dir, strings.Join(layout.Names(splits), ", "))
}

// fileNames leaves out directories, since what they hold is not looked at, and a
// calibration, which lies beside the dataset that it is about.
func fileNames(prefix string, entries []os.DirEntry) []string {
	var out []string
	for _, e := range entries {
		if !e.IsDir() && !IsCalibration(e.Name()) {
			out = append(out, prefix+e.Name())
		}
	}
	return out
}

// Splits names the splits that the folder at path holds, without reading them.
func Splits(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, absent(path)
	}
	if err != nil {
		return nil, fmt.Errorf("list dataset: %w", err)
	}
	if names, found, err := savedSplits(path); found || err != nil {
		return names, err
	}
	if form := formOf(path, entries); form != nil {
		return form.splits(path)
	}
	splits := layout.Group(fileNames("", entries))
	if inside, err := os.ReadDir(filepath.Join(path, "data")); err == nil && len(splits) == 0 {
		splits = layout.Group(fileNames("data/", inside))
	}
	return layout.Names(splits), nil
}

func dirName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "no dataset file at all"
	}
	return strings.Join(names, ", ")
}
