//go:build integration

package containerd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"go.uber.org/goleak"

	"harness/eval"
	"harness/internal/proc"
	"harness/internal/testenv"
	"harness/sandbox"
	"harness/sandbox/containerd"
	"harness/sandbox/janitor"
)

var handlers = []string{"runsc", "runc"}

func eachHandler(t *testing.T, f func(t *testing.T, r *containerd.Runtime, digest string)) {
	for _, h := range handlers {
		t.Run(h, func(t *testing.T) {
			r, digest := open(t, h)
			f(t, r, digest)
			wantCensusZero(t, r)
		})
	}
}

func wantCensusZero(t *testing.T, r *containerd.Runtime) {
	t.Helper()
	var c janitor.Counts
	var err error
	for range 30 {
		if c, err = janitor.Census(t.Context(), r.Stack()); err == nil && c.Zero() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("left behind: %s (%v)\n%s", c, err, strings.Join(c.Details, "\n"))
}

func newBox(t *testing.T, r *containerd.Runtime, digest, id string, change ...func(*sandbox.Spec)) *containerd.Sandbox {
	t.Helper()
	s := sandbox.Spec{ID: id, Owner: "o", Trial: "t", ImageDigest: digest, Limits: eval.DefaultLimits()}
	s.Limits.DiskBytes = 256 * eval.MiB
	for _, f := range change {
		f(&s)
	}
	b, err := r.Create(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return b.(*containerd.Sandbox)
}

func shimOf(t *testing.T, b *containerd.Sandbox) int {
	t.Helper()
	st, err := proc.ReadStat(b.Pid())
	if err != nil {
		t.Fatal(err)
	}
	return st.Parent
}

func TestShimKilled(t *testing.T) {
	eachHandler(t, func(t *testing.T, r *containerd.Runtime, digest string) {
		b := newBox(t, r, digest, "shim-killed")
		shim := shimOf(t, b)
		go func() { time.Sleep(500 * time.Millisecond); _ = syscall.Kill(shim, syscall.SIGKILL) }()
		var out bytes.Buffer
		x, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sleep", "60"}, Stdout: &out})
		if !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("exec: %+v, %v; want ErrLost", x, err)
		}
		f, err := b.Close(t.Context())
		if err != nil || f.Died {
			t.Errorf("close: %+v, %v", f, err)
		}
	})
}

func TestShimWedged(t *testing.T) {
	eachHandler(t, func(t *testing.T, r *containerd.Runtime, digest string) {
		b := newBox(t, r, digest, "shim-wedged")
		if err := syscall.Kill(shimOf(t, b), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := b.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		t.Logf("closed in %s", time.Since(start))
		if time.Since(start) > 30*time.Second {
			t.Error("close took too long")
		}
	})
}

// TestContainerdRestarted kills containerd under a running process: the process
// and its output live on, and its exit is still seen.
func TestContainerdRestarted(t *testing.T) {
	st := testenv.Containerd(t)
	for _, h := range handlers {
		t.Run(h, func(t *testing.T) {
			r, digest := open(t, h)
			b := newBox(t, r, digest, "restart")
			out := &signalling{began: make(chan struct{})}
			restarted := make(chan struct{})
			go func() {
				defer close(restarted)
				<-out.began
				st.Restart(t)
			}()
			x, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sh", "-c", "echo begun; sleep 3; echo still here; exit 5"}, Stdout: out, Stderr: out})
			<-restarted
			if err != nil || x.Code != 5 || out.String() != "begun\nstill here\n" {
				t.Errorf("%+v, %v, output %q", x, err, out.String())
			}
			if f, err := b.Close(t.Context()); err != nil || f.Died {
				t.Errorf("close: %+v, %v", f, err)
			}
			wantCensusZero(t, r)
		})
	}
}

// signalling tells when the first output has come.
type signalling struct {
	bytes.Buffer
	once  sync.Once
	began chan struct{}
}

func (s *signalling) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.began) })
	return s.Buffer.Write(b)
}

// TestContainerdDownAtClose: what can't be told to containerd now is told later.
func TestContainerdDownAtClose(t *testing.T) {
	st := testenv.Containerd(t)
	r, digest := open(t, "runsc")
	b := newBox(t, r, digest, "down")
	if err := syscall.Kill(st.Daemon.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-st.Daemon.Done()
	go func() { time.Sleep(time.Second); st.Start(t) }()
	if f, err := b.Close(t.Context()); err != nil || f.Died {
		t.Errorf("close: %+v, %v", f, err)
	}
	wantCensusZero(t, r)
}

// TestCreateCancelled: a creation that is given up at any moment leaves nothing.
func TestCreateCancelled(t *testing.T) {
	eachHandler(t, func(t *testing.T, r *containerd.Runtime, digest string) {
		if _, err := newBox(t, r, digest, "warm-up").Close(t.Context()); err != nil { // unpacks the image
			t.Fatal(err)
		}
		for i, after := range []time.Duration{1, 5, 10, 20, 40, 60, 80, 100, 130, 160, 200, 250, 300} {
			ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
			s := sandbox.Spec{ID: fmt.Sprintf("cancelled-%d", i), ImageDigest: digest, Limits: eval.DefaultLimits()}
			start := time.Now()
			b, err := r.Create(ctx, s)
			cancel()
			switch {
			case err == nil:
				if _, err := b.Close(t.Context()); err != nil {
					t.Error(err)
				}
			case !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, sandbox.ErrCreate):
				t.Errorf("after %d ms: %v", after, err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("after %d ms: gave up only after %s", after, took)
			}
		}
	})
}

// TestNoGoroutineLeft: nothing of ours runs on after a whole life with all its
// accidents.
func TestNoGoroutineLeft(t *testing.T) {
	testenv.Containerd(t).Image(t)
	before := goleak.IgnoreCurrent()
	st := testenv.Containerd(t)
	r, err := containerd.Open(t.Context(), containerd.Config{Socket: st.Socket, ToolsDir: st.ToolsDir, StateDir: st.StateDir})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := r.Resolve(t.Context(), st.Image(t))
	if err != nil {
		t.Fatal(err)
	}
	b := newBox(t, r, digest, "leaks")
	var out bytes.Buffer
	for _, script := range []string{"echo hi", "sleep 300 & echo held"} {
		if _, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sh", "-c", script}, Stdin: strings.NewReader("x"), Stdout: &out}); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if x, err := b.Exec(ctx, sandbox.Process{Args: []string{"sleep", "60"}, Stdout: &out}); err != nil || !x.TimedOut {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	wantCensusZero(t, r)
	if err := r.CloseClient(); err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
}

// TestOwnerKilled: a process that owned sandboxes is killed, at a moment of its
// own choosing or in the middle of a creation; the next one cleans up.
func TestOwnerKilled(t *testing.T) {
	st := testenv.Containerd(t)
	for _, h := range handlers {
		r, digest := open(t, h)
		for _, after := range []time.Duration{-1, 20, 40, 60, 80, 120, 160, 200, 260} {
			name := "idle"
			if after >= 0 {
				name = fmt.Sprintf("%dms into creation", after)
			}
			t.Run(h+"/"+name, func(t *testing.T) {
				exe, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(t.Context(), exe)
				cmd.Env = append(os.Environ(), "SANDBOX_OWNER="+strings.Join([]string{st.Socket, st.ToolsDir, st.StateDir, h, digest}, "|"))
				stdout, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				line := make([]byte, 8)
				if _, err := stdout.Read(line); err != nil { // "opened"
					t.Fatal(err)
				}
				if after < 0 {
					if _, err := stdout.Read(line); err != nil { // "made"
						t.Fatal(err)
					}
				} else {
					time.Sleep(after * time.Millisecond)
				}
				_ = cmd.Process.Kill()
				_ = cmd.Wait()

				garbage, err := janitor.Sweep(t.Context(), r, janitor.Options{Grace: time.Nanosecond})
				if err != nil {
					t.Error(err)
				}
				for _, g := range garbage {
					if g.Reason != janitor.ReasonOrphan || !g.Removed {
						t.Errorf("%+v", g)
					}
				}
				if after < 0 && len(garbage) != 1 {
					t.Errorf("%d sandboxes were removed, want 1", len(garbage))
				}
				t.Logf("removed %d", len(garbage))
				wantCensusZero(t, r)
			})
		}
	}
}

// owner is the process of TestOwnerKilled.
func owner(args string) {
	a := strings.Split(args, "|")
	ctx := context.Background()
	r, err := containerd.Open(ctx, containerd.Config{Socket: a[0], ToolsDir: a[1], StateDir: a[2], Handler: a[3]})
	if err == nil {
		fmt.Println("opened")
		s := sandbox.Spec{ID: "owned-" + strconv.Itoa(os.Getpid()), ImageDigest: a[4], Limits: eval.DefaultLimits()}
		_, err = r.Create(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("made")
	select {}
}

func TestWritableSnapshot(t *testing.T) {
	eachHandler(t, func(t *testing.T, r *containerd.Runtime, digest string) {
		b := newBox(t, r, digest, "builder", func(s *sandbox.Spec) { s.WritableSnapshot = true })
		defer func() { _, _ = b.Close(t.Context()) }()
		x, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sh", "-c", "mkdir /built && echo by the build >/built/file && chmod 640 /built/file && rm /etc/issue && echo gone >/tmp/scratch"}})
		if err != nil || x.Code != 0 {
			t.Fatalf("%+v, %v", x, err)
		}
		if err := b.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		snapshotter, key := b.Snapshot()
		ctx := namespaces.WithNamespace(t.Context(), containerd.Namespace)
		mounts, err := r.Client().SnapshotService(snapshotter).Mounts(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		err = mount.WithReadonlyTempMount(ctx, mounts, func(root string) error {
			got, err := os.ReadFile(filepath.Join(root, "built/file"))
			if err != nil || string(got) != "by the build\n" {
				t.Errorf("got %q, %v", got, err)
			}
			if st, err := os.Stat(filepath.Join(root, "built/file")); err != nil || st.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", st, err)
			}
			if _, err := os.Stat(filepath.Join(root, "etc/issue")); !os.IsNotExist(err) {
				t.Errorf("removed file is there: %v", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestStopTakesAllAlong: a containerd that is stopped under its sandboxes
// leaves no process, mount or socket.
func TestStopTakesAllAlong(t *testing.T) {
	st := testenv.Containerd(t)
	r, digest := open(t, "runsc")
	rc, _ := open(t, "runc")
	newBox(t, r, digest, "left-1")
	newBox(t, rc, digest, "left-2")
	st.StopAndStart(t, func() {
		all, err := proc.All()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if args := strings.Join(proc.Cmdline(p.Pid), " "); strings.Contains(args, st.Socket) || strings.Contains(args, st.StateDir) {
				t.Errorf("process %d is left: %s", p.Pid, args)
			}
		}
		b, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, filepath.Dir(st.Socket)) {
				t.Errorf("mount is left: %s", line)
			}
		}
		if _, err := os.Stat(st.Socket); !os.IsNotExist(err) {
			t.Errorf("socket is left: %v", err)
		}
	})
	// Records and scratch files go with the next removal.
	if n, err := r.Remove(t.Context(), sandbox.Match{}); err != nil || n != 2 {
		t.Errorf("removed %d, %v", n, err)
	}
	wantCensusZero(t, r)
}
