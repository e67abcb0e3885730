package logparse_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"harness/scoring/logparse"
)

// maxHeap is how much memory parsing may hold, whatever the log.
const maxHeap = 64 << 20

// watch measures the live heap now and then while a log is read.
type watch struct {
	r          io.Reader
	base, peak uint64
	read       int64
	next       int64
	step       int64
}

func newWatch(r io.Reader, size int64) *watch {
	return &watch{r: r, base: liveHeap(), next: size / 4, step: max(size/4, 1<<20)}
}

func (w *watch) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if w.read += int64(n); w.read >= w.next {
		w.next += w.step
		w.peak = max(w.peak, liveHeap())
	}
	return n, err
}

func (w *watch) held() int64 { return int64(max(w.peak, w.base) - w.base) }

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Whatever a log holds, every parser keeps less than maxHeap of it: one endless
// line, results without end and with ever new names, and documents that never
// close.
func TestMemoryIsBounded(t *testing.T) {
	for _, name := range memoryParsers {
		p, ok := logparse.Lookup(name)
		if !ok {
			t.Fatalf("parser %q is not known", name)
		}
		t.Run(name, func(t *testing.T) {
			for _, l := range []struct {
				name string
				size int64
				log  io.Reader
			}{
				{"endless line", endlessLine, &pattern{text: `PASSED x{"tests":[<testcase name="`, left: endlessLine}},
				{"many results", manyResults, &flood{log: sample(t, p.Name), left: manyResults}},
			} {
				w := newWatch(l.log, l.size)
				res, err := p.Parse(logparse.TextMode(w), optionsFor(p.Name))
				if err != nil && !errors.As(err, new(*logparse.RaisedError)) {
					t.Errorf("%s: %v", l.name, err)
				}
				if w.held() > maxHeap {
					t.Errorf("%s: held %d MiB of a log of %d MiB (%d names)", l.name, w.held()>>20, w.read>>20, res.Tests.Len())
				}
			}
		})
	}
}

// A map that is full, of many names or of long ones, holds no more.
func TestFullMaps(t *testing.T) {
	const size = 24 << 20
	for _, l := range []struct{ parser, format string }{
		{"parse_log_pytest", "PASSED t%d::" + strings.Repeat("x", 60) + "\n"},
		{"parse_log_django", "t%d::" + strings.Repeat("x", 600) + " ... ok\n"},
		{"parse_log_django", "FAIL: %d" + strings.Repeat("y", 300<<10) + "\n"},
	} {
		p, _ := logparse.Lookup(l.parser)
		w := newWatch(&counter{format: l.format, left: size}, size)
		res, err := p.Parse(logparse.TextMode(w), optionsFor(l.parser))
		if err != nil {
			t.Fatal(err)
		}
		if w.held() > maxHeap || !res.Tests.Capped() {
			t.Errorf("%s, %.10q: held %d MiB, %d names, capped: %t", l.parser, l.format, w.held()>>20, res.Tests.Len(), res.Tests.Capped())
		}
	}
}

// optionsFor gives a parser what it chooses its format by.
func optionsFor(name string) logparse.Options {
	opt := logparse.Options{Dialect: logparse.V5, InstanceID: "jekyll__jekyll-9141", Version: "9.5"}
	if name == "parse_log_immutable_js" {
		opt.InstanceID = "immutable-js__immutable-js-2006"
	}
	return opt
}

// sample is the log of a parser's first test file.
func sample(t testing.TB, name string) string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		header, log, _ := strings.Cut(string(data), "\n\n")
		if strings.Contains(header+"\n", "parser "+name+"\n") {
			return log
		}
	}
	t.Fatalf("testdata has no log for %s", name)
	return ""
}

// flood repeats a log, each time with other names: words that names hold grow by
// the same number.
type flood struct {
	log   string
	left  int
	n     int
	parts []string // what stands between the numbers
	buf   []byte
}

// floodPlaces are behind a word of a name: before a blank, a quote or a line's end.
var floodPlaces = regexp.MustCompile(`(?:[Tt]ests?|adds?|divides?|breaks?|one|two|works|core|alpha|inner|[a-c])([ "\n])`)

func (f *flood) Read(p []byte) (int, error) {
	if len(f.buf) == 0 {
		if f.left <= 0 {
			return 0, io.EOF
		}
		if f.parts == nil {
			last := 0
			for _, m := range floodPlaces.FindAllStringSubmatchIndex(f.log, -1) {
				f.parts = append(f.parts, f.log[last:m[2]])
				last = m[2]
			}
			f.parts = append(f.parts, f.log[last:])
		}
		f.n++
		f.buf = f.buf[:0]
		for i, part := range f.parts {
			if i > 0 {
				f.buf = strconv.AppendInt(f.buf, int64(f.n), 10)
			}
			f.buf = append(f.buf, part...)
		}
		f.buf = append(f.buf, '\n')
		f.left -= len(f.buf)
	}
	n := copy(p, f.buf)
	f.buf = f.buf[n:]
	return n, nil
}
