//go:build integration

package containerd_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"harness/eval"
	"harness/internal/testenv"
	"harness/sandbox"
	"harness/sandbox/containerd"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

func TestSmoke(t *testing.T) {
	for _, h := range []string{"runsc", "runc"} {
		t.Run(h, func(t *testing.T) {
			st := testenv.Containerd(t)
			r, err := containerd.Open(t.Context(), containerd.Config{Socket: st.Socket, ToolsDir: st.ToolsDir, StateDir: st.StateDir, Handler: h})
			if err != nil {
				t.Fatal(err)
			}
			t0 := time.Now()
			dg, err := r.Resolve(t.Context(), st.Image(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Log("image", dg, time.Since(t0))
			for range 3 {
				t0 = time.Now()
				b, err := r.Create(t.Context(), sandbox.Spec{ID: "smoke-1", ImageDigest: dg, Limits: eval.DefaultLimits(), Env: []string{"A=b"}, Files: []sandbox.File{{Path: "/x/y", Mode: 0o755, Data: []byte("hello\n")}}})
				if err != nil {
					t.Fatal(err)
				}
				t.Log("create", time.Since(t0))
				var out bytes.Buffer
				t0 = time.Now()
				ex, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sh", "-c", "cat /x/y; ls -la / /tmp; id; env; ps aux; mount; dmesg | head -3; exit 7"}, Stdout: &out, Stderr: &out})
				t.Log("exec", time.Since(t0), ex, err)
				t.Log(out.String())
				t0 = time.Now()
				f, err := b.Close(t.Context())
				t.Log("close", time.Since(t0), err)
				t.Logf("%+v", f)
			}
		})
	}
}
