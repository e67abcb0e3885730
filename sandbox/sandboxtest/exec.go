package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/sandbox"
)

var canExec = []sandbox.Capability{sandbox.CapExec}

var execTests = []test{
	{"exit codes", canExec, testExitCodes},
	{"environment and work dir", canExec, testEnvironment},
	{"streams", canExec, testStreams},
	{"stdin", canExec, testStdin},
	{"writers that fail or hang", canExec, testBadWriters},
	{"output floods", canExec, testFloods},
	{"orphans are reaped", canExec, testOrphans},
	{"output held open by a grandchild", canExec, testHeldOutput},
	{"concurrent execs", canExec, testConcurrent},
	{"deadline kills everything", canExec, testDeadline},
	{"cancelled by the caller", canExec, testCancel},
	{"close and kill under a running exec", canExec, testCloseUnderExec},
	{"processes kill each other", canExec, testKillInside},
}

func testExitCodes(t *testing.T, e *env) {
	b := e.create(t)
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"success", []string{"true"}, 0},
		{"failure", []string{"false"}, 1},
		{"shell", []string{"sh", "-c", "exit 7"}, 7},
		{"highest", []string{"sh", "-c", "exit 255"}, 255},
		{"absolute path", []string{"/bin/sh", "-c", "exit 3"}, 3},
		{"KILL", []string{"sh", "-c", "kill -KILL $$"}, 128 + 9},
		{"TERM", []string{"sh", "-c", "kill -TERM $$"}, 128 + 15},
		{"SEGV", []string{"sh", "-c", "kill -SEGV $$"}, 128 + 11},
		{"no such command", []string{"no-such-command"}, 127},
		{"no such file", []string{"/no/such/file"}, 127},
		{"not executable", []string{"/etc/passwd"}, 126},
		{"folder", []string{"/etc"}, 126},
	} {
		for _, merged := range []bool{false, true} {
			var out, errs bytes.Buffer
			p := sandbox.Process{Args: c.args, Stdout: &out, Stderr: &errs}
			if merged {
				p.Stderr = &out
			}
			x, err := b.Exec(t.Context(), p)
			if err != nil || x.Code != c.want || x.Died || x.TimedOut || x.Dropped != 0 {
				t.Errorf("%s (merged %v): %+v, %v; want code %d", c.name, merged, x, err, c.want)
			}
			if x.Started.IsZero() || x.Ended.Before(x.Started) {
				t.Errorf("%s: started %v, ended %v", c.name, x.Started, x.Ended)
			}
		}
	}
	for name, p := range map[string]sandbox.Process{
		"no command":        {},
		"argument with NUL": {Args: []string{"echo", "a\x00b"}},
		"relative work dir": {Args: []string{"true"}, WorkDir: "tmp"},
	} {
		if _, err := b.Exec(t.Context(), p); !errors.Is(err, sandbox.ErrInvalidSpec) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func testEnvironment(t *testing.T, e *env) {
	b := e.create(t, func(s *sandbox.Spec) {
		s.WorkDir = "/made/for/this"
		s.Env = []string{"A=spec", "B=spec", "EMPTY="}
		s.Files = []sandbox.File{
			{Path: "/made/file", Mode: 0o640, Data: []byte("one\n")},
			{Path: "/bin/through-a-link", Mode: 0o755, Data: []byte("#!/bin/sh\necho ran $1\n")}, // /bin is a link in Debian
			{Path: "/made/empty", Mode: 0o600},
		}
	})
	var out bytes.Buffer
	x, err := b.Exec(t.Context(), sandbox.Process{
		Args: []string{"sh", "-c", `echo "$A $B $C [$EMPTY] $HOME"; pwd; cat /made/file; stat -c %a /made/file /made/empty; through-a-link $C; cat /proc/sys/kernel/hostname; id -u`},
		Env:  []string{"B=process", "C=process"}, Stdout: &out,
	})
	if err != nil || x.Code != 0 {
		t.Fatalf("%+v, %v", x, err)
	}
	want := "spec process process [] /root\n/made/for/this\none\n640\n600\nran process\nsandbox\n0\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	if _, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"pwd"}, WorkDir: "/etc", Stdout: &out}); err != nil || out.String() != "/etc\n" {
		t.Errorf("work dir of a process: %q, %v", out.String(), err)
	}
}

func testStreams(t *testing.T, e *env) {
	b := e.create(t)
	var out, errs bytes.Buffer
	if _, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sh", "-c", "echo out; echo err >&2"}, Stdout: &out, Stderr: &errs}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "out\n" || errs.String() != "err\n" {
		t.Errorf("stdout %q, stderr %q", out.String(), errs.String())
	}
	for name, p := range map[string]sandbox.Process{
		"only stdout": {Stdout: &out}, "only stderr": {Stderr: &errs}, "neither": {},
	} {
		out.Reset()
		errs.Reset()
		p.Args = []string{"sh", "-c", "echo out; echo err >&2; exit 5"}
		if x, err := b.Exec(t.Context(), p); err != nil || x.Code != 5 {
			t.Errorf("%s: %+v, %v", name, x, err)
		}
		if p.Stdout != nil && out.String() != "out\n" || p.Stderr != nil && errs.String() != "err\n" {
			t.Errorf("%s: stdout %q, stderr %q", name, out.String(), errs.String())
		}
	}
	// One writer for both: order of arrival, to the line.
	got, _ := sh(t, b, `i=0; while [ $i -lt 500 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done`)
	var want strings.Builder
	for i := range 500 {
		fmt.Fprintf(&want, "o%d\ne%d\n", i, i)
	}
	if got != want.String() {
		t.Errorf("merged streams are out of order: %q", clip(got))
	}
	// Bytes as they came.
	raw, _ := sh(t, b, `printf 'a\000b\r\n\377\033[31m'`)
	if raw != "a\x00b\r\n\xff\x1b[31m" {
		t.Errorf("bytes were changed: %q", raw)
	}
}

func testStdin(t *testing.T, e *env) {
	b := e.create(t)
	data := bytes.Repeat([]byte("0123456789abcdef\n"), 70_000) // more than any pipe holds
	var out bytes.Buffer
	x, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"cat"}, Stdin: bytes.NewReader(data), Stdout: &out})
	if err != nil || x.Code != 0 || !bytes.Equal(out.Bytes(), data) {
		t.Errorf("cat gave %d of %d bytes back, %+v, %v", out.Len(), len(data), x, err)
	}
	if x, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sh", "-c", "read x"}}); err != nil || x.Code != 1 {
		t.Errorf("no stdin should be an empty one: %+v, %v", x, err)
	}
	// A process that does not read, with a reader that never ends.
	start := time.Now()
	x, err = b.Exec(t.Context(), sandbox.Process{Args: []string{"true"}, Stdin: endless{}})
	if err != nil || x.Code != 0 || time.Since(start) > 10*time.Second {
		t.Errorf("unread stdin: %+v, %v after %s", x, err, time.Since(start))
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func testBadWriters(t *testing.T, e *env) {
	b := e.create(t)
	const size = 8 << 20
	script := fmt.Sprintf("yes | head -c %d", size)

	fails := &limited{n: 10}
	x, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sh", "-c", script}, Stdout: fails})
	if err != nil || x.Code != 0 || x.Dropped != size-10 {
		t.Errorf("failing writer: %+v, %v; want %d dropped", x, err, size-10)
	}

	release := make(chan struct{})
	hangs := &hanging{release: release}
	start := time.Now()
	x, err = b.Exec(t.Context(), sandbox.Process{Args: []string{"sh", "-c", script}, Stdout: hangs})
	close(release)
	if err != nil || x.Code != 0 || x.Dropped == 0 || time.Since(start) > 20*time.Second {
		t.Errorf("hanging writer: %+v, %v after %s", x, err, time.Since(start))
	}

	// Slow, but not stuck: nothing is lost.
	slow := &slowWriter{}
	x, err = b.Exec(t.Context(), sandbox.Process{Args: []string{"sh", "-c", script}, Stdout: slow})
	if err != nil || x.Code != 0 || x.Dropped != 0 || slow.n != size {
		t.Errorf("slow writer took %d of %d bytes: %+v, %v", slow.n, size, x, err)
	}
}

type limited struct{ n int }

func (l *limited) Write(b []byte) (int, error) {
	if l.n < len(b) {
		n := l.n
		l.n = 0
		return n, io.ErrShortWrite
	}
	l.n -= len(b)
	return len(b), nil
}

type hanging struct{ release chan struct{} }

func (h *hanging) Write(b []byte) (int, error) { <-h.release; return len(b), nil }

type slowWriter struct{ n int }

func (s *slowWriter) Write(b []byte) (int, error) {
	time.Sleep(5 * time.Millisecond)
	s.n += len(b)
	return len(b), nil
}

// counter counts bytes and the highest heap seen meanwhile.
type counter struct {
	n, last int64
	peak    uint64
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	if c.n-c.last > 64<<20 {
		c.last = c.n
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		c.peak = max(c.peak, m.HeapInuse)
	}
	return len(b), nil
}

func testFloods(t *testing.T, e *env) {
	b := e.create(t)
	for name, c := range map[string]struct {
		script string
		size   int64
	}{
		"many lines": {"yes | head -c 1073741824", 1 << 30},
		"one line":   {"head -c 268435456 /dev/zero", 256 << 20},
	} {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w := &counter{}
		start := time.Now()
		x, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sh", "-c", c.script}, Stdout: w})
		if err != nil || x.Code != 0 || w.n+x.Dropped != c.size || x.Dropped != 0 {
			t.Errorf("%s: %d bytes and %d dropped of %d: %+v, %v", name, w.n, x.Dropped, c.size, x, err)
		}
		if w.peak > m.HeapInuse+32<<20 {
			t.Errorf("%s: our heap grew from %d to %d MiB", name, m.HeapInuse>>20, w.peak>>20)
		}
		t.Logf("%s: %d MiB in %s", name, c.size>>20, time.Since(start).Round(time.Millisecond))
	}
}

func testOrphans(t *testing.T, e *env) {
	b := e.create(t)
	must(t, b, `i=0; while [ $i -lt 2000 ]; do (true &); i=$((i+1)); done`)
	// Process 1 collects them; a moment may pass.
	out := must(t, b, `for n in 1 2 3 4 5 6 7 8 9 10; do z=$(ps -eo stat= | grep -c '^Z'); [ "$z" = 0 ] && break; sleep 0.3; done; echo $z`)
	if out != "0" {
		t.Errorf("%s zombies are left", out)
	}
}

func testHeldOutput(t *testing.T, e *env) {
	b := e.create(t)
	for name, script := range map[string]string{
		"background child": "sleep 300 & echo done",
		"daemon":           "setsid sh -c 'sleep 300' >&1 2>&1 </dev/null & echo done",
		"chatty daemon":    "setsid sh -c 'while :; do echo noise; sleep 0.05; done' & sleep 0.3; echo done",
	} {
		start := time.Now()
		out, x := sh(t, b, script)
		if took := time.Since(start); x.Code != 0 || !strings.Contains(out, "done\n") || took > 10*time.Second {
			t.Errorf("%s: %+v after %s, output %q", name, x, took, clip(out))
		}
	}
	start := time.Now()
	end(t, b)
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("close took %s", took)
	}
}

func testConcurrent(t *testing.T, e *env) {
	b := e.create(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			var out bytes.Buffer
			x, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sh", "-c", fmt.Sprintf("sleep 0.1; echo %d; exit %d", i, i)}, Stdout: &out, Stderr: &out})
			if err != nil || x.Code != i || out.String() != fmt.Sprintf("%d\n", i) {
				t.Errorf("exec %d: %+v, %v, %q", i, x, err, out.String())
			}
		})
	}
	wg.Wait()
}

// stubborn ignores all signals it can, in its own session, and says so.
const stubborn = `trap "" TERM INT HUP; setsid sh -c 'trap "" TERM INT HUP; while :; do sleep 1; done' & echo started; while :; do sleep 1; done`

func testDeadline(t *testing.T, e *env) {
	for name, cause := range map[string]error{"plain": nil, "with a cause": sandbox.ErrDeadline} {
		b := e.create(t)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 1500*time.Millisecond, cause)
		var out bytes.Buffer
		start := time.Now()
		x, err := b.Exec(ctx, sandbox.Process{Args: []string{"sh", "-c", stubborn}, Stdout: &out, Stderr: &out})
		took := time.Since(start)
		cancel()
		if err != nil || !x.TimedOut || x.Died || x.Code != 137 {
			t.Errorf("%s: %+v, %v", name, x, err)
		}
		if took > 1500*time.Millisecond+2*time.Second {
			t.Errorf("%s: returned %s after the deadline", name, took-1500*time.Millisecond)
		}
		if out.String() != "started\n" {
			t.Errorf("%s: output before the deadline is lost: %q", name, out.String())
		}
		expectNoProcess(t, e, b)
		expectClosed(t, b)
		f := end(t, b)
		if f.Died || f.OOMKilled || !contains(f.LimitsHit, "wall") {
			t.Errorf("%s: final %+v", name, f)
		}
	}
}

// expectNoProcess checks from the host that nothing of the sandbox runs.
func expectNoProcess(t *testing.T, e *env, b sandbox.Sandbox) {
	t.Helper()
	list, err := e.rt.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.ID == b.ID() && s.State == "running" {
			t.Errorf("sandbox still runs: %+v", s)
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func testCancel(t *testing.T, e *env) {
	b := e.create(t)
	why := errors.New("nobody wants it")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { time.Sleep(500 * time.Millisecond); cancel(why) }()
	x, err := b.Exec(ctx, sandbox.Process{Args: []string{"sleep", "100"}})
	if !errors.Is(err, why) || x.TimedOut || x.Died {
		t.Errorf("%+v, %v", x, err)
	}
	expectClosed(t, b)
}

func testCloseUnderExec(t *testing.T, e *env) {
	for name, stop := range map[string]func(sandbox.Sandbox) error{
		"close": func(b sandbox.Sandbox) error { _, err := b.Close(t.Context()); return err },
		"kill":  func(b sandbox.Sandbox) error { return b.Kill(t.Context()) },
	} {
		b := e.create(t)
		go func() {
			time.Sleep(500 * time.Millisecond)
			if err := stop(b); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}()
		x, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sleep", "100"}})
		if !errors.Is(err, sandbox.ErrClosed) || x.Died || x.TimedOut {
			t.Errorf("%s: %+v, %v", name, x, err)
		}
		end(t, b)
	}
}

func testKillInside(t *testing.T, e *env) {
	b := e.create(t)
	// Everything but the caller and process 1.
	if _, x := sh(t, b, "sleep 100 & kill -9 -1; wait; exit 4"); x.Code != 4 || x.Died {
		t.Errorf("kill -1: %+v", x)
	}
	must(t, b, "true")
	if _, x := sh(t, b, "kill -9 1; kill -TERM 1; sleep 0.2; exit 9"); x.Died {
		t.Logf("process 1 can be killed from inside: %+v", x)
		if f := end(t, b); !f.Died {
			t.Errorf("died, but final says %+v", f)
		}
	} else if x.Code != 9 {
		t.Errorf("kill 1: %+v", x)
	}
}
