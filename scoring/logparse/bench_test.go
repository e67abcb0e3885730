package logparse_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"harness/scoring/logparse"
)

// pytestLog looks like a log of pytest -rA: progress, captured output, a
// traceback now and then, and the summary.
func pytestLog(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "tests/test_module_%d.py::TestThing::test_case_%d[param-%d]\n", i%40, i, i%7)
		b.WriteString(strings.Repeat("DEBUG    some.logger:module.py:120 a message of the usual length that a test prints\n", 6))
		if i%20 == 0 {
			b.WriteString("    def test_case():\n>       assert left == right\nE       AssertionError: assert 1 == 2\nE        +  where 1 = f()\n\n")
		}
	}
	for i := range 3000 {
		fmt.Fprintf(&b, "PASSED tests/test_module_%d.py::TestThing::test_case_%d[param-%d]\n", i%40, i, i%7)
	}
	b.WriteString("FAILED tests/test_module_1.py::test_x - AssertionError: assert 1 == 2\n")
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	log := pytestLog(8 << 20)
	for _, name := range []string{"parse_log_pytest", "parse_log_pytest_v2", "parse_log_django", "parse_log_sympy", "parse_log_gotest", "parse_log_tap"} {
		p, ok := logparse.Lookup(name)
		if !ok {
			b.Fatal(name)
		}
		b.Run(strings.TrimPrefix(name, "parse_log_"), func(b *testing.B) {
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Parse(logparse.TextMode(bytes.NewReader(log)), logparse.Options{Dialect: logparse.V5}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// pattern repeats a text up to a size, without holding it.
type pattern struct {
	text string
	left int64
	at   int
}

func (p *pattern) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(b) && p.left > 0 {
		c := copy(b[n:min(int64(len(b)), int64(n)+p.left)], p.text[p.at:])
		n, p.left, p.at = n+c, p.left-int64(c), (p.at+c)%len(p.text)
	}
	return n, nil
}

// counter makes every line another one.
type counter struct {
	format string
	n      int
	left   int
	buf    []byte
}

func (c *counter) Read(b []byte) (int, error) {
	if len(c.buf) == 0 {
		for len(c.buf) < 64<<10 && c.left > 0 {
			before := len(c.buf)
			c.buf = fmt.Appendf(c.buf, c.format, c.n)
			c.left -= len(c.buf) - before
			c.n++
		}
		if len(c.buf) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(b, c.buf)
	if c.buf = c.buf[n:]; len(c.buf) == 0 {
		c.buf = nil
	}
	return n, nil
}
