package tree

import (
	"errors"
	"fmt"

	"harness/eval"
)

// Problem is one thing that is wrong with a file of a folder.
type Problem struct {
	File    string // as the user can open it
	Line    int    // from 1; 0 when it concerns the whole file
	Field   string
	Reason  string
	Fix     string // what to do
	Warning bool   // it does not keep the task from being used
}

// Error makes a Problem usable as an error.
func (p *Problem) Error() string {
	s := p.File
	if p.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, p.Line)
	}
	if p.Field != "" {
		s += ": field " + p.Field
	}
	s += ": " + p.Reason
	if p.Fix != "" {
		s += "; " + p.Fix
	}
	return s
}

// Loaded is one task of a folder and what is wrong with it.
type Loaded struct {
	Task     eval.Task
	File     string // the file that describes it
	Problems []Problem
}

// ErrNoSplit: the folder has no tasks of the split that was asked for.
var ErrNoSplit = errors.New("there is no split")

// Options of the packages that load folders of tasks.
type Options struct {
	Split    string // which tasks; "" means those that the folder publishes
	MaxBytes int64  // most that all files may hold; 0 means 8 GiB
}

// Open opens the folder of tasks at dir.
func (o Options) Open(dir string) (*Folder, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return Open(dir, o.MaxBytes)
}

// Bounds on what is read.
const (
	defaultMaxBytes = 8 << 30
	// MaxTaskBytes is the most that one task's files may hold. A task is stored as
	// one JSON document of at most 64 MiB, in which a file takes a third more room.
	MaxTaskBytes = 40 << 20
	// MaxConfigBytes is the most that a file of settings may hold.
	MaxConfigBytes = 1 << 20
	// MaxFiles is how many files one task may bring, MaxFileBytes how large one may
	// be. Package datasets has the same bounds for rows.
	MaxFiles     = 1000
	MaxFileBytes = 16 << 20
	// MaxTasks is how many tasks one folder may hold.
	MaxTasks = 100_000

	maxDepth = 40
	maxName  = 1000 // bytes of a path inside a folder
)
