package logparse_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"harness/scoring/logparse"
)

// A line that is too long keeps its beginning and its end; those around it are
// not touched.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 3*logparse.MaxLine)
	log := "PASSED before\nPASSED " + long + "\nsome.Test ... " + long + " ... ok\nPASSED after\n"
	for _, chunk := range []func(io.Reader) io.Reader{
		func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.DataErrReader,
	} {
		r := logparse.NewLineReader(chunk(strings.NewReader(log)))
		var got []string
		for {
			line, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(line) > logparse.MaxLine {
				t.Errorf("a line of %d bytes was kept", len(line))
			}
			got = append(got, fmt.Sprintf("%.8s..%s", line, line[max(0, len(line)-6):]))
		}
		want := []string{"PASSED b..before", "PASSED x..xxxxxx", "some.Tes..... ok", "PASSED a.. after"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if r.Long() != 2 {
			t.Errorf("counted %d long lines, want 2", r.Long())
		}
	}
}

// How a log arrives does not matter.
func TestChunksDoNotMatter(t *testing.T) {
	log := "PASSED a\r\nFAILED b - x\rERROR c\n\r\n\rSKIPPED d\r"
	want := "map[a:PASSED b:FAILED c:ERROR d:SKIPPED]"
	for i, chunk := range []func(io.Reader) io.Reader{
		func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader,
	} {
		p, _ := logparse.Lookup("parse_log_pytest")
		res, err := p.Parse(logparse.TextMode(chunk(strings.NewReader(log))), logparse.Options{Dialect: logparse.V5})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for n, s := range res.Tests.All() {
			got[n] = s
		}
		if fmt.Sprint(got) != want {
			t.Errorf("reader %d: got %v, want %s", i, got, want)
		}
	}
}

// A reader's failure is told, with what was found before it.
func TestReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, p := range logparse.Builtin() {
		r := io.MultiReader(strings.NewReader("PASSED a\n"), iotest.ErrReader(broken))
		opt := logparse.Options{Dialect: logparse.V5, InstanceID: "jekyll__jekyll-9141", Version: "9.5"}
		if p.Name == "parse_log_immutable_js" {
			opt.InstanceID = "immutable-js__immutable-js-2006"
		}
		if _, err := p.Parse(r, opt); !errors.Is(err, broken) {
			t.Errorf("%s: got %v, want %v", p.Name, err, broken)
		}
	}
}

func TestTextMode(t *testing.T) {
	tests := []struct{ in, want string }{
		{"a\r\nb\rc\n\r\r\n", "a\nb\nc\n\n\n"},
		{"\r", "\n"},
		{"plain\n", "plain\n"},
		{"", ""},
	}
	for _, tt := range tests {
		for _, chunk := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.DataErrReader} {
			got, err := io.ReadAll(logparse.TextMode(chunk(strings.NewReader(tt.in))))
			if err != nil || string(got) != tt.want {
				t.Errorf("%q: got %q, %v, want %q", tt.in, got, err, tt.want)
			}
		}
	}
}

// Decode replaces as Python does: one U+FFFD for each maximal broken part.
func TestDecode(t *testing.T) {
	tests := []struct{ in, want string }{
		{"ok é\x00", "ok é\x00"},
		{"\xe2", "\ufffd"},
		{"\xe2\x82x", "\ufffdx"},
		{"\xf0\x9f\x98", "\ufffd"},
		{"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		{"\xc0\xaf", "\ufffd\ufffd"},
		{"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
		{"a\xff\xfeb", "a\ufffd\ufffdb"},
	}
	for _, tt := range tests {
		if got := logparse.Decode([]byte(tt.in)); string(got) != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// A full map still takes the tests that were asked for, and says that it dropped others.
func TestWantedTestsAreKept(t *testing.T) {
	p, _ := logparse.Lookup("parse_log_pytest")
	flood := &counter{format: "PASSED flood%d\n", left: 4 << 20}
	log := io.MultiReader(flood, strings.NewReader("FAILED wanted\nPASSED other\n"))
	res, err := p.Parse(log, logparse.Options{Dialect: logparse.V5, Want: [][]string{{"wanted"}}})
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := res.Tests.Get("wanted"); s != logparse.Failed {
		t.Errorf("wanted test is %q", s)
	}
	if _, ok := res.Tests.Get("other"); ok || !res.Tests.Capped() {
		t.Errorf("the map was not capped: %d names", res.Tests.Len())
	}
}
