package evalrun

import (
	"testing"
	"time"

	"harness/eval"
	"harness/internal/runs"
	"harness/internal/session"
)

func TestParallel(t *testing.T) {
	// Whatever this machine has, any number of the small ones fits into it and not
	// even one of the huge ones.
	small, huge := eval.Limits{CPUs: 0.01, MemoryBytes: 1}, eval.Limits{CPUs: 0.01, MemoryBytes: 1 << 60}
	many := func(l eval.Limits) demand {
		var d demand
		for range 20 {
			d.limits = append(d.limits, l)
		}
		return d
	}
	for _, c := range []struct {
		name         string
		d            demand
		kind         session.Kind
		slots, asked int
		want         parallel
	}{
		{"one more is kept ready a slot", many(small), session.Embedded, 4, 0, parallel{4, 8, false}},
		{"fewer are asked for", many(small), session.Embedded, 4, 2, parallel{2, 2, false}},
		{"more are asked for", many(small), session.Local, 4, 16, parallel{4, 16, false}},
		{"fewer trials than slots", demand{limits: []eval.Limits{small}}, session.Local, 4, 0, parallel{1, 1, false}},
		{"slots of others are too many", many(huge), session.Local, 4, 0, parallel{1, 1, true}},
		{"also when more are asked for", many(huge), session.Local, 4, 3, parallel{1, 1, true}},
		{"but not when none is asked for", many(huge), session.Local, 4, 1, parallel{1, 1, false}},
		{"elsewhere", many(huge), session.Remote, 0, 0, parallel{0, remoteWindow, false}},
		{"elsewhere, as asked for", many(huge), session.Remote, 0, 7, parallel{0, 7, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.d.parallel(c.kind, c.slots, c.asked); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestDemandOf(t *testing.T) {
	memory := 8 * eval.GiB
	d := demandOf(runs.Request{
		Spec: eval.RunSpec{Attempts: 2, Limits: eval.DefaultLimits()},
		Tasks: []eval.Task{
			{Image: "a"}, {Image: "b", Limits: &eval.LimitsSpec{MemoryBytes: &memory}}, {Image: "a"},
		},
	}, t.TempDir())
	if len(d.limits) != 6 || d.limits[2].MemoryBytes != memory || d.limits[0].MemoryBytes != 4*eval.GiB {
		t.Errorf("limits %+v", d.limits)
	}
	if len(d.images) != 2 || d.images[0] != "a" || d.images[1] != "b" || d.recipe != "" {
		t.Errorf("images %q, recipes %q", d.images, d.recipe)
	}
	if got := d.describe(eval.DefaultLimits()); got != "1 core, 4GiB each; some tasks differ" {
		t.Errorf("described as %q", got)
	}
}

func TestRunID(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct{ dataset, agent, want string }{
		{"mini", "gold", "mini-gold-20260102-030405"},
		{"SWE-bench_Verified", "vendor/model 4.5", "SWE-bench_Verified-vendor-model-4-5-20260102-030405"},
		{"", "", "20260102-030405"},
		{"../../etc", "\x1b[31m\u202e", "etc-31m-20260102-030405"},
		{"ünïcode", "数", "n-code-20260102-030405"},
	} {
		got := runID(c.dataset, c.agent, now)
		if err := eval.ValidateRunID(got); err != nil {
			t.Errorf("runID(%q, %q): %v", c.dataset, c.agent, err)
		}
		if c.want != "" && got != c.want {
			t.Errorf("runID(%q, %q) = %q, want %q", c.dataset, c.agent, got, c.want)
		}
	}
}
