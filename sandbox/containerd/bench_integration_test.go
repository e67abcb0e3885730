//go:build integration

package containerd_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"harness/eval"
	"harness/internal/testenv"
	"harness/sandbox"
	"harness/sandbox/containerd"
)

// BenchmarkLife measures the parts of one sandbox's life, as medians in
// milliseconds.
func BenchmarkLife(b *testing.B) {
	for _, h := range handlers {
		b.Run(h, func(b *testing.B) {
			r, digest := open(b, h)
			parts := map[string][]time.Duration{}
			part := func(name string, f func()) {
				start := time.Now()
				f()
				parts[name] = append(parts[name], time.Since(start))
			}
			n := 0
			for b.Loop() {
				n++
				whole := time.Now()
				life(b, r, digest, fmt.Sprintf("bench-%d", n), part)
				parts["whole"] = append(parts["whole"], time.Since(whole))
			}
			for name, d := range parts {
				slices.Sort(d)
				b.ReportMetric(float64(d[len(d)/2].Microseconds())/1000, name+"-ms")
			}
		})
	}
}

func life(b *testing.B, r *containerd.Runtime, digest, id string, part func(string, func())) {
	var box sandbox.Sandbox
	var err error
	part("create", func() {
		box, err = r.Create(b.Context(), sandbox.Spec{
			ID: id, ImageDigest: digest, Limits: eval.DefaultLimits(),
			Files: []sandbox.File{{Path: "/eval.sh", Mode: 0o755, Data: []byte("python3 -c pass\n")}},
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
	}{{"exec-true", []string{"true"}}, {"exec-python", []string{"sh", "/eval.sh"}}} {
		part(c.name, func() {
			var out bytes.Buffer
			x, err := box.Exec(b.Context(), sandbox.Process{Args: c.args, Stdout: &out, Stderr: &out})
			if err != nil || x.Code != 0 {
				b.Fatal(x, err, out.String())
			}
		})
	}
	part("close", func() {
		if _, err := box.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkBareCtr is the yardstick: containerd's own client runs Python once,
// with the same runtime and flags.
func BenchmarkBareCtr(b *testing.B) {
	st := testenv.Containerd(b)
	for _, h := range handlers {
		b.Run(h, func(b *testing.B) {
			open(b, h)
			args := []string{"-a", st.Socket, "-n", testenv.Namespace, "run", "--rm"}
			if h == "runsc" {
				w, err := filepath.Glob(filepath.Join(st.StateDir, "bin", "runsc-*"))
				if err != nil || len(w) == 0 {
					b.Skip("BenchmarkLife has to run first")
				}
				args = append(args, "--runc-binary", w[0])
			}
			args = append(args, st.Image(b))
			n := 0
			for b.Loop() {
				n++
				cmd := exec.Command(filepath.Join(st.ToolsDir, "bin", "ctr"), append(args, fmt.Sprintf("ctr-%s-%d", h, n), "python3", "-c", "pass")...)
				cmd.Stderr = os.Stderr
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
