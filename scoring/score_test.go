package scoring_test

import (
	"testing"
	"testing/quick"

	"harness/eval"
	"harness/scoring"
)

func counts(f2p, f2pAll, p2p, p2pAll int) eval.TestCounts {
	return eval.TestCounts{F2PPassed: &f2p, F2PTotal: &f2pAll, P2PPassed: &p2p, P2PTotal: &p2pAll}
}

func TestFunctional(t *testing.T) {
	tests := []struct {
		c        eval.TestCounts
		resolved bool
		want     float64
	}{
		{counts(2, 2, 3, 3), true, 1},
		{counts(0, 2, 3, 3), false, 0},
		{counts(1, 2, 3, 3), false, 0.5},
		{counts(2, 2, 3, 6), false, 0.5},
		{counts(1, 2, 3, 6), false, 0.25},
		{counts(1, 2, 0, 0), false, 0.5},
		{counts(2, 2, 3, 3), false, 0.99}, // all passed, and yet not resolved by other rules
		{counts(0, 0, 1, 2), false, 0.5},
	}
	for _, tt := range tests {
		got := scoring.Functional(tt.c, tt.resolved)
		if got == nil || *got != tt.want {
			t.Errorf("%d/%d %d/%d: got %v, want %v", *tt.c.F2PPassed, *tt.c.F2PTotal, *tt.c.P2PPassed, *tt.c.P2PTotal, got, tt.want)
		}
	}
	if got := scoring.Functional(eval.TestCounts{}, false); got != nil {
		t.Errorf("nothing graded: got %v", *got)
	}
}

// The score is in [0,1], 1 exactly when resolved, and never falls when one more
// test behaves.
func TestFunctionalProperties(t *testing.T) {
	prop := func(f, fAll, p, pAll uint8, resolved bool) bool {
		f, p = min(f, fAll), min(p, pAll)
		s := scoring.Functional(counts(int(f), int(fAll), int(p), int(pAll)), resolved)
		if s == nil || *s < 0 || *s > 1 || (*s == 1) != resolved {
			return false
		}
		if resolved {
			return true
		}
		more := *s
		if f < fAll {
			more = min(more, *scoring.Functional(counts(int(f)+1, int(fAll), int(p), int(pAll)), false))
		}
		if p < pAll {
			more = min(more, *scoring.Functional(counts(int(f), int(fAll), int(p)+1, int(pAll)), false))
		}
		return more >= *s
	}
	if err := quick.Check(prop, &quick.Config{MaxCount: 20000}); err != nil {
		t.Error(err)
	}
}
