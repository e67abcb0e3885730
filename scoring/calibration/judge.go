package calibration

import (
	"cmp"
	"slices"

	"harness/eval"
)

// Under is what was executed of one task under one runtime: one result for each
// planned repeat. A repeat without a result (infra_error, cancelled) is passed as
// it is.
type Under struct {
	Runtime          string
	GoldRun, NoopRun string
	Gold, Noop       []eval.TrialResult
}

// Judge returns one judgement for each runtime, in the order given.
func Judge(task *eval.Task, digest string, under []Under) []Task {
	out := make([]Task, len(under))
	seen := make([]behaviours, len(under))
	tests := make([]collector, len(under))
	for i := range under {
		out[i], seen[i], tests[i] = judgeUnder(task, digest, &under[i])
	}
	for i := range out {
		out[i].Differs = differs(seen, i)
		for k := range out[i].Tests {
			t := &out[i].Tests[k]
			of := make([]behaviours, len(tests))
			for j := range tests {
				of[j] = tests[j].behaviours(t.Group, t.Name)
			}
			t.Differs = differs(of, i)
			t.conclude()
		}
	}
	return out
}

// NotMeasured is the judgement on a task that can't be executed, for a reason of
// its own.
func NotMeasured(task *eval.Task, digest, runtime, reason string) Task {
	return Task{InstanceID: task.InstanceID, Digest: digest, Runtime: runtime, Reasons: []string{reason}}
}

// behaviours counts what was seen of something, for each candidate.
type behaviours struct{ gold, noop map[string]int }

// differs compares what runtime i saw with each other runtime that saw something.
func differs(seen []behaviours, i int) *bool {
	compared, apart := false, false
	for j := range seen {
		if j == i {
			continue
		}
		for _, pair := range [][2]map[string]int{{seen[i].gold, seen[j].gold}, {seen[i].noop, seen[j].noop}} {
			if len(pair[0]) == 0 || len(pair[1]) == 0 {
				continue
			}
			compared = true
			apart = apart || !overlap(pair[0], pair[1])
		}
	}
	if !compared {
		return nil
	}
	return &apart
}

func overlap(a, b map[string]int) bool {
	for k := range a {
		if b[k] > 0 {
			return true
		}
	}
	return false
}

func judgeUnder(task *eval.Task, digest string, u *Under) (Task, behaviours, collector) {
	t := Task{InstanceID: task.InstanceID, Digest: digest, Runtime: u.Runtime, GoldRun: u.GoldRun, NoopRun: u.NoopRun}
	for _, r := range slices.Concat(u.Gold, u.Noop) {
		t.RuntimeVersion = cmp.Or(t.RuntimeVersion, r.Exec.RuntimeVersion)
		t.ImageDigest = cmp.Or(t.ImageDigest, r.Exec.ImageDigest)
		if t.Limits == (eval.Limits{}) {
			t.Limits = r.Limits
		}
	}
	var seen behaviours
	t.Gold, seen.gold = outcomes(u.Gold)
	t.Noop, seen.noop = outcomes(u.Noop)
	t.conclude()

	c := collector{task: task, planned: [2]int{len(u.Gold), len(u.Noop)}, tests: map[string]*collected{}}
	for i := range u.Gold {
		c.add(gold, i, &u.Gold[i])
	}
	for i := range u.Noop {
		c.add(noop, i, &u.Noop[i])
	}
	for _, got := range c.sorted() {
		t.Tests = append(t.Tests, got.judge())
	}
	return t, seen, c
}

// measured reports whether an outcome is a result rather than the lack of one.
func measured(o eval.Outcome) bool { return o != eval.InfraError && o != eval.Cancelled }

// outcomes judges the repeats of a task: what matters is whether it was resolved.
func outcomes(results []eval.TrialResult) (Repeats, map[string]int) {
	r := Repeats{Planned: len(results)}
	counts := map[string]int{}
	for i := range results {
		o := results[i].Outcome
		if !measured(o) {
			r.Seen = append(r.Seen, Unknown)
			continue
		}
		r.Seen = append(r.Seen, o.String())
		r.Measured++
		if o == eval.Resolved {
			r.Good++
			counts["resolved"]++
		} else {
			counts["not resolved"]++
		}
	}
	r.Flake = flakeOf(counts)
	return r, counts
}

func (t *Task) conclude() {
	add := func(reason string, holds bool) {
		if holds {
			t.Reasons = append(t.Reasons, reason)
		}
	}
	g, n := t.Gold, t.Noop
	add(GoldFails, g.Measured > 0 && g.Good == 0)
	add(GoldUnsteady, g.Good > 0 && g.Good < g.Measured)
	add(NoopResolves, n.Measured > 0 && n.Good == n.Measured)
	add(NoopUnsteady, n.Good > 0 && n.Good < n.Measured)
	if len(t.Reasons) > 0 {
		t.Calibrated = new(bool)
	}
	add(GoldUnknown, g.Measured == 0)
	add(NoopUnknown, n.Measured == 0)
	if len(t.Reasons) == 0 {
		t.Calibrated = new(bool)
		*t.Calibrated = true
	}
}

// conclude decides about the quarantine once the runtimes have been compared.
func (t *Test) conclude() {
	if t.Group != eval.GroupF2P && t.Group != eval.GroupP2P || t.Gold.Measured+t.Noop.Measured == 0 {
		return
	}
	for _, r := range []struct {
		reason string
		holds  bool
	}{
		{Flaky, t.Gold.flaky() || t.Noop.flaky()},
		{Differs, is(t.Differs)},
		{FailsOnGold, is(t.FailsOnGold)},
		{PassesOnNoop, t.Group == eval.GroupF2P && is(t.PassesOnNoop)},
	} {
		if r.holds {
			t.Reasons = append(t.Reasons, r.reason)
		}
	}
	quarantined := len(t.Reasons) > 0
	t.Quarantined = &quarantined
}

func is(p *bool) bool { return p != nil && *p }

func key(group, name string) string { return group + "\x00" + name }
