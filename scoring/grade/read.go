package grade

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

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
		valid := &utf8Check{}
		if r.rules.StrictUTF8 {
			valid.r = log
			log = valid
		}
		s := newSection(log, r.rules)
		err := r.parse(s, &got)
		if derr := s.drain(); derr != nil {
			return derr
		}
		facts = s.facts
		if !valid.ok() {
			got = reading{tests: new(logparse.StatusMap), raised: &logparse.RaisedError{
				Parser: r.parser.Name, Kind: "UnicodeDecodeError", Detail: "the log is not UTF-8",
			}}
		}
		return err
	})
	if got.raised != nil && got.raised.Kind == "UnicodeDecodeError" {
		return got, err
	}
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

// utf8Check tells whether what was read through it is UTF-8.
type utf8Check struct {
	r     io.Reader
	begun []byte // the start of a character whose rest is still to come
	bad   bool
}

func (u *utf8Check) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if n == 0 || u.bad {
		return n, err
	}
	b := p[:n]
	for len(u.begun) > 0 && len(b) > 0 && !utf8.FullRune(u.begun) {
		u.begun, b = append(u.begun, b[0]), b[1:]
	}
	if len(u.begun) > 0 && !utf8.FullRune(u.begun) {
		return n, err
	}
	cut := len(b)
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				cut -= i
			}
			break
		}
	}
	u.bad = !utf8.Valid(u.begun) || !utf8.Valid(b[:cut])
	u.begun = append(u.begun[:0], b[cut:]...)
	return n, err
}

func (u *utf8Check) ok() bool { return !u.bad && len(u.begun) == 0 }
