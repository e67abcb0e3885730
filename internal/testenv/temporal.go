package testenv

import (
	"context"
	"testing"
	"time"

	"harness/internal/localstack"
)

// Temporal starts a dev server that ends with the test and returns its address
// (host:port). The keyword attributes exist from the start; dynamic are further
// settings, "key=value". The test fails where the tools are not installed.
func Temporal(t testing.TB, attributes []string, dynamic ...string) string {
	t.Helper()
	Tool(t, "temporal")
	cfg := localstack.TemporalConfig{
		Dir: t.TempDir(), ToolsDir: ToolsDir(), SearchAttributes: attributes, Dynamic: dynamic,
	}
	freePorts(t, &cfg.Port, &cfg.UIPort, &cfg.HTTPPort, &cfg.Metrics)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	d, err := localstack.StartTemporal(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return cfg.Address()
}

// freePorts fills in ports that nobody listens on, each another one.
func freePorts(t testing.TB, ports ...*int) {
	t.Helper()
	free, err := localstack.FreePorts(len(ports))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range ports {
		*p = free[i]
	}
}
