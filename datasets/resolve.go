package datasets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"harness/datasets/internal/source"
)

// location is the file that a path given by the user stands for.
type location struct {
	path, name, split string
	format            source.Format
}

// knownSplits are file names that name a split rather than a dataset.
var knownSplits = []string{"test", "dev", "train", "validation", "val"}

// hubShard is how the Hugging Face hub names a split kept in one file.
var hubShard = regexp.MustCompile(`-00000-of-00001$`)

func resolve(path, split string) (location, error) {
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return location{}, fmt.Errorf("load dataset: %s does not exist; give a .jsonl, .json or .parquet file (.gz and .zst too) or a directory with one: %w", path, os.ErrNotExist)
		}
		return location{}, fmt.Errorf("load dataset: %w", err)
	}
	if info.IsDir() {
		return resolveDir(path, split)
	}
	n := source.ParseName(path)
	if n.Format == "" {
		return location{}, fmt.Errorf("load dataset %s: the file name does not say what it holds; name it .jsonl, .json or .parquet, and .gz or .zst behind that when compressed", path)
	}
	loc := location{path: path, name: n.Stem, split: split, format: n.Format}
	if s := splitOf(n.Stem); slices.Contains(knownSplits, s) {
		if split != "" && split != s {
			return location{}, fmt.Errorf("load dataset %s: the file holds split %q, not %q", path, s, split)
		}
		loc.split = s
		if abs, err := filepath.Abs(path); err == nil {
			loc.name = filepath.Base(filepath.Dir(abs))
		}
	}
	return loc, nil
}

// resolveDir looks for dataset.*, else for the file of the split, else for the
// only split there is. Which file is meant is never guessed.
func resolveDir(dir, split string) (location, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return location{}, fmt.Errorf("load dataset: %w", err)
	}
	byStem := make(map[string][]string)
	var stems []string
	for _, e := range entries {
		n := source.ParseName(e.Name())
		if e.IsDir() || n.Format == "" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		s := splitOf(n.Stem)
		if byStem[s] == nil {
			stems = append(stems, s)
		}
		byStem[s] = append(byStem[s], e.Name())
	}
	pick := func(stem string) (location, error) {
		files := byStem[stem]
		if len(files) > 1 {
			return location{}, fmt.Errorf("load dataset %s: %s are all there; give the one that is meant", dir, strings.Join(files, ", "))
		}
		loc := location{path: filepath.Join(dir, files[0]), split: split, format: source.ParseName(files[0]).Format}
		if abs, err := filepath.Abs(dir); err == nil {
			loc.name = filepath.Base(abs)
		}
		if stem != "dataset" {
			loc.split = stem
		}
		return loc, nil
	}
	switch {
	case byStem["dataset"] != nil:
		return pick("dataset")
	case split != "" && byStem[split] != nil:
		return pick(split)
	case split != "":
		return location{}, fmt.Errorf("load dataset %s: it has no split %q; there is %s", dir, split, orNothing(stems))
	case len(stems) == 1:
		return pick(stems[0])
	case len(stems) == 0:
		return location{}, fmt.Errorf("load dataset %s: the directory holds no .jsonl, .json or .parquet file", dir)
	}
	return location{}, fmt.Errorf("load dataset %s: it holds several splits (%s); give the file that is meant", dir, strings.Join(stems, ", "))
}

func splitOf(stem string) string { return hubShard.ReplaceAllString(stem, "") }

func orNothing(names []string) string {
	if len(names) == 0 {
		return "no dataset file at all"
	}
	return strings.Join(names, ", ")
}
