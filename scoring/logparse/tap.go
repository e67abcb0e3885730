package logparse

import (
	"strings"
)

// parseTAP reads the Test Anything Protocol, versions 12 to 14, with subtests
// and any number of streams. A subtest's name stands before those of its tests:
// "outer > inner". A test without a description is "#" and its number.
// Format: https://testanything.org/tap-version-14-specification.html
func parseTAP(in *input) error {
	var t tapReader
	return in.eachLine(func(raw []byte) error {
		t.line(in, text(raw))
		return nil
	})
}

var (
	tapPoint     = re(`^(ok|not ok)\b(?:[ \t]+(\d+))?(?:[ \t]+-(?:[ \t]|$)|[ \t]+|$)(.*)$`)
	tapPlan      = re(`^1\.\.\d+(?:\s*#.*)?$`)
	tapSubtest   = re(`^# Subtest: (.*)$`)
	tapDirective = re(`(?i)^(skip\S*|todo)(?:(?:\s|:).*)?$`)
	tapTime      = re(`(?i)^(?:time|duration)(?:=|:| ).*$`)
)

// tapReader is where in a stream the reader is.
type tapReader struct {
	names   suiteStack // subtests that are open
	comment string     // a subtest's name, before it is known whether it opens one
	column  int        // where that stood
	has     bool
	yaml    int // indentation of an open YAML block plus 1, or 0
	point   int // indentation of the last test
}

func (t *tapReader) line(in *input, line string) {
	trimmed := strings.TrimLeft(line, " \t")
	column := len(line) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, " \t\r")
	if t.yaml > 0 {
		in.place()
		if trimmed == "..." && column < t.yaml {
			t.yaml = 0
		}
		if trimmed == "" || column+1 >= t.yaml {
			return
		}
		t.yaml = 0 // a line further out ends a block that lacks its end
	}
	switch {
	case trimmed == "---" && column > t.point:
		in.place()
		t.yaml = column + 1
	case strings.HasPrefix(trimmed, "TAP version "):
		in.place()
		if column == 0 {
			*t = tapReader{}
		}
	case strings.HasPrefix(trimmed, "Bail out!"):
		in.out.Set("Bail out!", Error)
	case tapPlan.MatchString(trimmed), trimmed == "}", strings.HasPrefix(trimmed, "pragma "):
		in.place()
	case strings.HasPrefix(trimmed, "# Subtest: "):
		in.place()
		if t.has && column > t.column {
			t.names.heading(t.comment, t.column)
		}
		t.close(column)
		m := tapSubtest.FindStringSubmatch(trimmed)
		t.comment, t.column, t.has = shorten(strip(m[1])), column, true
	case strings.HasPrefix(trimmed, "ok"), strings.HasPrefix(trimmed, "not ok"):
		t.test(in, trimmed, column)
	}
}

// close ends the subtests that were opened at a column or further in.
func (t *tapReader) close(column int) {
	for n := len(t.names.indents); n > 0 && t.names.indents[n-1] >= column; n-- {
		t.names.names, t.names.indents = t.names.names[:n-1], t.names.indents[:n-1]
	}
}

func (t *tapReader) test(in *input, line string, column int) {
	line, opens := strings.CutSuffix(line, "{")
	m := tapPoint.FindStringSubmatch(strings.TrimRight(line, " \t"))
	if m == nil {
		return
	}
	name, directive := tapDescription(m[3])
	if name == "" {
		name = "#" + m[2]
	}
	if t.has {
		// A comment names the tests further in. Perl puts it at their column; a
		// test of the same name there is the subtest's own result, as in Node.
		switch {
		case column > t.column:
			t.names.heading(t.comment, t.column)
		case column == t.column && name != t.comment:
			t.names.heading(t.comment, column-1)
		}
		t.has = false
	}
	t.close(column)
	t.point = column
	status := Failed
	switch ok := m[1] == "ok"; {
	case directive == "skip":
		status = Skipped
	case ok:
		status = Passed
	case directive == "todo":
		status = XFail
	}
	full := strings.Join(append(t.names.names[:len(t.names.names):len(t.names.names)], name), " > ")
	in.out.Set(full, status)
	if opens {
		t.names.heading(shorten(name), column)
	}
}

// tapDescription separates a description from its directive. A "#" that begins
// neither a directive nor a time is part of the description.
func tapDescription(s string) (name, directive string) {
	name = s
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '#':
			// The right end is left as it is: looking there at each "#" would take
			// time by the square of the line.
			rest := lstrip(s[i+1:])
			m := tapDirective.FindStringSubmatch(rest)
			if m == nil && !tapTime.MatchString(rest) {
				continue
			}
			if m != nil {
				directive = strings.ToLower(m[1][:4])
			}
			name = s[:i]
			i = len(s)
		}
	}
	return strip(tapEscapes.Replace(name)), directive
}

var tapEscapes = strings.NewReplacer(`\\`, `\`, `\#`, `#`)
