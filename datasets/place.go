package datasets

import (
	"fmt"
	"strings"
)

// position is where a row stands.
type position struct {
	row, line int
	file      string // "" for the one that is being read
}

func (p position) String() string {
	text := fmt.Sprintf("row %d", p.row)
	if p.row == 0 && p.file != "" {
		return p.file
	}
	if p.line > 0 {
		text = fmt.Sprintf("line %d", p.line)
	}
	if p.file != "" {
		text += " of " + p.file
	}
	return text
}

// twin refuses an id that was there before, also one that differs by case
// only: ids become file names and image tags, which fold case on some systems.
func (l *loader) twin(id string, pos position) *rowProblem {
	if id == "" {
		return nil
	}
	seen := func(id string) string {
		p := l.first[id]
		if p.file == l.ds.Path {
			p.file = ""
		}
		return p.String()
	}
	if _, ok := l.first[id]; ok {
		return &rowProblem{field: "instance_id", reason: "the id is given again, first on " + seen(id), fix: "remove or rename one of the rows"}
	}
	pos.file = l.ds.Path
	l.first[id] = pos
	low := strings.ToLower(id)
	if other, ok := l.lower[low]; ok {
		return &rowProblem{field: "instance_id", reason: fmt.Sprintf("it differs only by case from %s on %s", quote(other), seen(other)), fix: "rename one of the rows"}
	}
	l.lower[low] = id
	return nil
}

func (l *loader) problem(pos position, id string, p rowProblem) {
	full := Problem{File: l.ds.Path, Line: pos.line, Row: pos.row, InstanceID: id, Field: p.field, Reason: p.reason, Fix: p.fix, Warning: p.warning}
	list := &l.ds.Problems
	if p.warning {
		list = &l.ds.Warnings
	}
	if len(*list) < l.opts.MaxProblems {
		*list = append(*list, full)
	} else if !p.warning {
		l.more++
	}
}
