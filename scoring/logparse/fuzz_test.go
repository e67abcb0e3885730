package logparse_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"harness/scoring/logparse"
)

// seeds adds the logs of testdata to a fuzz target: f.Add is called with each
// parser's place in Builtin and its log.
func seeds(f *testing.F, add func(parser int, log []byte)) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("%d files of testdata, %v", len(files), err)
	}
	place := map[string]int{}
	for i, p := range logparse.Builtin() {
		place[p.Name] = i
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		header, log, _ := bytes.Cut(data, []byte("\n\n"))
		first, _, _ := strings.Cut(string(header), "\n")
		add(place[strings.TrimPrefix(first, "parser ")], log)
	}
}

// FuzzParsers: no log makes a parser panic or fail, and neither the way in which
// it arrives nor a second reading changes what is found.
func FuzzParsers(f *testing.F) {
	all := logparse.Builtin()
	seeds(f, func(parser int, log []byte) { f.Add(parser, log) })
	f.Fuzz(func(t *testing.T, parser int, log []byte) {
		p := all[uint(parser)%uint(len(all))]
		opt := optionsFor(p.Name)
		a, errA := p.Parse(bytes.NewReader(log), opt)
		b, errB := p.Parse(iotest.OneByteReader(bytes.NewReader(log)), opt)
		if errA != nil && !errors.As(errA, new(*logparse.RaisedError)) {
			t.Fatalf("%s: %v", p.Name, errA)
		}
		if fmt.Sprint(errA) != fmt.Sprint(errB) || marshal(t, a.Tests) != marshal(t, b.Tests) {
			t.Errorf("%s: the way the log arrives matters: %v %s, %v %s", p.Name, errA, marshal(t, a.Tests), errB, marshal(t, b.Tests))
		}
		if msg := coverageFault(a.Coverage, int64(len(log))); msg != "" {
			t.Errorf("%s: %s: %+v of %d bytes", p.Name, msg, a.Coverage, len(log))
		}
	})
}

func marshal(t *testing.T, m *logparse.StatusMap) string {
	t.Helper()
	b, err := m.MarshalJSON()
	if err != nil || !json.Valid(b) {
		t.Fatalf("%v: %s", err, b)
	}
	return string(b)
}

// FuzzStructured: what a document holds is the same whatever stands around it.
func FuzzStructured(f *testing.F) {
	names := []string{"junit_xml", "ctrf", "pytest_json", "gotest_json", "tap"}
	seeds(f, func(parser int, log []byte) {
		for i, n := range names {
			if logparse.Builtin()[parser].Name == n {
				f.Add(i, log)
			}
		}
	})
	f.Fuzz(func(t *testing.T, parser int, doc []byte) {
		p, _ := logparse.Lookup(names[uint(parser)%uint(len(names))])
		opt := logparse.Options{Dialect: logparse.V5}
		alone, err := p.Parse(bytes.NewReader(doc), opt)
		if err != nil {
			t.Fatal(err)
		}
		among, err := p.Parse(io.MultiReader(strings.NewReader("+ cat report\n"), bytes.NewReader(doc), strings.NewReader("\ndone\n")), opt)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := marshal(t, alone.Tests), marshal(t, among.Tests); a != b {
			t.Errorf("%s: alone %s, among lines %s", p.Name, a, b)
		}
		for n, s := range alone.Tests.All() {
			switch s {
			case logparse.Passed, logparse.Failed, logparse.Skipped, logparse.Error, logparse.XFail:
			default:
				t.Errorf("%s: %q has status %q", p.Name, n, s)
			}
			if !utf8.ValidString(n) {
				t.Errorf("%s: %q is no text", p.Name, n)
			}
		}
	})
}

// FuzzLineReader: lines are those of bytes.Split, however they arrive, and their
// offsets add up.
func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\n\nb"), 3)
	f.Add([]byte("\n\n"), 1)
	f.Fuzz(func(t *testing.T, log []byte, repeat int) {
		log = bytes.Repeat(log, 1+int(uint(repeat)%64))
		want := bytes.Split(log, []byte("\n"))
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		for _, r := range []io.Reader{bytes.NewReader(log), iotest.HalfReader(bytes.NewReader(log)), iotest.DataErrReader(bytes.NewReader(log))} {
			lines := logparse.NewLineReader(r)
			n := 0
			for ; ; n++ {
				line, err := lines.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil || n >= len(want) || !bytes.Equal(line, want[n]) {
					t.Fatalf("line %d: %q, %v", n, line, err)
				}
			}
			if n != len(want) || lines.Offset() != int64(len(log)) {
				t.Fatalf("%d lines of %d, offset %d of %d", n, len(want), lines.Offset(), len(log))
			}
		}
	})
}

// FuzzTextMode: line ends are those of Python's text mode, and decoding gives
// text.
func FuzzTextMode(f *testing.F) {
	f.Add([]byte("a\r\nb\rc\n\r\r\n"))
	f.Add([]byte("\xe2\x80\r\xff"))
	f.Fuzz(func(t *testing.T, log []byte) {
		want := bytes.ReplaceAll(bytes.ReplaceAll(log, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
		for _, r := range []io.Reader{bytes.NewReader(log), iotest.OneByteReader(bytes.NewReader(log)), iotest.HalfReader(bytes.NewReader(log))} {
			got, err := io.ReadAll(logparse.TextMode(r))
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("got %q, %v, want %q", got, err, want)
			}
		}
		text := logparse.Decode(want)
		if !utf8.Valid(text) || utf8.Valid(want) && !bytes.Equal(text, want) {
			t.Errorf("%q decodes to %q", want, text)
		}
	})
}
