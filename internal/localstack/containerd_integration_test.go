//go:build integration

package localstack

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func toolsDir() string {
	if d := os.Getenv("HARNESS_TOOLS"); d != "" {
		return d
	}
	return "/var/lib/harness/tools"
}

func TestContainerdLife(t *testing.T) {
	for _, c := range []struct{ name, sub string }{
		{"short path", "c"},
		{"path too long for a socket", strings.Repeat("long/", 20)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "h") //nolint:usetesting // its path is too long for the short case
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			cfg := ContainerdConfig{Dir: filepath.Join(dir, c.sub), ToolsDir: toolsDir()}
			start := time.Now()
			ctrd, err := StartContainerd(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = ctrd.Stop(t.Context()) })
			t.Logf("started in %s", time.Since(start))

			second, err := StartContainerd(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if !second.Adopted() || second.Pid() != ctrd.Pid() {
				t.Errorf("a second start made another daemon (pid %d and %d)", ctrd.Pid(), second.Pid())
			}

			// Killed hard: the next start copes with the stale sockets.
			if err := syscall.Kill(ctrd.Pid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-ctrd.Done()
			third, err := StartContainerd(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if third.Adopted() {
				t.Error("adopted a dead daemon")
			}
			if err := third.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if third.Alive() {
				t.Error("alive after stop")
			}
			if _, err := os.Stat(third.run); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", third.run, err)
			}
			mounts, err := mountPoints()
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range mounts {
				if strings.HasPrefix(m, dir) {
					t.Errorf("mount %s is left", m)
				}
			}
		})
	}
}
