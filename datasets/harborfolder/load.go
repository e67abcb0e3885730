package harborfolder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"harness/datasets/internal/tree"
	"harness/eval"
)

// Files by which a task is known.
const (
	harborFile   = "task.toml"
	terminalFile = "task.yaml"
	runTestsFile = "run-tests.sh" // of the older form; task.yaml alone says nothing
	tasksDir     = "tasks"
)

// Is reports whether dir is such a task, or holds some.
func Is(dir string) bool {
	f, err := tree.Open(dir, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	if isTask(f) {
		return true
	}
	_, names, err := tasksOf(f)
	return err == nil && len(names) > 0
}

func isTask(f *tree.Folder) bool {
	return f.Has(harborFile) || f.Has(terminalFile) && f.Has(runTestsFile)
}

// tasksOf lists the task folders directly in f, or in its folder of tasks.
func tasksOf(f *tree.Folder) (dir string, names []string, err error) {
	for _, dir := range []string{".", tasksDir} {
		if dir != "." && !f.Has(dir) {
			continue
		}
		all, err := f.Folders(dir)
		if err != nil {
			return "", nil, err
		}
		names := slices.DeleteFunc(all, func(name string) bool {
			sub, err := f.Sub(dir+"/"+name, 0)
			if err != nil {
				return true
			}
			defer func() { _ = sub.Close() }()
			return !isTask(sub)
		})
		if len(names) > 0 {
			return dir, names, nil
		}
	}
	return "", nil, nil
}

// Load hands each task at dir to add, in the order of their names, with what is
// wrong with it. There are no splits.
func Load(ctx context.Context, dir string, opts tree.Options, add func(tree.Loaded) error) error {
	if opts.Split != "" {
		return fmt.Errorf("%w %q: folders of Harbor tasks have none; leave --split out", tree.ErrNoSplit, opts.Split)
	}
	f, err := opts.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	one := func(parent *tree.Folder, name, id string) error {
		sub, err := parent.Sub(name, tree.MaxTaskBytes)
		if err != nil {
			return err
		}
		defer func() { _ = sub.Close() }()
		return add(readTask(sub, id))
	}
	if isTask(f) {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		return one(f, ".", filepath.Base(abs))
	}
	parent, names, err := tasksOf(f)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := one(f, parent+"/"+name, name); err != nil {
			return err
		}
	}
	return nil
}

func readTask(f *tree.Folder, id string) tree.Loaded {
	var l tree.Loaded
	l.Task.InstanceID = id
	l.Task.Family = eval.FamilyHarbor
	l.Task.LogParser = logParser
	l.Task.WorkDir = eval.ImageWorkDir
	r := reader{f: f, l: &l}
	if f.Has(harborFile) {
		r.harbor()
	} else {
		r.terminal()
	}
	return l
}

// logParser reads the tests' results for the table of tests. They decide nothing.
const logParser = "parse_log_pytest"

// Places inside the sandbox.
const (
	testsTarget    = "/tests"
	solutionTarget = "/solution"
)

const maxText = 4 << 20

// reader collects what one task's files hold and what is wrong with them.
type reader struct {
	f      *tree.Folder
	l      *tree.Loaded
	cannot bool // it needs something that sandboxes here do not have
}

func (r *reader) failed(err error) {
	var p *tree.Problem
	if !errors.As(err, &p) {
		p = &tree.Problem{File: r.l.File, Reason: err.Error()}
	}
	r.l.Problems = append(r.l.Problems, *p)
}

func (r *reader) bad(field, reason, fix string) {
	r.failed(&tree.Problem{File: r.l.File, Field: field, Reason: reason, Fix: fix})
}

func (r *reader) warn(field, reason, fix string) {
	r.failed(&tree.Problem{File: r.l.File, Field: field, Reason: reason, Fix: fix, Warning: true})
}

// needs notes what can't be had here. The task is loaded all the same, without
// an eval script, so that the others of its folder can be run.
func (r *reader) needs(field, what string) {
	r.cannot = true
	r.warn(field, "the task can't be executed here: "+what, "leave it out of runs")
}

func (r *reader) text(name string) string {
	text, err := r.f.Text(name, maxText)
	if err != nil {
		r.failed(err)
	}
	return text
}

// files reads a folder of files; script, which is run, is made executable.
func (r *reader) files(dir, target, script string) []eval.TaskFile {
	files, err := r.f.Files(dir, target)
	if err != nil {
		r.failed(err)
		return nil
	}
	for i := range files {
		if files[i].Path == target+"/"+script {
			files[i].Mode = 0o755
		}
	}
	return files
}
