package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/doctor"
)

// TestHost: each check that fails says what to do.
func TestHost(t *testing.T) {
	home := t.TempDir()
	tools := filepath.Join(home, "tools")
	check := func() map[string]doctor.Result {
		found := map[string]doctor.Result{}
		for _, r := range doctor.Host(t.Context(), doctor.Options{Home: filepath.Join(home, "not", "made", "yet"), ToolsDir: tools}) {
			if !r.OK && r.Fix == "" {
				t.Errorf("%s fails and says nothing of what to do: %s", r.Check, r.Detail)
			}
			found[r.Check] = r
		}
		return found
	}

	found := check()
	if r := found["tools"]; r.OK || !strings.Contains(r.Detail, "runsc") || !strings.Contains(r.Fix, "setup") {
		t.Errorf("without tools: %+v", r)
	}
	if r := found["disk"]; !strings.Contains(r.Detail, "GiB free at "+home) {
		t.Errorf("the disk of a folder that is not made yet: %+v", r)
	}
	if r := found["root"]; r.OK != (os.Geteuid() == 0) {
		t.Errorf("root: %+v", r)
	}
	if err := os.MkdirAll(filepath.Join(tools, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "runsc", "temporal"} {
		if err := os.WriteFile(filepath.Join(tools, "bin", name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if r := check()["tools"]; !r.OK {
		t.Errorf("with tools: %+v", r)
	}
}
