//go:build oracle

package oracle

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"harness/eval"
)

// mutation changes a log, and sometimes the task, in a way that has broken
// graders before.
type mutation struct {
	name  string
	apply func(m *mutator)
	// harsh ones mostly leave a log that is not gradable, so they are not drawn
	// beside others.
	harsh bool
}

// mutator holds what is being changed.
type mutator struct {
	*rand.Rand
	log  []byte
	task *eval.Task // a copy of its own
}

// lines takes the log apart; every line but the last ends with its newline.
func (m *mutator) lines() [][]byte { return bytes.SplitAfter(m.log, []byte("\n")) }

func (m *mutator) join(lines [][]byte) { m.log = bytes.Join(lines, nil) }

// at is a random position between lines.
func (m *mutator) at(lines [][]byte) int { return m.IntN(len(lines) + 1) }

// span is a run of lines, mostly a short one.
func (m *mutator) span(lines [][]byte) (from, to int) {
	from = m.IntN(len(lines))
	return from, min(len(lines), from+1+m.IntN(1<<m.IntN(6)))
}

func (m *mutator) insert(texts ...string) {
	lines := m.lines()
	for range 1 + m.IntN(2) {
		lines = slices.Insert(lines, m.at(lines), []byte(m.pick(texts)+"\n"))
	}
	m.join(lines)
}

func (m *mutator) insertBytes(texts ...string) {
	for range 1 + m.IntN(4) {
		i := m.IntN(len(m.log) + 1)
		m.log = slices.Insert(m.log, i, []byte(m.pick(texts))...)
	}
}

func (m *mutator) pick(texts []string) string { return texts[m.IntN(len(texts))] }

// onLines changes some lines that hold one of the words.
func (m *mutator) onLines(words []string, change func(line []byte) []byte) {
	lines := m.lines()
	var hits []int
	for i, l := range lines {
		if slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(l, []byte(w)) }) {
			hits = append(hits, i)
		}
	}
	if len(hits) == 0 {
		return
	}
	for range 1 + m.IntN(4) {
		i := hits[m.IntN(len(hits))]
		lines[i] = change(bytes.Clone(lines[i]))
	}
	m.join(lines)
}

var (
	statusWords = []string{
		"PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "ok", "FAIL", "PASS", "ERR", "not ok", "skipped",
		"✓", "✕", "○", "✔", "✖", "✘", "↩", "×", "↓", "passed", "failed", "SUCCESS", "FAILURE", "err", "skip",
	}
	resultLines = []string{
		"PASSED a/b.py::test_x[1]", "FAILED a/b.py::test_x[1] - AssertionError - x", "ERROR a/b.py", "SKIPPED [1] a.py:3: no", "XFAIL a::b",
		"PASSED", "FAILED", "ERRORS", "PASSED [100%]", "test_x (a.B) ... ok", "test_x (a.B) ... FAIL", "ok", "FAIL: test_x (a.B)", "FAIL:",
		"--- PASS: TestX (0.00s)", "    --- FAIL: TestX/y (0.1s)", "test a::b ... ok", "test a::b ... ignored", "ok 1 x", "not ok 2 y",
		" ✓ x (3 ms)", " ✕ y", "  1) z", "[ok]: x (1 ms)", "[err]: y in tests/z.tcl", "PASS: x", "FAIL src/a.test.js (1.2 s)", "PASS src/b.test.js",
		"BUILD SUCCESS", "BUILD FAILURE", "-Dtest=A#b", "A > b PASSED", "a - passed", "Suite (A)", " ✔ x", "T#x = 0.00 s = .",
		"test_a[x] ok", "test_b F", "__________ a/b.py:test_x __________", "    [junit] [PASS] a.b", "[ OK ] a.b (0 ms)",
	}
	evidenceLines = []string{
		"Executed 0 of 0", "Executed 3 of 3", "TOTAL: 1 SUCCESS", "TOTAL: 0 FAILED", "12 passing (3s)", "0 passing", "Tests:       0 failed, 3 passed",
		"Tests:  4 passed", "Test Suites: 1 failed, 2 total", "Test Suites: 0 total", "# tests 3", " # tests 3", "7 specs, 0 failures", "0 specs, 0 failures", "case': ok",
	}
	infraLines = []string{
		"Killed", " Killed", "Killed.", "Cannot allocate memory", "java.lang.OutOfMemoryError: x", "no tests ran in 0.1s", "collected 0 items",
		"ModuleNotFoundError: No module named 'x'", "Cannot find module 'y'", "Error: Failed to launch the browser process!", "Cannot start ChromeHeadless",
		"Missing X server or $DISPLAY", "Could not resolve host: github.com", "Temporary failure in name resolution", "getaddrinfo EAI_AGAIN x",
		"Cannot connect to the Docker daemon", "No space left on device", "Timeout error: 1800 seconds exceeded.", "net::ERR_NAME_NOT_RESOLVED",
		"Failed to connect to the bus: x", "cannot open display: :99", "unable to open X display", "Error response from daemon: x", "MODULE_NOT_FOUND",
		"Timeout error: seconds exceeded", "Timeout error: ٣ seconds exceeded", "killed", "OutOfMemoryErro",
	}
	markerLines = []string{
		"+ : '>>>>> Start Test Output'", "+ : '>>>>> End Test Output'", ">>>>> Start Test Output", ">>>>> End Test Output", "x>>>>> End Test Outputy",
		">>>>> Start Test Output >>>>> End Test Output", ">>>>> Applied Patch (pred)", ">>>>> Start Test Outpu", ">>>>> Applied Patch",
	}
	badCodes = []string{
		">>>>> Patch Apply Failed", ">>>>> Reset Failed", ">>>>> Tests Errored", "x >>>>> Tests Timed Out x", ">>>>> Tests Erro", "Failed to reset task environment",
	}
	exitLines = []string{
		">>>>> Test Exit Code: 0", ">>>>> Test Exit Code: 1", ">>>>> Test Exit Code:   137", ">>>>> Test Exit Code: -1", ">>>>> Test Exit Code:", ">>>>> Test Exit Code: x",
		">>>>> Test Exit Code:\t2 3", ">>>>> Test Exit Code: 00", ">>>>> Test Exit Code: 99999999999999999999", "+ SWEBENCH_TEST_EXIT_CODE=1", ">>>>> Test Exit Code:\n5", ">>>>> Test Exit Code: ٣",
	}
	oddText = []string{
		"\u00a0", "\u2003", "\u2028", "\u0085", "\u3000", "\x1c", "\x1d", "\x1f", "\x0b", "\x0c", "\ufeff", "\u200b", "\u0660", "é", "日本", "🙂", "İ", "ß",
	}
	invalid = []string{"\xff", "\xfe\xff", "\xe2\x9c", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xf0\x9f\x98"}
	ansi    = []string{"\x1b[31m", "\x1b[0m", "\x1b[32mPASSED\x1b[0m", "\x1b[1;33m", "\x1b[K", "\x1b[2K\r", "\x1b]0;t\x07", "\x1b(B", "\x1b[38;5;1m", "[0m", "[32m", "\x1b"}
)

// mutations are applied one to four at a time.
var mutations = []mutation{
	{"cut at a byte", func(m *mutator) { m.log = m.log[:m.IntN(len(m.log)+1)] }, true},
	{"cut off the beginning", func(m *mutator) { m.log = m.log[m.IntN(len(m.log)+1):] }, true},
	{"cut at a line", func(m *mutator) { l := m.lines(); m.join(l[:m.at(l)]) }, true},
	{"lines dropped", func(m *mutator) {
		for range 1 + m.IntN(5) {
			l := m.lines()
			from, to := m.span(l)
			m.join(slices.Delete(l, from, to))
		}
	}, false},
	{"lines doubled", func(m *mutator) {
		l := m.lines()
		from, to := m.span(l)
		m.join(slices.Insert(l, m.at(l), slices.Clone(l[from:to])...))
	}, false},
	{"lines shuffled", func(m *mutator) {
		l := m.lines()
		from := m.IntN(len(l))
		part := l[from:min(len(l), from+2+m.IntN(200))]
		m.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		m.join(l)
	}, false},
	{"halves swapped", func(m *mutator) { l := m.lines(); i := m.at(l); m.join(append(slices.Clone(l[i:]), l[:i]...)) }, true},
	{"ANSI", func(m *mutator) { m.insertBytes(ansi...) }, false},
	{"ANSI on results", func(m *mutator) {
		m.onLines(statusWords, func(l []byte) []byte { return slices.Insert(l, m.IntN(len(l)), []byte(m.pick(ansi))...) })
	}, false},
	{"CRLF", func(m *mutator) { m.log = bytes.ReplaceAll(m.log, []byte("\n"), []byte("\r\n")) }, false},
	{"CR for some newlines", func(m *mutator) {
		for i, c := range m.log {
			if c == '\n' && m.IntN(8) == 0 {
				m.log[i] = '\r'
			}
		}
	}, false},
	{"CR inside lines", func(m *mutator) { m.insertBytes("\r", "\r\r\n", "\n\r") }, false},
	{"a name again with another status", func(m *mutator) {
		l := m.lines()
		for range 1 + m.IntN(6) {
			line := string(l[m.IntN(len(l))])
			for _, w := range statusWords {
				if strings.Contains(line, w) {
					line = strings.Replace(line, w, m.pick(statusWords), 1)
					l = slices.Insert(l, m.at(l), []byte(line))
					break
				}
			}
		}
		m.join(l)
	}, false},
	{"status words swapped", func(m *mutator) {
		m.onLines(statusWords, func(l []byte) []byte {
			return bytes.Replace(l, []byte(m.pick(statusWords)), []byte(m.pick(statusWords)), 1+m.IntN(2))
		})
	}, false},
	{"status words swapped everywhere", func(m *mutator) {
		a, b := m.pick(statusWords[:8]), m.pick(statusWords[:8])
		m.log = bytes.ReplaceAll(m.log, []byte(a), []byte(b))
	}, false},
	{"result lines of any runner", func(m *mutator) { m.insert(resultLines...) }, false},
	{"markers", func(m *mutator) { m.insert(markerLines...) }, false},
	{"a marker lost", func(m *mutator) {
		w := m.pick([]string{">>>>> Start Test Output", ">>>>> End Test Output"})
		m.log = bytes.ReplaceAll(m.log, []byte(w), []byte(w[:len(w)-1]))
	}, true},
	{"bad codes", func(m *mutator) { m.insert(badCodes...) }, true},
	{"invalid UTF-8", func(m *mutator) { m.insertBytes(invalid...) }, false},
	{"invalid UTF-8 on results", func(m *mutator) {
		m.onLines(statusWords, func(l []byte) []byte { return slices.Insert(l, m.IntN(len(l)), []byte(m.pick(invalid))...) })
	}, false},
	{"NUL", func(m *mutator) { m.insertBytes("\x00", "\x00\x00\n", "\x01", "\x07", "\x08") }, false},
	{"odd characters", func(m *mutator) { m.insertBytes(oddText...) }, false},
	{"odd characters on results", func(m *mutator) {
		m.onLines(statusWords, func(l []byte) []byte {
			i := m.IntN(len(l))
			if j := bytes.IndexByte(l, ' '); j >= 0 && m.IntN(2) == 0 {
				return append(append(bytes.Clone(l[:j]), m.pick(oddText)...), l[j+1:]...) // in place of a blank
			}
			return slices.Insert(l, i, []byte(m.pick(oddText))...)
		})
	}, false},
	{"blanks on results", func(m *mutator) {
		m.onLines(statusWords, func(l []byte) []byte {
			return slices.Insert(l, m.IntN(len(l)), []byte(m.pick([]string{" ", "  ", "\t", " - ", " [", "] ", "::", ": "}))...)
		})
	}, false},
	{"a newline lost", func(m *mutator) {
		for range 1 + m.IntN(3) {
			if i := bytes.IndexByte(m.log[m.IntN(len(m.log)+1):], '\n'); i >= 0 {
				m.log = slices.Delete(m.log, i, i+1)
			}
		}
	}, false},
	{"indented", func(m *mutator) {
		l := m.lines()
		from, to := m.span(l)
		for i := from; i < to; i++ {
			l[i] = append([]byte(m.pick([]string{" ", "  ", "\t", "    "})), l[i]...)
		}
		m.join(l)
	}, false},
	{"exit codes", func(m *mutator) { m.insert(exitLines...) }, false},
	{"exit code behind the end", func(m *mutator) { m.log = append(m.log, m.pick(exitLines)+"\n"...) }, false},
	{"signs of a run", func(m *mutator) { m.insert(evidenceLines...) }, false},
	{"signs of a fault", func(m *mutator) { m.insert(infraLines...) }, false},
	{"signs inside lines", func(m *mutator) { m.insertBytes(append(slices.Clone(evidenceLines), infraLines...)...) }, false},
	{"no results, signs of a fault", func(m *mutator) {
		l := slices.DeleteFunc(m.lines(), func(l []byte) bool {
			return slices.ContainsFunc(statusWords, func(w string) bool { return bytes.Contains(l, []byte(w)) })
		})
		m.join(l)
		m.insert(append(slices.Clone(infraLines), evidenceLines...)...)
	}, true},
	{"empty", func(m *mutator) { m.log = nil }, true},
	{"nothing between the markers", func(m *mutator) {
		i, j := bytes.Index(m.log, []byte(markerLines[2])), bytes.Index(m.log, []byte(markerLines[3]))
		if i >= 0 && j > i {
			m.log = slices.Delete(m.log, i+len(markerLines[2]), j)
		}
	}, false},
	// Names beyond logparse.MaxName are left out by us, so lines stay below it.
	{"a long line", func(m *mutator) {
		i := m.IntN(len(m.log) + 1)
		m.log = slices.Insert(m.log, i, []byte(m.pick([]string{strings.Repeat("x PASSED ", 100), strings.Repeat("a", 900)}))...)
	}, false},
	{"ids cut", func(m *mutator) {
		for _, list := range [][]string{m.task.FailToPass, m.task.PassToPass} {
			for i, id := range list {
				if at := strings.LastIndexByte(id, '['); at >= 0 && m.IntN(2) == 0 {
					list[i] = id[:at+1+m.IntN(len(id)-at)]
				}
			}
		}
	}, false},
	{"ids of the log expected", func(m *mutator) {
		l := m.lines()
		for range 4 {
			// An id that is not UTF-8 can't be in a dataset.
			if f := strings.Fields(string(l[m.IntN(len(l))])); len(f) > 1 && utf8.ValidString(f[1]) {
				m.task.FailToPass = append(m.task.FailToPass, f[1])
			}
		}
	}, false},
	{"nothing expected", func(m *mutator) { m.task.FailToPass, m.task.PassToPass = nil, nil }, false},
	{"the other eval type", func(m *mutator) {
		if m.task.EvalType == eval.EvalFailOnly {
			m.task.EvalType = eval.EvalPassAndFail
		} else {
			m.task.EvalType = eval.EvalFailOnly
		}
	}, false},
}

// mutate makes a case of a base, the same one for the same seed.
func mutate(b base, seed uint64, index int) (task *eval.Task, log []byte, how string) {
	m := &mutator{Rand: rand.New(rand.NewPCG(seed, uint64(index))), log: bytes.Clone(b.log)}
	copied := *b.task
	copied.FailToPass, copied.PassToPass = slices.Clone(copied.FailToPass), slices.Clone(copied.PassToPass)
	m.task = &copied
	// Every mutation has its turn; the others of a case are drawn.
	names := []string{mutations[index%len(mutations)].name}
	mutations[index%len(mutations)].apply(m)
	for range m.IntN(4) {
		if x := mutations[m.IntN(len(mutations))]; !x.harsh {
			x.apply(m)
			names = append(names, x.name)
		}
	}
	return m.task, m.log, fmt.Sprintf("%s: %s", b.name, strings.Join(names, ", "))
}
