package eval

import "fmt"

// Outcome says how a trial ended. Each prediction of the input ends in exactly
// one. The zero value is invalid, so a forgotten outcome can't pass for a result.
type Outcome uint8

// The outcomes, in the order in which reports list them.
const (
	OutcomeInvalid  Outcome = iota
	Resolved                // the tests that must pass do
	Unresolved              // at least one of them does not
	TestsErrored            // the test command broke before it could report
	NoTestsRan              // the log holds no result at all
	EmptyPatch              // the prediction has no patch; no sandbox is started
	PatchRejected           // refused by policy before anything ran
	PatchNotApplied         // no way of applying it worked
	TimedOut                // the wall-clock limit
	OutOfMemory             // the memory limit, from cgroup counters
	OutOfDisk               // the disk limit
	LimitExceeded           // another limit (CPU seconds, processes, output ...)
	SandboxDied             // killed from inside, or wedged
	InfraError              // our side: missing data, never a zero
	Cancelled               // stopped by a person
)

// List is the id list of the official run report that an outcome belongs to.
type List uint8

// The lists of the official run report.
const (
	ListResolved List = iota + 1
	ListUnresolved
	ListEmptyPatch
	ListError
	ListIncomplete
)

// Retry says what the run does by itself after an outcome.
type Retry uint8

// Retry policies of an outcome.
const (
	RetryNever   Retry = iota // final
	RetryOnce                 // once more, on another host if there is one; a second time is final
	RetryBounded              // a bounded number of times with back-off
)

// Consequence is what follows from an outcome; Consequences holds one a outcome.
type Consequence struct {
	Name    string
	List    List
	Counted bool // in the denominator "without infra errors"; in "all" everything but cancelled is
	Retry   Retry
	Cached  bool // a later identical trial may reuse it
}

var consequences = [...]Consequence{
	Resolved:        {"resolved", ListResolved, true, RetryNever, true},
	Unresolved:      {"unresolved", ListUnresolved, true, RetryNever, true},
	TestsErrored:    {"tests_errored", ListUnresolved, true, RetryNever, false},
	NoTestsRan:      {"no_tests_ran", ListUnresolved, true, RetryNever, false},
	EmptyPatch:      {"empty_patch", ListEmptyPatch, true, RetryNever, false},
	PatchRejected:   {"patch_rejected", ListError, true, RetryNever, false},
	PatchNotApplied: {"patch_not_applied", ListError, true, RetryNever, true},
	TimedOut:        {"timed_out", ListError, true, RetryNever, false},
	OutOfMemory:     {"out_of_memory", ListError, true, RetryNever, false},
	OutOfDisk:       {"out_of_disk", ListError, true, RetryNever, false},
	LimitExceeded:   {"limit_exceeded", ListError, true, RetryNever, false},
	SandboxDied:     {"sandbox_died", ListError, true, RetryOnce, false},
	InfraError:      {"infra_error", ListError, false, RetryBounded, false},
	Cancelled:       {"cancelled", ListIncomplete, false, RetryNever, false},
}

// Outcomes returns all valid outcomes in report order.
func Outcomes() []Outcome {
	out := make([]Outcome, 0, len(consequences)-1)
	for o := Resolved; int(o) < len(consequences); o++ {
		out = append(out, o)
	}
	return out
}

// Valid reports whether o is one of the named outcomes.
func (o Outcome) Valid() bool { return o > OutcomeInvalid && int(o) < len(consequences) }

// Consequence returns what follows from o. It panics for an invalid outcome: that is a bug of ours.
func (o Outcome) Consequence() Consequence {
	if !o.Valid() {
		panic(fmt.Sprintf("eval: consequence of invalid outcome %d", o))
	}
	return consequences[o]
}

func (o Outcome) String() string {
	if !o.Valid() {
		return fmt.Sprintf("invalid(%d)", uint8(o))
	}
	return consequences[o].Name
}

// ParseOutcome is the inverse of String for valid outcomes.
func ParseOutcome(s string) (Outcome, error) {
	for _, o := range Outcomes() {
		if consequences[o].Name == s {
			return o, nil
		}
	}
	return OutcomeInvalid, fmt.Errorf("parse outcome: %q is not an outcome", s)
}

// MarshalText writes the outcome's word and refuses the invalid value.
func (o Outcome) MarshalText() ([]byte, error) {
	if !o.Valid() {
		return nil, fmt.Errorf("marshal outcome: %s", o)
	}
	return []byte(o.String()), nil
}

// UnmarshalText accepts the words that MarshalText writes.
func (o *Outcome) UnmarshalText(b []byte) error {
	v, err := ParseOutcome(string(b))
	if err != nil {
		return err
	}
	*o = v
	return nil
}

// Blame says whose fault an outcome other than resolved is, decided from
// host-side facts only (cgroup files, exit status, image and store errors).
type Blame string

// The three answers; a resolved trial has none.
const (
	BlameNone        Blame = ""
	BlameCandidate   Blame = "candidate"
	BlameEnvironment Blame = "environment"
	BlameAmbiguous   Blame = "ambiguous"
)
