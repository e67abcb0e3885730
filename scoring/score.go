// Package scoring turns what a trial did into the score vector, each component
// in [0,1].
//
// It owns the formulas. Reading logs belongs to logparse, verdicts to grade.
package scoring

import "harness/eval"

// almost is the highest functional score of a trial that is not resolved.
const almost = 0.99

// Functional is the functional score:
//
//	1                            if resolved
//	min(0.99, f2p · p2p)         otherwise
//
// where f2p and p2p are the shares of FAIL_TO_PASS and PASS_TO_PASS tests that
// behaved; the share of an empty list is 1. It is 1 exactly for resolved trials;
// doing nothing scores 0, since no FAIL_TO_PASS test passes; and a fix that
// breaks half of the other tests is worth half. It is nil, not known, when no
// tests were graded.
func Functional(c eval.TestCounts, resolved bool) *float64 {
	if resolved {
		one := 1.0
		return &one
	}
	f2p, ok1 := share(c.F2PPassed, c.F2PTotal)
	p2p, ok2 := share(c.P2PPassed, c.P2PTotal)
	if !ok1 || !ok2 {
		return nil
	}
	s := min(almost, f2p*p2p)
	return &s
}

func share(passed, total *int) (float64, bool) {
	switch {
	case passed == nil || total == nil:
		return 0, false
	case *total <= 0:
		return 1, true
	}
	return min(1, max(0, float64(*passed)/float64(*total))), true
}
