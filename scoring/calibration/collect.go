package calibration

import (
	"slices"
	"strings"

	"harness/eval"
	"harness/scoring/grade"
	"harness/scoring/logparse"
)

// Candidates as indices.
const (
	gold = iota
	noop
)

// collector gathers the tests of a task over its repeats.
type collector struct {
	task    *eval.Task
	planned [2]int
	graded  [2][]int // repeats of which tests are known
	tests   map[string]*collected
	order   []string
}

type collected struct {
	c           *collector
	name, group string
	seen        [2]map[int]sighting // by repeat
}

type sighting struct {
	status string
	good   bool
}

func (c *collector) add(candidate, repeat int, r *eval.TrialResult) {
	if !measured(r.Outcome) || len(r.Tests) == 0 {
		return // a trial that was ended says nothing of its tests
	}
	c.graded[candidate] = append(c.graded[candidate], repeat)
	good := successes(r)
	for i := range r.Tests {
		t := &r.Tests[i]
		k := key(t.Group, t.Name)
		got := c.tests[k]
		if got == nil {
			got = &collected{c: c, name: t.Name, group: t.Group, seen: [2]map[int]sighting{{}, {}}}
			c.tests[k] = got
			c.order = append(c.order, k)
		}
		s := sighting{status: t.Status}
		if good != nil && t.Group != eval.GroupOther {
			s.good = good[k]
		} else {
			s.good = c.passes(t)
		}
		got.seen[candidate][repeat] = s
	}
}

// successes are the expected tests that the rules counted as such, nil when the
// verdict does not list them: a run without a patch has no such lists.
func successes(r *eval.TrialResult) map[string]bool {
	if len(r.Verdicts) == 0 || r.Verdicts[0].Official == nil || r.Verdicts[0].Official.TestsStatus == nil {
		return nil
	}
	st := r.Verdicts[0].Official.TestsStatus
	out := map[string]bool{}
	for _, name := range st.FailToPass.Success {
		out[key(eval.GroupF2P, name)] = true
	}
	for _, name := range st.PassToPass.Success {
		out[key(eval.GroupP2P, name)] = true
	}
	return out
}

// passes is for tests that no list has. Where only failures are reported, one
// that is absent passed.
func (c *collector) passes(t *eval.TestResult) bool {
	b := behaviour(t.Status)
	return b == passed || b == missing && c.task.EvalType == eval.EvalFailOnly
}

// What a status says of a test, apart from the word for it.
const (
	passed  = "passed"
	failed  = "failed"
	skipped = "skipped"
	missing = "missing"
)

func behaviour(status string) string {
	switch status {
	case logparse.Passed, logparse.XFail:
		return passed
	case logparse.Skipped:
		return skipped
	case grade.StatusMissing:
		return missing
	}
	return failed
}

// sorted lists expected tests as they came, which is the dataset's order, and
// then others by name: tests that run in parallel report in any order.
func (c *collector) sorted() []*collected {
	out := make([]*collected, len(c.order))
	for i, k := range c.order {
		out[i] = c.tests[k]
	}
	slices.SortStableFunc(out, func(a, b *collected) int {
		otherA, otherB := a.group == eval.GroupOther, b.group == eval.GroupOther
		switch {
		case otherA && otherB:
			return strings.Compare(a.name, b.name)
		case otherA:
			return 1
		case otherB:
			return -1
		}
		return 0
	})
	return out
}

// behaviours is what was seen of a test: that it is missing where tests are known
// and it is not among them.
func (c *collector) behaviours(group, name string) (b behaviours) {
	got := c.tests[key(group, name)]
	if got == nil {
		got = &collected{c: c}
	}
	_, b.gold = got.repeats(gold)
	_, b.noop = got.repeats(noop)
	return b
}

func (g *collected) judge() Test {
	t := Test{Name: g.name, Group: g.group}
	t.Gold, _ = g.repeats(gold)
	t.Noop, _ = g.repeats(noop)
	if t.Gold.Measured > 0 && g.group != eval.GroupOther {
		fails := t.Gold.Good == 0
		t.FailsOnGold = &fails
	}
	if t.Noop.Measured > 0 {
		passes := t.Noop.Good == t.Noop.Measured
		t.PassesOnNoop = &passes
	}
	return t
}

// repeats judges one candidate's. A test that a graded repeat does not have is
// missing there.
func (g *collected) repeats(candidate int) (Repeats, map[string]int) {
	r := Repeats{Planned: g.c.planned[candidate]}
	for range r.Planned {
		r.Seen = append(r.Seen, Unknown)
	}
	counts := map[string]int{}
	for _, i := range g.c.graded[candidate] {
		s, ok := g.seen[candidate][i]
		if !ok {
			s.status = grade.StatusMissing
		}
		r.Seen[i] = s.status
		r.Measured++
		if s.good {
			r.Good++
		}
		counts[behaviour(s.status)]++
	}
	r.Flake = flakeOf(counts)
	return r, counts
}
