//go:build integration

package containerd_test

import (
	"bytes"
	"fmt"
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
// milliseconds. "ctr" is the yardstick, run in turn so that both see the same
// load: containerd's own client runs Python once, with the same runtime and flags.
func BenchmarkLife(b *testing.B) {
	st := testenv.Containerd(b)
	for _, h := range handlers {
		b.Run(h, func(b *testing.B) {
			r, digest := open(b, h)
			ref := st.Image(b)
			parts := map[string][]time.Duration{}
			part := func(name string, f func()) {
				start := time.Now()
				f()
				parts[name] = append(parts[name], time.Since(start))
			}
			n := 0
			for b.Loop() {
				n++
				life(b, r, digest, fmt.Sprintf("bench-%d", n), part)
				part("ctr", func() { bareCtr(b, st, h, ref, n) })
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
	}{{"exec-python", []string{"sh", "/eval.sh"}}, {"exec-true", []string{"true"}}} {
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

func bareCtr(b *testing.B, st *testenv.Stack, handler, ref string, n int) {
	args := []string{"-a", st.Socket, "-n", testenv.Namespace, "run", "--rm"}
	if handler == "runsc" {
		w, err := filepath.Glob(filepath.Join(st.StateDir, "bin", "runsc-*"))
		if err != nil || len(w) == 0 {
			b.Fatal("no wrapper of runsc", err)
		}
		args = append(args, "--runc-binary", w[0])
	}
	args = append(args, ref, fmt.Sprintf("ctr-%s-%d", handler, n), "python3", "-c", "pass")
	out, err := exec.Command(filepath.Join(st.ToolsDir, "bin", "ctr"), args...).CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}
