package grade

import (
	"errors"
	"fmt"
	"io"

	"harness/eval"
	"harness/scoring/logparse"
)

// Input is one finished execution.
type Input struct {
	Task *eval.Task
	// PatchGiven is false when the candidate gave no patch: nothing was applied,
	// and if there is a log, it is that of the unpatched repository.
	PatchGiven bool
	// Applied says whether one of the recipe's ways applied the patch.
	Applied bool
	// Log opens the raw test log from its beginning; it is called up to four
	// times. Nil means that there is none.
	Log  func() (io.ReadCloser, error)
	Exec eval.ExecFacts
}

// Result is what grading gives.
type Result struct {
	InstanceID string
	Profile    string
	Verdict    eval.Verdict
	Blame      eval.Blame
	Reason     string // one sentence for people
	Tests      []eval.TestResult
	Counts     eval.TestCounts
	// StatusMap is what the log was graded by: empty when it is not gradable.
	StatusMap *logparse.StatusMap
	// Coverage is nil when there was nothing to read, or the parser can't tell.
	Coverage *eval.LogCoverage
}

// ErrUnknownParser: a task names a parser that is not in logparse.
var ErrUnknownParser = errors.New("log parser is not known")

// Grade judges one execution. What the candidate did is never an error: an
// error means that the task is unusable or the log can't be read.
func (p Profile) Grade(in Input) (Result, error) {
	if in.Task == nil {
		return Result{}, errors.New("grade: no task was given")
	}
	g := grading{profile: p, in: in}
	g.res = Result{InstanceID: in.Task.InstanceID, Profile: p.Name, StatusMap: new(logparse.StatusMap)}
	g.res.Verdict = eval.Verdict{Recipe: p.Recipe.Name, Rules: p.Rules.Name}
	if err := g.run(); err != nil {
		return Result{}, fmt.Errorf("grade %s: %w", in.Task.InstanceID, err)
	}
	g.res.Verdict.Flags = g.flags.sorted()
	return g.res, nil
}

type grading struct {
	profile Profile
	in      Input
	res     Result
	flags   flagSet
}

func (g *grading) run() error {
	if g.in.Exec.Truncated > 0 {
		g.flags.add(flagLogTruncated)
	}
	if g.fromHost() {
		return nil
	}
	if g.in.Log == nil {
		if !g.in.PatchGiven {
			g.res.Verdict.Official = noPatch()
			g.end(eval.EmptyPatch, eval.BlameCandidate, "the prediction has no patch")
			return nil
		}
		return errors.New("there is no test log, and nothing that the host saw explains it; run the trial again")
	}
	got, err := g.read()
	if err != nil {
		return err
	}
	g.noteReading(got)
	switch {
	case g.profile.Rules.Reward:
		if err := g.byReward(got); err != nil {
			return err
		}
	case got.raised != nil:
		g.end(eval.TestsErrored, g.softBlame(), "the log breaks the parser as it breaks the official one: "+got.raised.Detail)
	case !got.found:
		g.refused(got)
	default:
		if err := g.judged(got); err != nil {
			return err
		}
	}
	if g.in.Exec.DiskFull && !g.res.Verdict.Resolved {
		g.res.Verdict.Official = nil
		g.end(eval.OutOfDisk, g.softBlame(), "the sandbox's disk limit was reached")
	}
	return nil
}

// fromHost decides the outcomes that follow from what the host saw, before any
// log is looked at: the official harness has no report for them.
func (g *grading) fromHost() bool {
	x := g.in.Exec
	switch {
	case x.TimedOut:
		g.end(eval.TimedOut, g.softBlame(), "the tests ran into the time limit")
	case x.OOMKilled:
		g.end(eval.OutOfMemory, g.softBlame(), "the sandbox ran into its memory limit")
	case x.Died && x.DiskFull:
		g.end(eval.OutOfDisk, g.softBlame(), "the sandbox's disk limit was reached")
	case x.Died:
		g.end(eval.SandboxDied, g.softBlame(), "the sandbox ended while the tests ran")
	case g.in.PatchGiven && !g.in.Applied:
		g.end(eval.PatchNotApplied, eval.BlameCandidate, "the patch does not apply")
	default:
		return false
	}
	return true
}

// softBlame is the blame for what a patch can cause and a bad environment can
// too. Without a patch only the environment is left.
func (g *grading) softBlame() eval.Blame {
	if g.in.PatchGiven {
		return eval.BlameAmbiguous
	}
	return eval.BlameEnvironment
}

func (g *grading) end(o eval.Outcome, b eval.Blame, reason string) {
	g.res.Verdict.Outcome, g.res.Blame, g.res.Reason = o, b, reason
	g.res.Verdict.Resolved = o == eval.Resolved
}

func (g *grading) read() (reading, error) {
	t := g.in.Task
	parser, ok := logparse.Lookup(t.LogParser)
	if !ok {
		return reading{}, unknownParser(t.LogParser)
	}
	r := reader{
		rules: &g.profile.Rules, parser: parser, open: g.in.Log,
		failOnly:  g.profile.Rules.FailOnly.applies(t),
		truncated: g.in.Exec.Truncated > 0,
		opt: logparse.Options{
			Dialect: g.profile.Rules.Dialect, InstanceID: t.InstanceID, Version: t.Version,
			Want: [][]string{t.FailToPass, t.PassToPass},
		},
	}
	return r.read()
}

// noteReading keeps what people should know of how the log was read.
func (g *grading) noteReading(got reading) {
	if c := got.coverage; c != nil && c.Lines > 0 {
		g.res.Coverage = &eval.LogCoverage{
			Lines: c.Lines, Bytes: c.Bytes, UnplacedLines: c.UnplacedLines, UnplacedBytes: c.UnplacedBytes,
		}
	}
	for word, on := range map[flag]bool{
		flagRaised:    got.raised != nil,
		flagWholeLog:  got.whole,
		flagLongLines: got.long,
		flagTextCut:   got.cut,
		flagMapCapped: got.tests.Capped(),
		flagDuplicate: got.tests.Changed() > 0,
	} {
		if on {
			g.flags.add(word)
		}
	}
	if got.refused != "" {
		g.flags.add(got.refused)
	}
}

// refused ends a trial whose log is not gradable. Which of the two outcomes it
// is follows from the exit code that the host saw and from whether there was any
// result, not from messages in the log.
func (g *grading) refused(got reading) {
	g.res.Verdict.Official = g.official()
	if g.profile.Rules.InfraLabels && got.infra != nil && g.in.PatchGiven {
		env := got.infra.environment
		g.res.Verdict.Official.InfraFailure, g.res.Verdict.Official.InfraReason = &env, got.infra.reason
	}
	if got.tests.Len() == 0 {
		g.silent(refusals[got.refused])
		return
	}
	g.end(eval.TestsErrored, g.softBlame(), "the log can't be graded: "+refusals[got.refused])
}

// silent ends a trial whose log has no result.
func (g *grading) silent(why string) {
	o := eval.NoTestsRan
	if code := g.in.Exec.ExitCode; code != nil && *code != 0 {
		o = eval.TestsErrored
	}
	g.end(o, g.softBlame(), "the log has no test result: "+why)
}

var refusals = map[flag]string{
	flagBadCode:      "it has a text by which scripts say that they failed",
	flagMarkers:      "the markers around the test output are not both there",
	flagNotApplied:   "nothing in it says that the test patch was applied",
	flagNoResults:    "no parser result and no runner's summary",
	flagExitMismatch: "the test command failed, and the log has no failing test",
	flagRepeated:     "a marker occurs more than once, so the tests or the patch may have printed it",
	flagLogTruncated: "its middle was cut when it was recorded, and what stood there may matter",
	flagTextCut:      "its text is too long to be read at once, and what was left out may matter",
	flagSuiteUnseen:  "it can only name failing tests, and no runner's summary says that tests ran",
}

// judged ends a trial whose log is gradable.
func (g *grading) judged(got reading) error {
	rules := &g.profile.Rules
	tests := got.tests
	if rules.StripTiming {
		if tests = withoutTimes(tests, g.in.Task); tests.Changed() > 0 {
			g.flags.add(flagDuplicate)
		}
	}
	card, err := rules.judge(g.in.Task, tests, &g.flags)
	if err != nil {
		return err
	}
	g.res.StatusMap = tests
	g.res.Tests = card.rows(tests, &g.flags)
	g.res.Counts = card.counts()
	off := g.official()
	resolved := card.resolved()
	if g.in.PatchGiven {
		off.PatchApplied, off.Resolved, off.TestsStatus = true, resolved, card.status
	}
	g.res.Verdict.Official = off
	switch {
	case resolved:
		g.end(eval.Resolved, eval.BlameNone, "")
	case tests.Len() == 0:
		g.silent("its parser finds none")
	case g.in.PatchGiven:
		g.end(eval.Unresolved, eval.BlameCandidate, card.missed())
	default:
		g.end(eval.Unresolved, eval.BlameNone, card.missed())
	}
	return nil
}

// withoutTimes is the map with times taken off the names. The task's own tests
// are kept however many there are.
func withoutTimes(m *logparse.StatusMap, t *eval.Task) *logparse.StatusMap {
	var want []string
	for _, list := range [][]string{t.FailToPass, t.PassToPass} {
		for _, n := range list {
			want = append(want, logparse.StripTimes(n))
		}
	}
	return m.Renamed(logparse.StripTimes, want)
}

// official starts the official report: without a patch it says only that.
func (g *grading) official() *eval.OfficialReport {
	if !g.in.PatchGiven {
		r := noPatch()
		if g.profile.Rules.InfraLabels {
			r.InfraFailure = new(bool)
		}
		return r
	}
	r := &eval.OfficialReport{PatchExists: true}
	if g.profile.Rules.InfraLabels {
		r.InfraFailure = new(bool)
	}
	return r
}

func noPatch() *eval.OfficialReport { return &eval.OfficialReport{PatchIsNone: true} }
