package logparse

import (
	"regexp"
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

var karmaLine = re(`^(\s*)?([✔✖])?\s(.*)$`)

// parseKarma reads karma's mocha reporter. Going out by one or more levels of
// indentation leaves one suite only, and one too many stops the official parser.
func parseKarma(in *input) error {
	started, depth := false, -1
	var suites []string
	hidden := 0 // suites beyond maxDepth, entered but not named
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
			in.out.Set(strings.Join(append(suites[:len(suites):len(suites)], name), " > "), word)
			return nil
		}
		if space == "" {
			return nil
		}
		in.place()
		switch n := utf8.RuneCountInString(space); {
		case n > depth:
			depth = n
			if len(suites) < maxDepth {
				suites = append(suites, shorten(name))
			} else {
				hidden++
			}
		case n < depth:
			depth = n
			switch {
			case hidden > 0:
				hidden--
			case len(suites) == 0:
				return in.raise("IndexError", "the log leaves more suites than it entered")
			default:
				suites = suites[:len(suites)-1]
			}
		}
		return nil
	})
}

var (
	calypsoTimed = re(`\(\d+ms\)`)
	calypso      = map[string]struct {
		status string
		timed  *regexp.Regexp
		plain  *regexp.Regexp
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
