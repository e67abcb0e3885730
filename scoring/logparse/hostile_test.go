package logparse_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"harness/scoring/logparse"
)

// hostileLogs are small logs of the kinds that tests and candidates print.
var hostileLogs = map[string]string{
	"empty":             "",
	"blank lines":       "\n\n \n\t\n",
	"no line end":       "PASSED",
	"NUL":               "PASSED a\x00b\n\x00\x00\nok 1 - \x00\n{\"name\":\"\x00\"}\n<testcase name=\"\x00\"/>\n",
	"not UTF-8":         "PASSED caf\xc3\n\xff\xfe\xfd\nok 1 - \xed\xa0\x80\n\xe2\x80 ✔ x\n<testsuite><testcase name=\"\xf0\x9f\"/></testsuite>\n{\"nodeid\":\"\xff\",\"outcome\":\"passed\"}\n",
	"progress":          "  1%\r  2%\r 99%\rPASSED a\rok 1 - a\r\n\r\r\n✓ a\r",
	"ANSI":              "\x1b[32mPASSED\x1b[0m a\n\x1b]0;title\x07ok 1 - a\n\x1b[2K\x1b[1A✔ b\x1b[0m\n\x1b[\x1b[31m\n",
	"python's breaks":   "a\v\f\x1c\x1d\x1e\u0085\u2028\u2029PASSED b\n✔ c\u2028✘ d\n",
	"only marks":        "✔\n✘\n✓ \n - \n1)\nok\nnot ok\nPASSED\nFAILED \nERROR:\nFAIL:\n--- PASS:\n[OK]\n[ok]: \n{\n[\n<\n",
	"open documents":    `<?xml version="1.0"?><testsuites><testsuite><testcase name="a"><failure>` + "\n" + `{"results":{"tests":[{"name":"a","status":`,
	"deep documents":    strings.Repeat("<testsuite>", 3000) + "\n" + strings.Repeat(`{"a":[`, 3000) + "\n" + strings.Repeat("<doctest>", 3000) + "</doctest>\n",
	"entities":          `<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><testsuite><testcase name="&c;"/></testsuite>` + "\n",
	"deep indentation":  strings.Repeat(" ", 70000) + "x\n" + strings.Repeat(" ", 60000) + "✔ y\n  z\n",
	"many suites":       strings.Repeat("Starting browser\n", 1) + nested(300),
	"cut in characters": "PASSED" + strings.Repeat("é", 1<<10) + " a\n# Subtest: " + strings.Repeat("é", 5000) + "\n    ok 1 - " + strings.Repeat("\xff", 9000) + "\n",
	"numbers":           "Tests run: 99999999999999999999999999, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 s - in a.B\nok 99999999999999999999 - a\nTest Summary: | Pass\na | 99999999999999999999 99999999999999999999\n",
}

// nested is a heading in each column up to n, and a test below them.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "suite\n")
	}
	return b.String() + strings.Repeat(" ", n) + "✔ test\n"
}

// Every parser reads whatever a log holds: it may find nothing or say what the
// official one raises, but it does neither fail nor lose count. Our own dialect
// goes on where that raises.
func TestHostileLogs(t *testing.T) {
	for _, p := range logparse.Builtin() {
		for name, log := range hostileLogs {
			res, err := p.Parse(logparse.TextMode(strings.NewReader(log)), optionsFor(p.Name))
			if err != nil && !errors.As(err, new(*logparse.RaisedError)) {
				t.Errorf("%s, %s: %v", p.Name, name, err)
			}
			if msg := coverageFault(res.Coverage, int64(len(log))); msg != "" {
				t.Errorf("%s, %s: %s", p.Name, name, msg)
			}
			ours := optionsFor(p.Name)
			ours.Dialect = logparse.Ours
			if _, err := p.Parse(logparse.TextMode(strings.NewReader(log)), ours); err != nil {
				t.Errorf("%s, %s: our dialect stops: %v", p.Name, name, err)
			}
			for n, s := range res.Tests.All() {
				if len(n) > logparse.MaxName || len(s) > logparse.MaxStatus {
					t.Errorf("%s, %s: a name of %d bytes, a status of %d", p.Name, name, len(n), len(s))
				}
				if !utf8.ValidString(n) || !utf8.ValidString(s) {
					t.Errorf("%s, %s: %q, %q is no text", p.Name, name, n, s)
				}
			}
		}
	}
}

// coverageFault says what is wrong with a coverage of a log of n bytes.
func coverageFault(c *logparse.Coverage, n int64) string {
	switch {
	case c == nil:
		return ""
	case c.Bytes > n:
		return "more bytes are counted than there are"
	case c.UnplacedLines > c.Lines, c.UnplacedBytes > c.Bytes, c.UnplacedLines < 0, c.UnplacedBytes < 0:
		return "more is left unplaced than was read"
	case c.UnplacedLines == 0 != (c.UnplacedBytes == 0):
		return "lines and bytes disagree"
	}
	return ""
}

func TestCoverage(t *testing.T) {
	tests := []struct {
		parser, log string
		want        *logparse.Coverage
	}{
		{"parse_log_pytest", "PASSED a\nnoise\n\nFAILED b", &logparse.Coverage{Lines: 4, Bytes: 24, UnplacedLines: 1, UnplacedBytes: 6}},
		{"parse_log_pytest", "", &logparse.Coverage{}},
		{"parse_log_phpunit", "Suite (a)\n ✔ b\nnoise\n", &logparse.Coverage{Lines: 3, Bytes: 23, UnplacedLines: 1, UnplacedBytes: 6}},
		{"parse_log_karma", "Starting browser\n ✔ a\nSUMMARY:\nnot read\n", &logparse.Coverage{Lines: 3, Bytes: 33, UnplacedLines: 2, UnplacedBytes: 26}},
		{"multi/cargo", "test a ... ok\nnoise\n", &logparse.Coverage{Lines: 2, Bytes: 20, UnplacedLines: 1, UnplacedBytes: 6}},
		{"junit_xml", "noise\n<testsuite>\n<testcase name=\"a\"/>\n\n</testsuite>\nnoise", &logparse.Coverage{Lines: 6, Bytes: 58, UnplacedLines: 2, UnplacedBytes: 11}},
		{"ctrf", "{\n\"results\":{\"tests\":[]}}\nnoise\n", &logparse.Coverage{Lines: 3, Bytes: 32, UnplacedLines: 1, UnplacedBytes: 6}},
		{"parse_log_doctest", "read as a whole\n", nil},
	}
	for _, tt := range tests {
		p, _ := logparse.Lookup(tt.parser)
		res, err := p.Parse(strings.NewReader(tt.log), optionsFor(tt.parser))
		if err != nil {
			t.Fatal(err)
		}
		if (res.Coverage == nil) != (tt.want == nil) || tt.want != nil && *res.Coverage != *tt.want {
			t.Errorf("%s, %q: got %+v, want %+v", tt.parser, tt.log, res.Coverage, tt.want)
		}
	}
	// A line that was cut counts whole.
	p, _ := logparse.Lookup("parse_log_pytest")
	log := append(bytes.Repeat([]byte("x"), 3*logparse.MaxLine), "\nPASSED a\n"...)
	res, err := p.Parse(bytes.NewReader(log), logparse.Options{})
	if err != nil || res.Coverage.Bytes != int64(len(log)) || res.Coverage.UnplacedBytes != 3*logparse.MaxLine+1 {
		t.Errorf("a long line: %+v, %v", res.Coverage, err)
	}
}

// What a line costs does not grow with what stood before it, nor by the square of
// its length: these logs would not be read in minutes, or take gigabytes, if it did.
func TestCostIsLinear(t *testing.T) {
	const size, most = 1 << 19, 1500 // bytes, and bytes allocated for each
	heading := strings.Repeat("h", 2000)
	var headings strings.Builder
	for i := range 64 {
		headings.WriteString(strings.Repeat(" ", i+1) + heading + "\n")
	}
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for _, tt := range []struct{ parser, log string }{
		{"tap", "ok 1 " + strings.Repeat("#", size/2) + strings.Repeat("\v", size/2)},
		{"parse_log_karma", "Starting browser\n" + headings.String() + fill(strings.Repeat(" ", 64)+"✔ x\n")},
		{"rebench2/parse_log_js_3", strings.Repeat("ok 1 - "+heading+" {\n", 64) + fill("ok 1 - x\n")},
		{"parse_log_p5js", strings.Repeat("<a>", size/6) + strings.Repeat("</a>", size/8)},
		{"parse_log_doctest", "<doctest>" + strings.Repeat(`<TestCase name="a">`, 95) + fill("<SubCase/>") + strings.Repeat("</TestCase>", 95) + "</doctest>"},
		{"rebench2/parse_log_haskell_v2", "Failures:\n1) " + fill(",")},
	} {
		p, _ := logparse.Lookup(tt.parser)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := p.Parse(strings.NewReader(tt.log), optionsFor(tt.parser)); err != nil {
			t.Errorf("%s: %v", tt.parser, err)
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / uint64(len(tt.log)); n > most {
			t.Errorf("%s: %d bytes were allocated for each byte of the log, want at most %d", tt.parser, n, most)
		}
	}
}

// A document whose elements or attributes have no end is none, before it takes
// more memory than it has bytes.
func TestXMLBounds(t *testing.T) {
	p, _ := logparse.Lookup("rebench2/parse_combined_test_reports")
	for _, tt := range []struct {
		deep, attributes, want int
	}{{1, 2, 1}, {90, 2, 1}, {101, 2, 0}, {1, 1000, 1}, {1, 1001, 0}} {
		var attributes strings.Builder
		for i := range tt.attributes - 1 {
			fmt.Fprintf(&attributes, ` a%d='"='`, i)
		}
		log := `<?xml version="1.0"?><testsuites>` + strings.Repeat("<testsuite>", tt.deep-1) + `<testcase name="a"` + attributes.String() + "/>" +
			strings.Repeat("</testsuite>", tt.deep-1) + "</testsuites>\n"
		res, err := p.Parse(strings.NewReader(log), logparse.Options{})
		if err != nil || res.Tests.Len() != tt.want {
			t.Errorf("%d elements, %d attributes: %d tests, %v, want %d", tt.deep, tt.attributes, res.Tests.Len(), err, tt.want)
		}
	}
}
