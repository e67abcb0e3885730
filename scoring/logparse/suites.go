package logparse

import (
	"strings"
	"unicode/utf8"
)

// suiteStack follows headings that are nested by indentation.
type suiteStack struct {
	names   []string
	indents []int
}

// heading enters a suite: those at the same or a deeper indentation end.
func (s *suiteStack) heading(name string, indent int) {
	for len(s.indents) > 0 && s.indents[len(s.indents)-1] >= indent {
		s.names, s.indents = s.names[:len(s.names)-1], s.indents[:len(s.indents)-1]
	}
	if len(s.names) < maxDepth && s.size() < 2*maxHeading {
		s.names, s.indents = append(s.names, name), append(s.indents, indent)
	}
}

// maxDepth and maxHeading bound what the headings of a hostile log can hold on
// to and cost every test below them.
const (
	maxDepth   = 64
	maxHeading = 2 << 10
)

// shorten copies a heading, so that it does not hold its line, and cuts it at
// maxHeading.
func shorten(s string) string {
	if len(s) > maxHeading {
		s = strings.ToValidUTF8(s[:maxHeading], "")
	}
	return strings.Clone(s)
}

func (s *suiteStack) size() int {
	n := 0
	for _, name := range s.names {
		n += len(name)
	}
	return n
}

func (s *suiteStack) join(name string) string {
	return strings.Join(append(s.names[:len(s.names):len(s.names)], name), " - ")
}

// suitePath is the suites that are open, in a format that tells where each ends.
// Those beyond the bounds of headings are entered, but not named.
type suitePath struct {
	names  []string
	size   int // of the names
	hidden int
}

func (p *suitePath) enter(name string) {
	if len(p.names) >= maxDepth || p.size >= 2*maxHeading {
		p.hidden++
		return
	}
	name = shorten(name)
	p.names, p.size = append(p.names, name), p.size+len(name)
}

// leave reports whether there was a suite to leave.
func (p *suitePath) leave() bool {
	switch last := len(p.names) - 1; {
	case p.hidden > 0:
		p.hidden--
	case last < 0:
		return false
	default:
		p.names, p.size = p.names[:last], p.size-len(p.names[last])
	}
	return true
}

func (p *suitePath) join(name, separator string) string {
	return strings.Join(append(p.names[:len(p.names):len(p.names)], name), separator)
}

var karmaLine = re(`^(\s*)?([✔✖])?\s(.*)$`)

// parseKarma reads karma's mocha reporter. Going out by one or more levels of
// indentation leaves one suite only, and one too many stops the official parser.
func parseKarma(in *input) error {
	started, depth := false, -1
	var suites suitePath
	return in.eachLine(func(line []byte) error {
		if hasPrefix(line, "SUMMARY:") {
			return errStop
		}
		if containsAny(line, []string{"Starting browser"}) {
			started = true
			return nil
		}
		if !started {
			return nil
		}
		m := karmaLine.FindStringSubmatch(text(line))
		if m == nil {
			return nil
		}
		space, status, name := m[1], m[2], m[3]
		if status != "" {
			word := Failed
			if status == "✔" {
				word = Passed
			}
			in.out.Set(suites.join(name, " > "), word)
			return nil
		}
		if space == "" {
			return nil
		}
		in.place()
		last := depth
		depth = utf8.RuneCountInString(space)
		switch {
		case depth > last:
			suites.enter(name)
		case depth < last && !suites.leave():
			return in.raise("IndexError", "the log leaves more suites than it entered")
		}
		return nil
	})
}

var (
	calypsoTimed = re(`\(\d+ms\)`)
	calypso      = map[string]struct {
		status string
		timed  *pyPattern
		plain  *pyPattern
	}{
		"✓": {Passed, re(`^\s+✓\s(.*)\(\d+ms\)$`), re(`^\s+✓\s(.*)`)},
		"✕": {Failed, re(`^\s+✕\s(.*)\(\d+ms\)$`), re(`^\s+✕\s(.*)`)},
	}
)

// parseCalypso reads verbose jest runs, each behind its traced command.
func parseCalypso(in *input) error {
	var suites suiteStack
	ended := false
	return in.eachPart(" ./node_modules/.bin/jest ", func(line string, first bool) error {
		if first {
			ended = false
		}
		if ended {
			return nil
		}
		if strings.HasPrefix(line, "Test Suites") || strings.HasPrefix(line, "  ● ") {
			ended = true
			return nil
		}
		t := strip(line)
		for mark, f := range calypso {
			if !strings.HasPrefix(t, mark) {
				continue
			}
			pattern := f.plain
			if calypsoTimed.MatchString(line) {
				pattern = f.timed
			}
			m := pattern.FindStringSubmatch(line)
			if m == nil {
				return in.raise("AttributeError", "a line with %q is not a result", mark)
			}
			in.out.Set(strip(strings.Join(suites.names, " - ")+" - "+m[1]), f.status)
			return nil
		}
		if n := indent(line); n > 0 {
			in.place()
			suites.heading(shorten(t), n)
		}
		return nil
	})
}

// eachPart splits the log at sep and calls f for each line of each part but the
// first; first is set for the line that begins a part.
func (in *input) eachPart(sep string, f func(line string, first bool) error) error {
	begun := false
	return in.eachLine(func(line []byte) error {
		if !begun && !containsAny(line, []string{sep}) {
			return nil
		}
		for i, piece := range strings.Split(text(line), sep) {
			if i == 0 && !begun {
				begun = true
				continue
			}
			if err := f(piece, i > 0); err != nil {
				return err
			}
		}
		return nil
	})
}
