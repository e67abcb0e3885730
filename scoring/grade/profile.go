package grade

import (
	"fmt"
	"slices"
	"strings"

	"harness/eval"
	"harness/scoring/logparse"
)

// Profile is a recipe and rules by name.
type Profile struct {
	Name   string
	Recipe eval.Recipe
	Rules  Rules
	// Families are the dataset families whose own grader this is.
	Families []string
	// Also names profiles whose rules give a second opinion on the same log.
	Also []string
}

// Rules say how a log is read and judged. Every field is a difference between
// graders; the zero value is the simplest of them.
type Rules struct {
	// Name appears as a verdict's rules.
	Name string

	// How the log is read.

	// Dialect is the release whose parsers are used.
	Dialect logparse.Dialect
	// Lacks names parsers that this grader does not have; a task that needs one
	// ends in an error there.
	Lacks []string
	// StrictUTF8: bytes that are not UTF-8 end in an error, not in U+FFFD.
	StrictUTF8 bool
	// Terminal: the grader reads the log from a terminal, without its escape
	// sequences, its carriage returns and bytes that are not UTF-8.
	Terminal bool
	// Markers: results are read between the start and end marker, and a log
	// without both is not gradable.
	Markers bool
	// Unmarked: a log without both markers is gradable and read whole.
	Unmarked bool
	// OneMarker: a log in which a marker occurs again is not gradable, since what
	// it marks may have printed it.
	OneMarker bool
	// AfterLast: only what follows the last occurrence of this text is read.
	AfterLast string
	// WholeLog: with no result between the markers the whole log is parsed.
	WholeLog bool

	// What else makes a log not gradable.

	// BadCodes make a log not gradable wherever they occur.
	BadCodes []string
	// NeedText must occur somewhere in the log, in any case of ASCII letters.
	NeedText string
	// Complete: a log of which a part is missing, since it is too long, is not
	// gradable: failures may have stood there.
	Complete bool
	// NeedResults: a log without results is not gradable.
	NeedResults bool
	// NeedEvidence: a log without results is gradable only if a test runner's
	// summary shows that a suite ran.
	NeedEvidence bool
	// CheckExitCode: a log whose recorded exit code is not zero and that has
	// results but no failure is not gradable.
	CheckExitCode bool

	// How an expected test is found in the log.

	// StripTiming: durations are taken off the names on both sides.
	StripTiming bool
	// Truncated says what an expected name stands for that was cut inside brackets.
	Truncated Truncated
	// Repeated says which report counts when a test has several.
	Repeated Repeated
	// LooseWords: a word of the log means passed or skipped if it has "pass" or
	// "skip" in it, and failed otherwise.
	LooseWords bool

	// How it counts. A test that passed is a success, one that failed or ended in
	// an error is a failure.

	XFail, Skipped, Absent Marks
	// Odd is for words that are no status, such as "ERRORS".
	Odd Marks
	// FailOnly says which tasks count absent tests as passed.
	FailOnly FailOnly

	// What a trial needs besides.

	// NeedTarget: a task without a test to fix is never resolved.
	NeedTarget bool
	// OnlyExpected: the tests that pass must be the expected ones and no others.
	OnlyExpected bool
	// Transitions: tests are judged by how they changed from the publisher's own
	// executions of the task, those included that the task does not list.
	Transitions bool

	// Reward: the trial is judged by the reward that the task's own tests wrote.
	// The lists of tests and the rules for them have no part in it.
	Reward bool

	// InfraLabels adds the advisory infra_failure fields to the official report.
	InfraLabels bool
}

// Mark says where an expected test is counted.
type Mark uint8

// The marks. Only the first two put the test into a list.
const (
	Fails   Mark = iota // a failure
	Passes              // a success
	LeftOut             // neither, and the trial may be resolved without it
	Unseen              // neither, and the trial is not resolved
)

// Marks are the mark of a FAIL_TO_PASS and of a PASS_TO_PASS test.
type Marks struct{ F2P, P2P Mark }

// Truncated says how names that were cut inside brackets are looked up: as a
// prefix of names in the log.
type Truncated uint8

// The rules for cut names.
const (
	TruncatedNever  Truncated = iota // they are names like any other
	TruncatedAgree                   // found if all tests that they may stand for passed, or all did not
	TruncatedPassed                  // passed if one of those passed and none failed
)

// Repeated says which report of a test counts when there are several.
type Repeated uint8

// The reports.
const (
	LastCounts  Repeated = iota
	WorstCounts          // passed if ever reported so and never as failed
	BestCounts           // passed if ever reported so
)

// FailOnly tells which tasks use the fail_only rule.
type FailOnly struct {
	ByTask bool     // those whose eval_type says so
	Repos  []string // those of these repositories (lower case)
	// Careful: such a log is gradable only if a runner's summary shows that a
	// suite ran, in the part that holds results, and any word but PASSED is a failure.
	Careful bool
}

// applies reports whether the task's tests count as passed unless seen to fail.
func (f FailOnly) applies(t *eval.Task) bool {
	if f.ByTask && t.EvalType == eval.EvalFailOnly {
		return true
	}
	repo := strings.ToLower(t.Repo)
	for _, r := range f.Repos {
		if r == repo {
			return true
		}
	}
	return false
}

// Text that eval scripts and harnesses write into logs.
const (
	startMarker  = ">>>>> Start Test Output"
	endMarker    = ">>>>> End Test Output"
	exitMarker   = ">>>>> Test Exit Code"
	markerPrefix = ">>>>> "
)

// ForFamily returns the profile that grades a dataset family as its publisher
// does, and that of SWE-bench for a family that has no grader of its own.
func ForFamily(family string) Profile {
	all := Profiles()
	for _, p := range all {
		if family != "" && slices.Contains(p.Families, family) {
			return p
		}
	}
	return all[0]
}

// SecondOpinions are the profile with the rules that Also names.
func (p Profile) SecondOpinions() []Profile {
	var out []Profile
	for _, other := range Profiles() {
		if slices.Contains(p.Also, other.Name) {
			out = append(out, p.WithRules(other))
		}
	}
	return out
}

// Opinions are the verdicts of the second opinions. They have no official report:
// the profile's own verdict has it.
func (p Profile) Opinions(in Input) ([]eval.Verdict, error) {
	var out []eval.Verdict
	for _, other := range p.SecondOpinions() {
		res, err := other.Grade(in)
		if err != nil {
			return nil, fmt.Errorf("second opinion by %s: %w", other.Name, err)
		}
		res.Verdict.Official = nil
		out = append(out, res.Verdict)
	}
	return out, nil
}

// WithRules is p's recipe, graded by the rules of other.
func (p Profile) WithRules(other Profile) Profile {
	return Profile{Name: other.Name, Recipe: p.Recipe, Rules: other.Rules}
}

// ByName finds a profile.
func ByName(name string) (Profile, error) {
	var known []string
	for _, p := range Profiles() {
		if p.Name == name {
			return p, nil
		}
		known = append(known, p.Name)
	}
	return Profile{}, fmt.Errorf("grading profile %q is not known; known are %s", name, strings.Join(known, ", "))
}
