package containerd

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// shim plays the shim's part: it opens the pipes by path as that one does.
func openAs(t *testing.T, path string, flag int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func pipes(t *testing.T, stdin io.Reader, out, err io.Writer) *stdio {
	t.Helper()
	s, serr := newStdio(filepath.Join(t.TempDir(), "p"), stdin, out, err)
	if serr != nil {
		t.Fatal(serr)
	}
	t.Cleanup(s.remove)
	return s
}

func TestNoStreamsNoPipes(t *testing.T) {
	s := pipes(t, nil, nil, nil)
	if s.stdinPath+s.stdoutPath+s.stderr != "" {
		t.Errorf("%+v", s)
	}
	s.started(func() { t.Error("stdin closed") })
	if n := s.finish(); n != 0 {
		t.Errorf("dropped %d", n)
	}
}

func TestOutputOfAShortProcess(t *testing.T) {
	defer goleak.VerifyNone(t)
	var out bytes.Buffer
	s := pipes(t, nil, &out, nil)
	w := openAs(t, s.stdoutPath, os.O_WRONLY)
	_, _ = w.WriteString("all of it")
	_ = w.Close() // has written and gone before we begin to read
	s.started(nil)
	if n := s.finish(); n != 0 || out.String() != "all of it" {
		t.Errorf("dropped %d, got %q", n, out.String())
	}
}

func TestOutputHeldOpen(t *testing.T) {
	defer goleak.VerifyNone(t)
	for name, noise := range map[string]bool{"silent holder": false, "noisy holder": true} {
		var out bytes.Buffer
		s := pipes(t, nil, &out, nil)
		w := openAs(t, s.stdoutPath, os.O_WRONLY)
		_, _ = w.WriteString("begin ")
		s.started(nil)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for noise {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					_, _ = w.WriteString("noise ")
				}
			}
		})
		start := time.Now()
		s.finish()
		if took := time.Since(start); took > drainMax+time.Second {
			t.Errorf("%s: finished after %s", name, took)
		}
		size := out.Len()
		close(stop)
		wg.Wait()
		if _, err := w.WriteString("too late"); err == nil {
			t.Errorf("%s: the pipe still takes bytes", name)
		}
		_ = w.Close()
		if out.Len() != size || !strings.HasPrefix(out.String(), "begin ") {
			t.Errorf("%s: the writer was used after finish, or not before: %q", name, out.String())
		}
	}
}

func TestDroppedBytesAreCounted(t *testing.T) {
	defer goleak.VerifyNone(t)
	const size = 4 << 20
	for name, w := range map[string]io.Writer{
		"error": writerFunc(func([]byte) (int, error) { return 0, errors.New("full") }),
		"short": writerFunc(func(b []byte) (int, error) { return len(b) / 2, nil }),
	} {
		s := pipes(t, nil, w, nil)
		f := openAs(t, s.stdoutPath, os.O_WRONLY)
		s.started(nil)
		if _, err := io.Copy(f, bytes.NewReader(make([]byte, size))); err != nil {
			t.Error(err)
		}
		_ = f.Close()
		// A short write takes half of one chunk, then the writer counts as broken.
		if n := s.finish(); n > size || n < size-chunkBytes {
			t.Errorf("%s: dropped %d of %d", name, n, size)
		}
	}
}

func TestStdinReachesTheProcess(t *testing.T) {
	defer goleak.VerifyNone(t)
	data := bytes.Repeat([]byte("x"), 300_000)
	s := pipes(t, bytes.NewReader(data), nil, nil)
	r := openAs(t, s.stdinPath, os.O_RDONLY)
	closed := make(chan struct{})
	s.started(func() { close(closed) })
	got, err := io.ReadAll(r)
	<-closed
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	_ = r.Close()
	if n, err := s.stdin.result(t.Context()); n != int64(len(data)) || err != nil {
		t.Errorf("sent %d, %v", n, err)
	}
	s.finish()
}

func TestStdinOfAProcessThatDoesNotRead(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := pipes(t, bytes.NewReader(make([]byte, 1<<20)), nil, nil)
	r := openAs(t, s.stdinPath, os.O_RDONLY)
	s.started(func() {})
	_ = r.Close()
	s.finish()
	n, err := s.stdin.result(t.Context())
	if err != nil || n == 1<<20 {
		t.Errorf("sent %d, %v", n, err)
	}
}

func TestStdinSourceFails(t *testing.T) {
	defer goleak.VerifyNone(t)
	broken := errors.New("broken")
	s := pipes(t, io.MultiReader(strings.NewReader("x"), errReader{broken}), nil, nil)
	r := openAs(t, s.stdinPath, os.O_RDONLY)
	s.started(func() {})
	_, _ = io.ReadAll(r)
	_ = r.Close()
	if n, err := s.stdin.result(t.Context()); n != 1 || !errors.Is(err, broken) {
		t.Errorf("sent %d, %v", n, err)
	}
	s.finish()
}

type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }

func TestAbort(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := pipes(t, strings.NewReader("x"), io.Discard, io.Discard)
	s.abort()
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("pipes are left: %v", err)
	}
}

func TestSameWriter(t *testing.T) {
	var a, b bytes.Buffer
	uncomparable := writerFunc(func(p []byte) (int, error) { return len(p), nil })
	for _, c := range []struct {
		name string
		x, y io.Writer
		want bool
	}{
		{"same", &a, &a, true}, {"different", &a, &b, false}, {"nil", nil, nil, false}, {"one nil", &a, nil, false},
		{"types differ", &a, os.Stdout, false}, {"not comparable", uncomparable, uncomparable, false},
	} {
		if got := sameWriter(c.x, c.y); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
