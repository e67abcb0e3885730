package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files of a folder that Hugging Face's save_to_disk writes: one for a set of
// splits, one for each split beside its Arrow files.
const (
	savedDict  = "dataset_dict.json"
	savedState = "state.json"
)

// maxSavedJSON bounds those files.
const maxSavedJSON = 1 << 20

// savedSplits names the splits of a saved set of splits.
func savedSplits(dir string) (names []string, found bool, err error) {
	var dict struct {
		Splits []string `json:"splits"`
	}
	if found, err = readSaved(filepath.Join(dir, savedDict), &dict); !found || err != nil {
		return nil, found, err
	}
	for _, s := range dict.Splits {
		if !filepath.IsLocal(s) || strings.ContainsRune(s, filepath.Separator) {
			return nil, true, fmt.Errorf("load dataset %s: %s names split %s, which can't be a folder", dir, savedDict, quote(s))
		}
	}
	return dict.Splits, true, nil
}

// resolveSaved is for a saved set of splits or a saved split.
func resolveSaved(dir, split string) (loc location, found bool, err error) {
	names, found, err := savedSplits(dir)
	if err != nil {
		return location{}, true, err
	}
	if !found {
		loc, found, err = savedSplit(dir, dirName(dir), "")
		if err == nil && found && split != "" && loc.split != split {
			err = fmt.Errorf("load dataset %s: the folder holds split %q, not %q", dir, loc.split, split)
		}
		return loc, found, err
	}
	switch {
	case split == "" && len(names) == 1:
		split = names[0]
	case split == "":
		return location{}, true, fmt.Errorf("load dataset %s: it holds several splits (%s); say which with --split", dir, orNothing(names))
	case !slices.Contains(names, split):
		return location{}, true, fmt.Errorf("load dataset %s: it has no split %q; there is %s", dir, split, orNothing(names))
	}
	loc, found, err = savedSplit(filepath.Join(dir, split), dirName(dir), split)
	if err == nil && !found {
		err = fmt.Errorf("load dataset %s: split %s has no %s; copy the whole folder again", dir, split, savedState)
	}
	return loc, true, err
}

// savedSplit reads which files the split in dir consists of.
func savedSplit(dir, name, split string) (location, bool, error) {
	type dataFile struct {
		Filename string `json:"filename"`
	}
	var state struct {
		Files []dataFile `json:"_data_files"`
		Split *string    `json:"_split"`
		// Older releases kept a choice of rows beside the rows.
		Indices    []dataFile `json:"_indices_data_files"`
		IndicesOld []dataFile `json:"_indices_files"`
	}
	found, err := readSaved(filepath.Join(dir, savedState), &state)
	if !found || err != nil {
		return location{}, found, err
	}
	loc := location{path: dir, name: name, split: split}
	if split == "" && state.Split != nil {
		loc.split = *state.Split
	}
	switch {
	case len(state.Indices)+len(state.IndicesOld) > 0:
		return loc, true, fmt.Errorf("load dataset %s: it was saved with an index that chooses among its rows, which is not supported; save it again after flatten_indices()", dir)
	case len(state.Files) == 0:
		return loc, true, fmt.Errorf("load dataset %s: %s names no data file", dir, savedState)
	}
	for _, f := range state.Files {
		if !filepath.IsLocal(f.Filename) || filepath.Ext(f.Filename) != ".arrow" {
			return loc, true, fmt.Errorf("load dataset %s: %s names data file %s, which is no Arrow file in the folder", dir, savedState, quote(f.Filename))
		}
		path := filepath.Join(dir, f.Filename)
		if _, err := os.Stat(path); err != nil {
			return loc, true, fmt.Errorf("load dataset %s: %s names %s, which is not there; copy the whole folder again: %w", dir, savedState, f.Filename, err)
		}
		loc.files = append(loc.files, path)
	}
	return loc, true, nil
}

func readSaved(path string, into any) (found bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("load dataset: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxSavedJSON))
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return true, fmt.Errorf("load dataset: read %s: %w", path, err)
	}
	return true, nil
}
