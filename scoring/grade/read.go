package grade

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"harness/scoring/logparse"
)

// reading is what the rules get out of a log.
type reading struct {
	tests    *logparse.StatusMap
	found    bool // the log is gradable
	refused  string
	exitCode *int
	raised   *logparse.RaisedError // the official parser stops with an exception
	whole    bool                  // results come from the whole log
	long     bool                  // some lines were too long to be read whole
	cut      bool                  // the text was too long for a parser that needs all of it
	infra    *signature
}

// Why a log is not gradable; these words are flags of a verdict.
const (
	flagBadCode      = "bad_code"           // the log has a text by which scripts say that they failed
	flagMarkers      = "markers_missing"    // the eval script did not get to its end
	flagNotApplied   = "test_patch_missing" // nothing says that the test patch was applied
	flagNoResults    = "no_results"         // no result, and no sign that a suite ran
	flagExitMismatch = "exit_code_mismatch" // the test command failed and the log has no failure
)

// reader reads one task's log.
type reader struct {
	rules  *Rules
	parser logparse.Parser
	opt    logparse.Options
	open   func() (io.ReadCloser, error)
}

// each opens the log in text mode for one pass.
func (r *reader) each(f func(log io.Reader) error) error {
	rc, err := r.open()
	if err != nil {
		return fmt.Errorf("open test log: %w", err)
	}
	err = f(logparse.TextMode(rc))
	if cerr := rc.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("read test log: %w", err)
	}
	return nil
}

// read applies the rules to the log. Only a log that can't be read is an error.
func (r *reader) read() (reading, error) {
	got := reading{tests: new(logparse.StatusMap)}
	if slices.Contains(r.rules.Lacks, r.parser.Name) {
		got.raised = &logparse.RaisedError{
			Parser: r.parser.Name, Kind: "KeyError", Detail: "release " + r.rules.Dialect.Name + " has no such parser",
		}
		return got, nil
	}
	var facts logFacts
	err := r.each(func(log io.Reader) error {
		s := newSection(log, r.rules)
		err := r.parse(s, &got)
		if derr := s.drain(); derr != nil {
			return derr
		}
		facts = s.facts
		return err
	})
	if err == nil && facts.afterLast > 0 {
		err = r.each(func(log io.Reader) error {
			got = reading{}
			return r.parse(newLastSection(log, r.rules, facts.afterLast), &got)
		})
	}
	if err != nil {
		return got, err
	}
	got.exitCode = facts.exitCode
	if err := r.judge(&got, facts); err != nil {
		return got, err
	}
	if got.refused != "" && r.rules.InfraLabels {
		err = r.each(func(log io.Reader) (err error) {
			got.infra, err = infraLabel(log)
			return err
		})
	}
	return got, err
}

// judge decides whether the log is gradable, in the order in which the official
// graders do.
func (r *reader) judge(got *reading, facts logFacts) error {
	switch {
	case facts.badCode:
		got.refuse(flagBadCode)
		return nil
	case r.rules.Markers && !(facts.start && facts.end):
		got.refuse(flagMarkers)
		return nil
	case r.rules.NeedText != "" && !facts.needText:
		got.refuse(flagNotApplied)
		return nil
	case got.raised != nil:
		return nil
	}
	if got.tests.Len() == 0 && r.rules.WholeLog {
		if err := r.each(func(log io.Reader) error { return r.parse(log, got) }); err != nil || got.raised != nil {
			return err
		}
		got.whole = got.tests.Len() > 0
	}
	if got.tests.Len() == 0 && r.rules.NeedEvidence {
		ran := false
		err := r.each(func(log io.Reader) (err error) {
			ran, err = evidence(log)
			return err
		})
		if err != nil {
			return err
		}
		if !ran {
			got.refuse(flagNoResults)
			return nil
		}
	}
	if r.rules.CheckExitCode && got.exitCode != nil && *got.exitCode != 0 && got.tests.Len() > 0 && !hasFailure(got.tests) {
		got.refuse(flagExitMismatch)
		return nil
	}
	got.found = true
	return nil
}

func (g *reading) refuse(flag string) { g.refused, g.found, g.raised = flag, false, nil }

func (r *reader) parse(log io.Reader, got *reading) error {
	res, err := r.parser.Parse(log, r.opt)
	got.tests = res.Tests
	got.long = got.long || res.LongLines > 0
	got.cut = got.cut || res.Cut
	if errors.As(err, &got.raised) {
		return nil
	}
	return err
}

// hasFailure reports whether any test failed by the log.
func hasFailure(m *logparse.StatusMap) bool {
	for _, s := range m.All() {
		if s == logparse.Failed || s == logparse.Error {
			return true
		}
	}
	return false
}
