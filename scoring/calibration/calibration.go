// Package calibration judges tasks by repeated executions of two candidates
// whose verdict is known beforehand: the gold patch, which must resolve the task,
// and the unpatched repository, which must not.
//
// It owns what follows from the repeats of a task: how often a test changed its
// behaviour, which tests behave otherwise under another runtime, whether the task
// may be trusted. It knows nothing of how repeats are executed or stored, and a
// judgement of it never changes a verdict.
package calibration

import (
	"maps"
	"slices"

	"harness/eval"
	"harness/scoring"
)

// Reasons why a task is not calibrated under a runtime.
const (
	GoldFails    = "gold_fails"    // no gold repeat resolves it
	GoldUnsteady = "gold_unsteady" // some gold repeats resolve it, others do not
	NoopResolves = "noop_resolves" // every unpatched repeat resolves it
	NoopUnsteady = "noop_unsteady" // some unpatched repeats do
	GoldUnknown  = "gold_unknown"  // no gold repeat has a result
	NoopUnknown  = "noop_unknown"  // no unpatched repeat has one
	NoGoldPatch  = "no_gold_patch" // nor a solution, so there is nothing to calibrate with
	NotRunnable  = "not_runnable"  // the row lacks an image, an eval script or a parser
)

// Reasons why a test is quarantined.
const (
	Flaky        = "flaky"                    // repeats of one candidate under one runtime disagree
	Differs      = "differs_between_runtimes" // what is seen under one runtime is never seen under the other
	FailsOnGold  = "fails_on_gold"            // it never passes with the gold patch
	PassesOnNoop = "passes_on_noop"           // FAIL_TO_PASS, and always passes without a patch
)

// Task is the judgement on one task under one runtime. Pointers are nil, and
// texts empty, where nothing was measured.
type Task struct {
	InstanceID string
	Digest     string // hex SHA-256 of the task's canonical JSON

	Runtime, RuntimeVersion string
	ImageDigest             string
	Limits                  eval.Limits
	GoldRun, NoopRun        string // ids of the runs that were looked at

	Gold, Noop Repeats // Seen: outcomes, Good: resolved
	// Calibrated: every gold repeat resolves the task and no unpatched one does.
	// Repeats without a result are left out; nil when that leaves none.
	Calibrated *bool
	// Differs: no repeat of a candidate ended under one runtime as any did under
	// the other. Nil with less than two runtimes measured.
	Differs *bool
	Reasons []string // why it is not calibrated, in the order above

	Tests []Test // expected ones in the dataset's order, then others by name
}

// Test is the judgement on one test under one runtime.
type Test struct {
	Name, Group string
	Gold, Noop  Repeats // Seen: statuses, Good: passed as the rules count
	Differs     *bool   // as of a task
	FailsOnGold *bool   // of expected tests: no gold repeat passes it
	// PassesOnNoop: every unpatched repeat passes it. A PASS_TO_PASS test is meant
	// to, a FAIL_TO_PASS test is not.
	PassesOnNoop *bool
	// Quarantined: what this test shows should not be believed. Nil for tests that
	// decide nothing, or when nothing was measured.
	Quarantined *bool
	Reasons     []string // why it is quarantined, in the order above
}

// Repeats are the executions of one candidate under one runtime.
type Repeats struct {
	Planned  int
	Measured int // those with a result
	Good     int
	// Seen has one word for each planned repeat, Unknown for one without a result.
	Seen []string
	// Flake is nil with less than two repeats measured: nothing can disagree.
	Flake *Flake
}

// Unknown stands in Repeats.Seen for a repeat of which nothing is known.
const Unknown = "UNKNOWN"

// Flake is the share of measured repeats that did not behave as most did, with
// the bounds of its 95 % Wilson score interval.
type Flake struct{ Rate, Low, High float64 }

// flakeOf counts by behaviour. Two words for one behaviour, such as FAILED and
// ERROR, are no disagreement.
func flakeOf(behaviours map[string]int) *Flake {
	total, most := 0, 0
	for _, n := range behaviours {
		total += n
		most = max(most, n)
	}
	if total < 2 {
		return nil
	}
	f := &Flake{Rate: float64(total-most) / float64(total)}
	f.Low, f.High = scoring.Wilson(total-most, total)
	return f
}

// flaky reports whether repeats were seen to disagree.
func (r *Repeats) flaky() bool { return r.Flake != nil && r.Flake.Rate > 0 }

// Words lists the distinct words of Seen with their numbers, most frequent first:
// what people are shown.
func (r *Repeats) Words() []Word {
	counts := map[string]int{}
	for _, s := range r.Seen {
		counts[s]++
	}
	var out []Word
	for _, s := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, Word{s, counts[s]})
	}
	slices.SortStableFunc(out, func(a, b Word) int { return b.N - a.N })
	return out
}

// Word is a word and how often it was seen.
type Word struct {
	Text string
	N    int
}
