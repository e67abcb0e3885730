//go:build integration

package evidence_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"harness/sandbox/evidence"
)

// BenchmarkCost runs the same calls with evidence and without, in turn so that both
// see the same load, and reports the best of each, which neighbours disturbed least,
// and what evidence adds to a call. Nothing is asserted: it depends on the machine.
func BenchmarkCost(b *testing.B) {
	box := newBox(b)
	for _, c := range []struct {
		name, call string
		times      int
		config     evidence.Config
	}{
		{"getpid", "getpid", 100_000, evidence.Config{Watch: evidence.DefaultWatch()}},
		{"open-read-close", "open", 3000, evidence.Config{Watch: evidence.DefaultWatch()}},
		{"open-read-close-unwatched", "open", 3000, evidence.Config{}},
		{"fork-exec", "exec", 40, evidence.Config{Watch: evidence.DefaultWatch()}},
		{"fork-exec-digests", "exec", 40, evidence.Config{Watch: evidence.DefaultWatch(), Digests: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var bare, traced []float64
			dropped := int64(0)
			for b.Loop() {
				out, _ := box.run(b, "", c.call, strconv.Itoa(c.times))
				bare = append(bare, nanoseconds(b, out))
				tr := newTrace(b, c.config)
				out, _ = box.run(b, tr.config, c.call, strconv.Itoa(c.times))
				traced = append(traced, nanoseconds(b, out))
				sum, _ := tr.close(b)
				dropped += sum.Dropped
			}
			without, with := slices.Min(bare), slices.Min(traced)
			b.ReportMetric(without/1e3, "bare-us")
			b.ReportMetric(with/1e3, "traced-us")
			b.ReportMetric((with-without)/1e3, "added-us")
			b.ReportMetric(with/without, "ratio")
			b.ReportMetric(float64(dropped), "dropped")
		})
	}
}

func nanoseconds(b *testing.B, out string) float64 {
	b.Helper()
	n, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
	if err != nil {
		b.Fatalf("inside printed %q", out)
	}
	return n
}
