package logparse

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// statusPrefix reports whether a line starts with a status word; xfail is set if
// XFAIL is one. The first byte decides for nearly every line of a log.
func statusPrefix(b []byte, xfail bool) bool {
	if len(b) < 5 {
		return false
	}
	switch b[0] {
	case 'P':
		return hasPrefix(b, Passed)
	case 'F':
		return hasPrefix(b, Failed)
	case 'S':
		return hasPrefix(b, Skipped)
	case 'E':
		return hasPrefix(b, Error)
	case 'X':
		return xfail && hasPrefix(b, XFail)
	}
	return false
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }
func hasSuffix(b []byte, s string) bool { return len(b) >= len(s) && string(b[len(b)-len(s):]) == s }

// pytestLine reads a summary line: the word and the name behind it. ok is false
// when the line has no name.
func pytestLine(line []byte, d Dialect) (status, name []byte, ok bool) {
	line = Decode(line)
	if hasPrefix(line, Failed) && bytes.Contains(line, dash) {
		line = bytes.ReplaceAll(line, dash, blank)
	}
	status, rest := nextField(line)
	name, _ = nextField(rest)
	if len(name) == 0 || d.SkipCounts && isSkipCount(status, name) {
		return nil, nil, false
	}
	return status, name, true
}

var dash, blank = []byte(" - "), []byte(" ")

// isSkipCount recognises "SKIPPED [3] path:line: reason", where [3] is a number of tests.
func isSkipCount(status, name []byte) bool {
	if string(status) != Skipped || len(name) < 3 || name[0] != '[' || name[len(name)-1] != ']' {
		return false
	}
	for digits := name[1 : len(name)-1]; len(digits) > 0; {
		r, n := utf8.DecodeRune(digits)
		if !unicode.Is(unicode.Nd, r) {
			return false
		}
		digits = digits[n:]
	}
	return true
}

// parsePytest reads "STATUS name" lines. The status is the log's word as it
// stands: "FAILED:" and "ERRORS" are kept and later count as no status at all.
func parsePytest(in *input) error {
	return in.pytest(asIs, asIs)
}

// parsePytestOptions is parsePytest for suites whose parameters hold absolute
// paths, of which only the last part is the same everywhere.
func parsePytestOptions(in *input) error {
	return in.pytest(asIs, shortenOption)
}

// parseMatplotlib is parsePytest with mouse buttons by number: their names
// depend on the Python version.
func parseMatplotlib(in *input) error {
	return in.pytest(numberButtons, asIs)
}

// pytest reads lines that are prepared first, and names that are rewritten.
func (in *input) pytest(prepare, rewrite func([]byte) []byte) error {
	xfail := !in.opt.Dialect.NoXFail
	return in.eachLine(func(line []byte) error {
		if line = prepare(line); statusPrefix(line, xfail) {
			if status, name, ok := pytestLine(line, in.opt.Dialect); ok {
				in.out.setBytes(rewrite(name), status)
			}
		}
		return nil
	})
}

func asIs(b []byte) []byte { return b }

func numberButtons(line []byte) []byte {
	if !bytes.Contains(line, []byte("MouseButton.")) {
		return line
	}
	line = bytes.ReplaceAll(line, []byte("MouseButton.LEFT"), []byte("1"))
	return bytes.ReplaceAll(line, []byte("MouseButton.RIGHT"), []byte("3"))
}

// shortenOption rewrites "main[/a/b/c]" to "main[/c]" and drops what stands
// behind the last bracket.
func shortenOption(name []byte) []byte {
	open := bytes.IndexByte(name, '[')
	if open < 0 {
		return name
	}
	end := bytes.LastIndexByte(name, ']')
	if end < open {
		return name
	}
	option := string(name[open+1 : end])
	if strings.HasPrefix(option, "/") && !strings.HasPrefix(option, "//") && !strings.Contains(option, "*") {
		option = option[strings.LastIndexByte(option, '/'):]
	}
	return []byte(string(name[:open]) + "[" + option + "]")
}

// parsePytestV2 reads coloured logs and those of old pytest, which put the
// status at the line's end.
func parsePytestV2(in *input) error {
	whole, xfail := in.opt.Dialect.WholeNames, !in.opt.Dialect.NoXFail
	return in.eachLine(func(line []byte) error {
		if !mayHoldStatus(line) {
			return nil
		}
		s := dropControls(dropColours(text(line)))
		switch {
		case statusPrefix([]byte(s), xfail) && whole:
			if strings.HasPrefix(s, Failed) {
				s, _, _ = strings.Cut(s, " - ")
			}
			if w := fields(s); len(w) >= 2 && !(in.opt.Dialect.SkipCounts && isSkipCount([]byte(w[0]), []byte(w[1]))) {
				in.out.Set(strings.Join(w[1:], " "), w[0])
			}
		case statusPrefix([]byte(s), xfail):
			if in.opt.Dialect.ShortV2LinesRaise && len(fields(s)) < 2 {
				return in.raise("IndexError", "a line has a status and no name")
			}
			if status, name, ok := pytestLine([]byte(s), in.opt.Dialect); ok {
				in.out.setBytes(name, status)
			}
		case statusSuffix(s, xfail):
			w := fields(s)
			switch {
			case len(w) < 2 && in.opt.Dialect.ShortV2LinesRaise:
				return in.raise("IndexError", "a line is a word that ends with a status")
			case len(w) < 2:
			case whole:
				in.out.Set(strings.Join(w[:len(w)-1], " "), w[len(w)-1])
			default:
				in.out.Set(w[0], w[1])
			}
		}
		return nil
	})
}

// mayHoldStatus is a cheap test that no line with a status fails: colours and
// control characters may stand around and inside a word, so it asks only for a
// letter of each word at a place that survives.
func mayHoldStatus(line []byte) bool {
	if len(line) < 5 {
		return false
	}
	if statusPrefix(line, true) {
		return true
	}
	// A control character or colour may hide a word; so may the line's end.
	switch line[len(line)-1] {
	case 'D', 'R', 'L', 'm':
		return true
	}
	for _, c := range line {
		if c < 32 {
			return true
		}
	}
	return bytes.IndexByte(line, '[') >= 0 && bytes.IndexByte(line, 'm') >= 0
}

func statusSuffix(s string, xfail bool) bool {
	for _, w := range []string{Failed, Passed, Skipped, Error, XFail} {
		if strings.HasSuffix(s, w) && (xfail || w != XFail) {
			return true
		}
	}
	return false
}

// dropColours removes "[", digits, "m": what is left of a colour code whose
// escape character is dropped afterwards.
func dropColours(s string) string {
	if !strings.Contains(s, "[") {
		return s
	}
	return colour.ReplaceAllLiteralString(s, "")
}

var colour = re(`\[\d+m`)

// dropControls removes characters 1 to 31.
func dropControls(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 1 && r < 32 {
			return -1
		}
		return r
	}, s)
}

// parseSeaborn knows "FAILED name", "PASSED name" and "name PASSED".
func parseSeaborn(in *input) error {
	return in.eachLine(func(line []byte) error {
		failed := hasPrefix(line, Failed)
		if !failed && !bytes.Contains(line, []byte(Passed)) {
			return nil
		}
		line = Decode(line)
		first, rest := nextField(line)
		second, _ := nextField(rest)
		middle := !failed && bytes.Contains(line, []byte(" "+Passed+" "))
		if !failed && !middle && !hasPrefix(line, Passed) {
			return nil
		}
		if len(second) == 0 {
			if in.opt.Dialect.ShortLinesRaise {
				return in.raise("IndexError", "a line has a status and no name")
			}
			return nil
		}
		switch {
		case failed:
			in.out.setBytes(second, []byte(Failed))
		case middle:
			if string(second) == Passed {
				in.out.setBytes(first, []byte(Passed))
			}
		default:
			in.out.setBytes(second, []byte(Passed))
		}
		return nil
	})
}
