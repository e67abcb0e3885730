//go:build integration

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/checkout"
	"harness/internal/proc"
	"harness/internal/testenv"
)

// home is a data folder with the command built for it, used as a person would.
type home struct {
	t   *testing.T
	dir string
	bin string
}

// newHome has the images of three example tasks, which share one base.
func newHome(t *testing.T) *home {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("sandboxes need root")
	}
	for _, tool := range []string{"containerd", "runsc", "temporal", "minio"} {
		testenv.Tool(t, tool)
	}
	// Short, because sockets live below it.
	dir, err := os.MkdirTemp("", "h") //nolint:usetesting // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: dir, bin: filepath.Join(dir, "harness")}
	t.Cleanup(h.remove)
	h.build(h.bin, "test")
	testenv.ImageCache(t, dir)
	h.want(0, "image", "build", "examples/mini/images/slug.yaml", "examples/mini/images/csvsplit.yaml", "examples/mini/images/kvconf.yaml")
	return h
}

// build compiles the command under the given version.
func (h *home) build(path, version string) {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "go", "build", "-ldflags", "-X harness/internal/buildinfo.version="+version, "-o", path, "./cmd/harness")
	cmd.Dir, cmd.Env = checkout.Root(h.t), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("build harness: %v\n%s", err, out)
	}
}

// call is a command that runs, with what it has printed so far.
type call struct {
	h        *home
	args     []string
	cmd      *exec.Cmd
	out, err testenv.Buffer
	ended    chan struct{}
}

func (h *home) start(args ...string) *call { return h.startBinary(h.bin, args...) }

func (h *home) startBinary(bin string, args ...string) *call {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.t.Context()), 3*time.Minute)
	c := &call{h: h, args: args, cmd: exec.CommandContext(ctx, bin, args...), ended: make(chan struct{})}
	c.cmd.Dir = checkout.Root(h.t)
	c.cmd.Env = append(os.Environ(), "HARNESS_HOME="+h.dir, "HARNESS_TOOLS="+testenv.ToolsDir())
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	// What it leaves running must not keep the test waiting for its output.
	c.cmd.WaitDelay = 2 * time.Second
	if err := c.cmd.Start(); err != nil {
		cancel()
		h.t.Fatal(err)
	}
	go func() {
		defer cancel()
		_ = c.cmd.Wait() // its state has the exit code
		close(c.ended)
	}()
	return c
}

// wait returns standard output, after an end with the wanted exit code.
func (c *call) wait(code int) string {
	c.h.t.Helper()
	<-c.ended
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.h.t.Fatalf("harness %s: exit code %d, want %d\n%s%s", strings.Join(c.args, " "), got, code, c.out.String(), c.err.String())
	}
	return c.out.String()
}

func (h *home) want(code int, args ...string) (stdout, stderr string) {
	h.t.Helper()
	c := h.start(args...)
	out := c.wait(code)
	return out, c.err.String()
}

// says fails the test unless text has all the parts.
func (h *home) says(text string, parts ...string) {
	h.t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			h.t.Errorf("%q is not in:\n%s", p, text)
		}
	}
}

// until waits for something that happens soon.
func (h *home) until(limit time.Duration, what string, f func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(limit); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("not after %s: %s\n%s", limit, what, h.logs())
		}
	}
}

// processes are those that were told a path below this home.
func (h *home) processes(match func(args []string) bool) (out []int) {
	all, err := proc.All()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, s := range all {
		args := proc.Cmdline(s.Pid)
		if s.State != 'Z' && len(args) > 0 && strings.Contains(strings.Join(args, "\x00"), h.dir+"/") && match(args) {
			out = append(out, s.Pid)
		}
	}
	return out
}

func (h *home) sandboxes() []int {
	return h.processes(func(args []string) bool { return filepath.Base(args[0]) == "runsc-sandbox" })
}

// clean fails the test if anything of a stack is left: processes, mounts, sockets,
// scratch files of sandboxes.
func (h *home) clean() {
	h.t.Helper()
	for _, pid := range h.processes(func([]string) bool { return true }) {
		h.t.Errorf("process left: %d %q", pid, proc.Cmdline(pid))
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], h.dir+"/") {
			h.t.Errorf("mount left: %s", f[4])
		}
	}
	err = filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.Type()&fs.ModeSocket != 0 {
			h.t.Errorf("socket left: %s", path)
		}
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
	boxes, err := filepath.Glob(filepath.Join(h.dir, "sandboxes", "boxes", "*"))
	if err != nil || len(boxes) > 0 {
		h.t.Errorf("scratch files of sandboxes left: %q, %v", boxes, err)
	}
}

// results counts the stored results of a run.
func (h *home) results(run string) int {
	found, err := filepath.Glob(filepath.Join(h.dir, "artifacts", "runs", run, "tasks", "*", "*", "*", "result.json"))
	if err != nil {
		h.t.Fatal(err)
	}
	return len(found)
}

func (h *home) logs() string {
	var b strings.Builder
	for _, name := range []string{"stack/harness.log", "stack/temporal/temporal.log", "containerd/containerd.log"} {
		if data, err := os.ReadFile(filepath.Join(h.dir, name)); err == nil && len(data) > 0 {
			b.WriteString("the end of " + name + ":\n" + string(data[max(0, len(data)-2000):]) + "\n")
		}
	}
	return b.String()
}

// remove leaves nothing, however the tests ended.
func (h *home) remove() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.t.Context()), time.Minute)
	defer cancel()
	down := exec.CommandContext(ctx, h.bin, "down")
	down.Env = append(os.Environ(), "HARNESS_HOME="+h.dir, "HARNESS_TOOLS="+testenv.ToolsDir())
	if out, err := down.CombinedOutput(); err != nil {
		h.t.Logf("harness down: %v\n%s", err, out)
	}
	left := h.processes(func([]string) bool { return true })
	for _, pid := range left {
		if id, err := proc.Of(pid); err == nil {
			_ = id.Signal(syscall.SIGKILL) // it may have ended by itself
		}
	}
	if len(left) > 0 {
		h.t.Errorf("processes were left: %v", left)
	}
	if err := os.RemoveAll(h.dir); err != nil {
		h.t.Errorf("remove the home: %v", err)
	}
}
