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
	refused  flag
	exitCode *int
	raised   *logparse.RaisedError // the official parser stops with an exception
	whole    bool                  // results come from the whole log
	long     bool                  // some lines were too long to be read whole
	cut      bool                  // the text was too long for a parser that needs all of it
	infra    *signature
	coverage *logparse.Coverage
}

// reader reads one task's log.
type reader struct {
	rules  *Rules
	parser logparse.Parser
	opt    logparse.Options
	// failOnly: the task's absent tests count as passed.
	failOnly bool
	// truncated: the middle of the log was cut when it was recorded.
	truncated bool
	open      func() (io.ReadCloser, error)
}

// each opens the log in text mode for one pass.
func (r *reader) each(f func(log io.Reader) error) error {
	rc, err := r.open()
	if err != nil {
		return fmt.Errorf("open test log: %w", err)
	}
	log := logparse.TextMode(rc)
	if r.rules.Terminal {
		log = newTerminal(rc)
	}
	err = f(log)
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
	case r.rules.Markers && !r.rules.Unmarked && (facts.starts == 0 || facts.ends == 0):
		got.refuse(flagMarkers)
		return nil
	case r.rules.OneMarker && (facts.starts > 1 || facts.ends > 1):
		got.refuse(flagRepeated)
		return nil
	case r.rules.NeedText != "" && !facts.needText:
		got.refuse(flagNotApplied)
		return nil
	case r.rules.Complete && r.truncated:
		got.refuse(flagLogTruncated)
		return nil
	case r.rules.Complete && got.cut:
		got.refuse(flagTextCut)
		return nil
	}
	if r.rules.Unmarked && (facts.starts == 0 || facts.ends == 0) {
		if err := r.again(got); err != nil {
			return err
		}
	}
	if got.raised != nil {
		return nil
	}
	if got.tests.Len() == 0 && r.rules.WholeLog {
		if err := r.again(got); err != nil || got.raised != nil {
			return err
		}
		got.whole = got.tests.Len() > 0
	}
	if refusal, err := r.shown(got); err != nil || refusal != "" {
		got.refuse(refusal)
		return err
	}
	if r.rules.CheckExitCode && got.exitCode != nil && *got.exitCode != 0 && got.tests.Len() > 0 && !hasFailure(got.tests) {
		got.refuse(flagExitMismatch)
		return nil
	}
	got.found = true
	return nil
}

// again parses the whole log in place of the part between the markers.
func (r *reader) again(got *reading) error {
	return r.each(func(log io.Reader) error {
		got.raised = nil
		return r.parse(log, got)
	})
}

// shown tells why the log does not show that tests ran; "" if it does, or if
// the rules do not ask.
func (r *reader) shown(got *reading) (refusal flag, err error) {
	careful := r.failOnly && r.rules.FailOnly.Careful
	switch {
	case careful:
		refusal = flagSuiteUnseen
	case got.tests.Len() > 0:
		return "", nil
	case r.rules.NeedResults:
		return flagNoResults, nil
	case r.rules.NeedEvidence:
		refusal = flagNoResults
	default:
		return "", nil
	}
	err = r.each(func(log io.Reader) error {
		if careful {
			log = newSection(log, r.rules)
		}
		ran, err := evidence(log)
		if ran {
			refusal = ""
		}
		return err
	})
	return refusal, err
}

func (g *reading) refuse(why flag) { g.refused, g.found, g.raised = why, false, nil }

func (r *reader) parse(log io.Reader, got *reading) error {
	res, err := r.parser.Parse(log, r.opt)
	got.tests = res.Tests
	got.long = got.long || res.LongLines > 0
	got.cut = got.cut || res.Cut
	got.coverage = res.Coverage
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
