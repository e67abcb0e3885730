//go:build integration

package containerd_test

import (
	"log/slog"
	"os"
	"testing"

	"harness/internal/testenv"
	"harness/sandbox"
	"harness/sandbox/containerd"
	"harness/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	if args := os.Getenv("SANDBOX_OWNER"); args != "" {
		owner(args)
	}
	os.Exit(testenv.Main(m))
}

func open(t testing.TB, handler string) (*containerd.Runtime, string) {
	t.Helper()
	st := testenv.Containerd(t)
	r, err := containerd.Open(t.Context(), containerd.Config{
		Socket: st.Socket, ToolsDir: st.ToolsDir, StateDir: st.StateDir, Handler: handler, Worker: "test",
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.CloseClient() })
	digest, err := r.Resolve(t.Context(), st.Image(t))
	if err != nil {
		t.Fatal(err)
	}
	return r, digest
}

func TestConformance(t *testing.T) {
	// The last is what any other runtime of containerd gets: fewer promises.
	for _, h := range []string{"runsc", "runc", "io.containerd.runc.v2"} {
		t.Run(h, func(t *testing.T) {
			sandboxtest.Run(t, func(t *testing.T) (sandbox.Runtime, string) { return open(t, h) })
		})
	}
}
