package logparse

import (
	"strings"
)

var (
	tastyWords = map[string]string{
		"OK": Passed, "PASS": Passed, "FAIL": Failed, "ERROR": Error, "SKIP": Skipped, "PENDING": Skipped,
	}
	tastyTest = re(`^\s*(.+?)\s*:\s*(OK|PASS|FAIL|ERROR|SKIP|PENDING)` + reWordEnd)

	haskellCases = lineCases{
		cases: []lineCase{
			{pattern: re(`^\s+(.+?)\s+\[(?:✓|✔)\]\s*$`), status: Passed, keep: true},
			{pattern: re(`^\s+(.+?)\s+\[(?:✗|✘)\]\s*$`), status: Failed},
			{pattern: re(`^\s*(?:✓|✔)\s+(.+?)(?:\s+\(.*?\))?\s*$`), status: Passed, keep: true},
			{pattern: re(`^\s*(?:✗|✘)\s+(.+?)\s*$`), status: Failed},
			{pattern: re(`^\s*\d+\)\s+(.+?)\s*$`), status: Failed},
			{pattern: re(`^###\s+Failure\s+in:\s+(.+)$`), status: Failed},
			{pattern: re(`^###\s+Error\s+in:\s+(.+)$`), status: Error},
		},
	}
	haskellNoise = []string{"Test suite ", "Linking ", "Building ", "Running  "}
)

// parseHaskell reads tasty, hspec and HUnit. A mark's pass gives way to an
// earlier result; a word's result replaces it.
func parseHaskell(in *input) error {
	return in.eachPyLine(func(line string) error {
		line = withoutColours(line)
		if line == "" || hasAny(line, haskellNoise) {
			return nil
		}
		if m := tastyTest.FindStringSubmatch(line); m != nil {
			in.out.Set(strip(m[1]), tastyWords[m[2]])
			return nil
		}
		haskellCases.line(in, line)
		return nil
	})
}

const (
	hspecFailures = "Failures:"
	hspecInfo     = "Golden and Actual output didn't change"
	// hspecDepth bounds the levels of a tree; what is deeper is left out.
	hspecDepth = 1 << 10
)

var (
	hspecHeader  = re(`^\s*\d+\)\s+(.*)$`)
	hspecFailed  = re(`^(.*?)\s+FAILED\s*\[\d+\]$`)
	hspecPending = re(`(?i)^(.*?)\s+(?:PENDING|SKIPPED)` + reWordEnd)
	hspecEnds    = []string{"To rerun use:", "Randomized with seed", "Finished in ", "Test suite "}
	hspecNoise   = []string{
		"Downloading", "Building", "Installing", "Completed", "Starting", "Preprocessing", "Configuring", "Linking",
		"Resolving dependencies", "Build profile", "In order, the following will be built", "Error:", "Test suite ", "Running ",
	}
)

// parseHaskellV2 reads hspec's tree: a line with none deeper behind it is a
// test, named by the lines above it. The list of failures overrules the tree.
func parseHaskellV2(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	begin, end := hspecTree(log)
	tree := hspec{in: in}
	n := 0
	eachPyLineOf(log, func(line string) bool {
		if n >= begin && n < end {
			tree.line(line)
		}
		n++
		return n < end
	})
	tree.leaf()
	n = 0
	eachPyLineOf(log, func(line string) bool {
		t := strip(line)
		if n++; n-1 <= end || t == "" {
			return true
		}
		if startsWithAny(t, hspecEnds...) {
			return false
		}
		if m := hspecHeader.FindStringSubmatch(t); m != nil {
			in.out.Set(hspecName(m[1]), Failed)
		}
		return true
	})
	return nil
}

// hspecName makes a name of the parts between commas. One with more parts than a
// name has bytes stays as it is: it is too long in any case.
func hspecName(header string) string {
	if strings.Count(header, ",") > MaxName {
		return header
	}
	parts := strings.Split(header, ",")
	for i, p := range parts {
		parts[i] = strip(p)
	}
	return strings.Join(parts, ".")
}

// hspecTree finds the lines of the tree: from behind the line that says that a
// suite runs, else from the first that looks like a module, to the failures.
func hspecTree(log string) (begin, end int) {
	running, module, failures, n := -1, -1, -1, 0
	eachPyLineOf(log, func(line string) bool {
		if failures < 0 && strip(line) == hspecFailures {
			failures = n
		}
		if running < 0 && strings.HasPrefix(line, "Test suite ") && strings.Contains(line, ": RUNNING...") {
			running = n
		}
		if module < 0 && line != "" && line[0] != ' ' && strings.Contains(line, ".") && !hasAny(line, hspecNoise) {
			module = n
		}
		n++
		return running < 0 || failures < 0
	})
	switch {
	case running >= 0:
		begin = running + 1
	case module >= 0:
		begin = module
	}
	if failures < 0 {
		failures = 1 << 62
	}
	return begin, failures
}

// hspec is the tree as far as it was read.
type hspec struct {
	in      *input
	stack   []string
	status  string // of the line read last, which may turn out to be a test
	indent  int
	pending bool
}

func (h *hspec) line(raw string) {
	t := strip(raw)
	if t == "" || t == hspecInfo {
		return
	}
	indent := len(raw) - len(strings.TrimLeft(raw, " "))
	if h.pending && indent <= h.indent {
		h.leaf()
	}
	h.indent, h.pending, h.status = indent, true, Passed
	if m := hspecFailed.FindStringSubmatch(t); m != nil {
		t, h.status = strip(m[1]), Failed
	} else if m := hspecPending.FindStringSubmatch(t); m != nil {
		t, h.status = strip(m[1]), Skipped
	}
	level := indent / 2
	if level >= hspecDepth {
		h.pending = false
		return
	}
	for len(h.stack) < level {
		h.stack = append(h.stack, "")
	}
	h.stack = append(h.stack[:level], t)
}

// leaf records the line read last as a test.
func (h *hspec) leaf() {
	if !h.pending {
		return
	}
	h.pending = false
	size := 0
	var parts []string
	for _, s := range h.stack {
		if s != "" {
			parts = append(parts, s)
			size += len(s) + 1
		}
	}
	if size <= MaxName+1 {
		h.in.out.Set(strings.Join(parts, "."), h.status)
	}
}

// eachPyLineOf calls f for the lines that Python sees in a text, until f returns
// false.
func eachPyLineOf(log string, f func(line string) bool) {
	for log != "" {
		line, rest, _ := strings.Cut(log, "\n")
		log = rest
		more := true
		_ = eachPyPiece([]byte(line), func(piece string) error {
			more = more && f(piece)
			return nil
		})
		if !more {
			return
		}
	}
}
