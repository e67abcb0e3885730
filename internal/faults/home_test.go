//go:build e2e

package faults

import (
	"context"
	"fmt"
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

// home is a data folder of the harness, with the command built for it. It serves
// all cases, one after the other, as a person's does.
type home struct {
	dir    string
	binary string
	root   string // of the checkout
}

// newHome builds the command and the images of the example tasks.
func newHome(t *testing.T) *home {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("sandboxes need root")
	}
	for _, tool := range []string{"containerd", "runsc", "temporal", "minio"} {
		testenv.Tool(t, tool)
	}
	dir, err := os.MkdirTemp("", "hf") //nolint:usetesting // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	h := &home{dir: dir, binary: filepath.Join(dir, "bin", "harness"), root: checkout.Root(t)}
	t.Cleanup(func() { h.remove(t) })
	for _, d := range []string{"bin", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", h.binary, "./cmd/harness")
	build.Dir, build.Env = h.root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build harness: %v\n%s", err, out)
	}
	testenv.ImageCache(t, dir)
	start := time.Now()
	h.mustRun(t, "image", "build", filepath.Join(h.root, "examples/mini/images"))
	t.Logf("images of the example tasks are there after %s", time.Since(start).Round(time.Second))
	return h
}

// prepare is a call of the command in this home.
func (h *home) prepare(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.binary, args...)
	cmd.Dir = h.root
	cmd.Env = append(os.Environ(),
		"HARNESS_HOME="+h.dir, "HARNESS_TOOLS="+testenv.ToolsDir(), "TMPDIR="+filepath.Join(h.dir, "tmp"))
	return cmd
}

// mustRun runs a command to its end and expects success.
func (h *home) mustRun(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := h.prepare(ctx, args...)
	// Processes that it leaves running must not keep this one waiting for its output.
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("harness %s: %v\n%s%s", strings.Join(args, " "), err, out, h.logs())
	}
}

// processes lists what runs in this home: every process that was told its path.
func (h *home) processes() []int {
	all, err := proc.All()
	if err != nil {
		return nil
	}
	var out []int
	for _, s := range all {
		if s.State != 'Z' && strings.Contains(strings.Join(proc.Cmdline(s.Pid), "\x00"), h.dir+"/") {
			out = append(out, s.Pid)
		}
	}
	return out
}

// sandboxes lists the host processes of living sandboxes.
func (h *home) sandboxes() []proc.ID {
	var out []proc.ID
	for _, pid := range h.processes() {
		if args := proc.Cmdline(pid); len(args) > 0 && isSandbox(args) {
			if id, err := proc.Of(pid); err == nil {
				out = append(out, id)
			}
		}
	}
	return out
}

// logs returns the ends of the daemons' logs, for messages of failed tests.
func (h *home) logs() string {
	var b strings.Builder
	for _, name := range []string{"stack/harness.log", "stack/temporal/temporal.log", "stack/s3/minio.log", "containerd/containerd.log"} {
		data, err := os.ReadFile(filepath.Join(h.dir, name))
		if err != nil || len(data) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\nthe end of %s:\n%s\n", name, data[max(0, len(data)-4000):])
	}
	return b.String()
}

// remove leaves nothing of the home, however the tests ended.
func (h *home) remove(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if out, err := h.prepare(ctx, "down").CombinedOutput(); err != nil {
		t.Logf("harness down: %v\n%s", err, out)
	}
	for range 50 {
		left := h.processes()
		if len(left) == 0 {
			break
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
	}
	for _, m := range mountsBelow(h.dir) {
		_ = syscall.Unmount(m, syscall.MNT_DETACH)
	}
	if err := os.RemoveAll(h.dir); err != nil {
		t.Errorf("remove the test's home: %v", err)
	}
}
