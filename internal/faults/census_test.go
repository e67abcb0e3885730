//go:build e2e

package faults

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/localstack"
	"harness/internal/proc"
	"harness/internal/testenv"
	"harness/sandbox/containerd"
	"harness/sandbox/janitor"
)

// census names everything that is left on the machine after `harness down`: first
// what can be seen with nothing running, then what containerd still knows.
func (h *home) census(t *testing.T) []string {
	t.Helper()
	var left []string
	for _, pid := range h.processes() {
		left = append(left, fmt.Sprintf("process %d %s", pid, strings.Join(proc.Cmdline(pid), " ")))
	}
	for _, m := range mountsBelow(h.dir) {
		left = append(left, "mount "+m)
	}
	left = append(left, h.leftFiles(t)...)
	if len(left) > 0 {
		return left // containerd might repair some of it
	}
	return append(left, h.records(t)...)
}

// leftFiles lists sockets and pipes anywhere, and files where nothing stays.
func (h *home) leftFiles(t *testing.T) []string {
	t.Helper()
	var left []string
	transient := []string{"tmp", "spool", "sandboxes/boxes", "sandboxes/oci/harness", "stack/state.json"}
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(h.dir, path)
		if err != nil {
			return err
		}
		switch {
		case rel == "cache" || rel == "containerd/root":
			return fs.SkipDir // images
		case d.Type()&(fs.ModeSocket|fs.ModeNamedPipe) != 0:
			left = append(left, fmt.Sprintf("%s %s", d.Type(), rel))
		case strings.HasSuffix(rel, ".pid") || slices.Contains(transient, filepath.Dir(rel)) || rel == "stack/state.json":
			left = append(left, "file "+rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// records asks a containerd that is started for it what it knows of sandboxes.
func (h *home) records(t *testing.T) []string {
	t.Helper()
	ctx := t.Context()
	d, err := localstack.StartContainerd(ctx, localstack.ContainerdConfig{Dir: filepath.Join(h.dir, "containerd"), ToolsDir: testenv.ToolsDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	rt, err := containerd.Open(ctx, containerd.Config{
		Socket: d.Socket(), ToolsDir: testenv.ToolsDir(), StateDir: filepath.Join(h.dir, "sandboxes"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rt.CloseClient() }()
	counts, err := janitor.Census(ctx, rt.Stack())
	if err != nil {
		t.Fatal(err)
	}
	return counts.Details
}

// mountsBelow lists the mounts in a folder, deepest first.
func mountsBelow(dir string) []string {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir+"/") {
			out = append(out, f[4])
		}
	}
	slices.Reverse(out)
	return out
}
