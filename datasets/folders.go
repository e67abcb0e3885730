package datasets

import (
	"context"
	"fmt"
	"os"

	"harness/datasets/harborfolder"
	"harness/datasets/internal/layout"
	"harness/datasets/internal/tree"
	"harness/datasets/tasktree"
)

// taskFolders are the forms of datasets whose tasks are folders, in the order in
// which a folder is compared with them.
var taskFolders = []taskFolder{
	{tasktree.Is, tasktree.Splits, tasktree.Load},
	{harborfolder.Is, func(string) ([]string, error) { return nil, nil }, harborfolder.Load},
}

// taskFolder is one form. load hands each task to add.
type taskFolder struct {
	is     func(dir string) bool
	splits func(dir string) ([]string, error)
	load   func(ctx context.Context, dir string, o tree.Options, add func(tree.Loaded) error) error
}

// resolveTasks is for a folder whose tasks are folders.
func resolveTasks(dir, split string, entries []os.DirEntry) (location, bool) {
	form := formOf(dir, entries)
	return location{path: dir, name: dirName(dir), split: split, files: []string{dir}, tasks: form}, form != nil
}

// formOf recognises a folder of tasks; nil when it is none. A file called
// dataset.* beside them is the dataset all the same.
func formOf(dir string, entries []os.DirEntry) *taskFolder {
	for _, s := range layout.Group(fileNames("", entries)) {
		if s.Name == "dataset" {
			return nil
		}
	}
	for i := range taskFolders {
		if taskFolders[i].is(dir) {
			return &taskFolders[i]
		}
	}
	return nil
}

// readTasks reads a folder of tasks.
func (l *loader) readTasks(ctx context.Context, form *taskFolder) error {
	dir := l.ds.Path
	err := form.load(ctx, dir, tree.Options{Split: l.opts.Split, MaxBytes: l.opts.MaxBytes}, l.addTask)
	l.ds.Path = dir
	if err != nil {
		return fmt.Errorf("load dataset %s: %w", dir, err)
	}
	return nil
}

// addTask takes a task of a folder. Its problems name the file they are in.
func (l *loader) addTask(x tree.Loaded) error {
	l.rows++
	t := x.Task
	bad := false
	note := func(file string, line int, p rowProblem) {
		bad = bad || !p.warning
		l.ds.Path = file
		l.problem(position{line: line}, t.InstanceID, p)
	}
	for _, p := range x.Problems {
		note(p.File, p.Line, rowProblem{field: p.Field, reason: p.Reason, fix: p.Fix, warning: p.Warning})
	}
	// What could not be read would only be complained about again.
	if !bad {
		for _, p := range check(&t) {
			note(x.File, 0, p)
		}
	}
	l.ds.Path = x.File
	if p := l.twin(t.InstanceID, position{}); p != nil {
		note(x.File, 0, *p)
	}
	if bad {
		return nil
	}
	normalise(&t)
	if _, err := l.digest.add(&t); err != nil {
		return err
	}
	l.ds.Tasks = append(l.ds.Tasks, t)
	return nil
}
