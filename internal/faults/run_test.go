//go:build e2e

package faults

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/proc"
	"harness/internal/testenv"
)

// run is one evaluation by a command of its own.
type run struct {
	home *home
	in   input
	id   string
	s3   bool // it is stored in the stack's S3 server

	cmd   *exec.Cmd
	out   *testenv.Buffer
	ended chan struct{}
	err   error // valid after ended
}

func newRun(h *home, in input, id string) *run { return &run{home: h, in: in, id: id} }

// dir is where the run is stored. The S3 server keeps a folder for each object.
func (r *run) dir() string {
	if r.s3 {
		return filepath.Join(r.home.dir, "stack", "s3", "data", "harness", "runs", r.id)
	}
	return filepath.Join(r.home.dir, "artifacts", "runs", r.id)
}

// reportDir is where the command that ends the run puts a copy of its report.
func (r *run) reportDir() string { return filepath.Join(r.home.dir, "reports", r.id) }

// start starts `harness eval`.
func (r *run) start(t *testing.T) {
	t.Helper()
	r.launch(t, append([]string{"eval", "--run-id", r.id, "-o", r.reportDir(), "-v"}, r.in.args...)...)
}

// resumed starts `harness resume`.
func (r *run) resumed(t *testing.T) {
	t.Helper()
	r.launch(t, "resume", r.id, "-o", r.reportDir(), "-v")
}

func (r *run) launch(t *testing.T, args ...string) {
	t.Helper()
	cmd := r.home.prepare(t.Context(), args...)
	out, ended := &testenv.Buffer{}, make(chan struct{})
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.cmd, r.out, r.ended = cmd, out, ended
	go func() {
		r.err = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what harness %s said:\n%s", strings.Join(args, " "), out)
		}
	})
}

// finish waits for the command and expects its exit code.
func (r *run) finish(t *testing.T, code int) {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		t.Fatalf("the command did not end within %s\n%s", patience, r.output())
	}
	if got := exitCode(r.err); got != code {
		t.Fatalf("the command ended with %d (%v), want %d", got, r.err, code)
	}
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

func (r *run) output() string { return r.out.String() + r.home.logs() }

// command is the process that started or resumed the run.
func (r *run) command() int { return r.cmd.Process.Pid }

// owner is the process of `harness up`.
func (r *run) owner(t *testing.T) int {
	return r.find(t, "the stack's owner", func(args []string) bool {
		return filepath.Base(args[0]) == "harness" && slices.Contains(args, "up") && slices.Contains(args, "--foreground")
	})
}

func (r *run) temporal(t *testing.T) int {
	return r.find(t, "Temporal", func(args []string) bool { return filepath.Base(args[0]) == "temporal" })
}

func (r *run) minio(t *testing.T) int {
	return r.find(t, "the S3 server", func(args []string) bool { return filepath.Base(args[0]) == "minio" })
}

func (r *run) containerd(t *testing.T) int {
	return r.find(t, "containerd", func(args []string) bool { return filepath.Base(args[0]) == "containerd" })
}

func (r *run) shim(t *testing.T) int {
	return r.find(t, "a shim", func(args []string) bool {
		return strings.HasPrefix(filepath.Base(args[0]), "containerd-shim") && slices.Contains(args, "-id") && !slices.Contains(args, "start") && !slices.Contains(args, "delete")
	})
}

func (r *run) sandbox(t *testing.T) int {
	return r.find(t, "a gVisor sandbox", isSandbox)
}

func isSandbox(args []string) bool { return filepath.Base(args[0]) == "runsc-sandbox" }

// find waits for a process of this home that is what is looked for. Sandboxes come
// and go, so the one that is wanted may not be there at once.
func (r *run) find(t *testing.T, what string, is func(args []string) bool) int {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(lookEvery) {
		for _, pid := range r.home.processes() {
			if args := proc.Cmdline(pid); len(args) > 0 && is(args) {
				return pid
			}
		}
		select {
		case <-r.ended:
			t.Fatalf("the run was over before %s was found\n%s", what, r.output())
		default:
		}
	}
	t.Fatalf("%s is not there\n%s", what, r.output())
	return 0
}

// kill ends processes at once, as a crash does, and returns when they are dead.
func (r *run) kill(t *testing.T, pids ...int) {
	t.Helper()
	ids := make([]proc.ID, 0, len(pids))
	for _, pid := range pids {
		if id, err := proc.Of(pid); err == nil { // ended meanwhile
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if err := id.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		for deadline := time.Now().Add(10 * time.Second); id.Alive(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d does not die", id.Pid)
			}
		}
	}
}

func (r *run) signal(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

// tries counts the physical executions that left anything in the store.
func (r *run) tries(t *testing.T) int {
	t.Helper()
	return len(glob(t, r.dir(), "tasks", "*", "*", "*", "try-*"))
}

// mustBeGone watches the process that takes over: none of the sandboxes that the
// dead one left may still run when it makes its own first.
func mustBeGone(t *testing.T, r *run, old []proc.ID) {
	known := map[proc.ID]bool{}
	for _, id := range old {
		known[id] = true
	}
	made := func() bool {
		return slices.ContainsFunc(r.home.sandboxes(), func(id proc.ID) bool { return !known[id] })
	}
	ctx, done := t.Context(), make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		for !made() {
			select {
			case <-ctx.Done():
				return // it needed none
			case <-time.After(lookEvery):
			}
		}
		for _, id := range old {
			if id.Alive() {
				t.Errorf("sandbox process %d of the dead process still runs while the one that took over makes its own", id.Pid)
			}
		}
	}()
}
