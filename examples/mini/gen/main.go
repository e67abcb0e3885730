// Command gen writes the files of examples/mini that programs read
// (dataset.jsonl, predictions/*.jsonl, expected/*.json) from the files that
// people write (tasks/<name>/ and images/repos/<name>/).
//
// It owns the form of those files. It runs nothing: that the tests behave as
// task.yaml says is shown by running the gold and wrong predictions.
//
// Run it from anywhere inside the checkout:
//
//	go run ./examples/mini/gen
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	tasks, err := loadTasks(root)
	if err != nil {
		return err
	}
	files, err := generate(root, tasks)
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := writeIfChanged(filepath.Join(root, name), data); err != nil {
			return err
		}
	}
	return removeStale(root, files)
}

// findRoot returns examples/mini, looked for upwards from the working folder.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		root := filepath.Join(dir, "examples", "mini")
		if _, err := os.Stat(filepath.Join(root, "tasks")); err == nil {
			return root, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("examples/mini/tasks is neither here nor above: run inside the checkout")
		}
		dir = parent
	}
}

func writeIfChanged(path string, data []byte) error {
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "write", path)
	return os.WriteFile(path, data, 0o644)
}

// removeStale deletes generated files whose prediction set is no longer named by any task.
func removeStale(root string, files map[string][]byte) error {
	for _, pattern := range []string{"predictions/*.jsonl", "expected/*.json"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			if _, ok := files[filepath.ToSlash(name)]; !ok {
				fmt.Fprintln(os.Stderr, "remove", path)
				if err := os.Remove(path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
