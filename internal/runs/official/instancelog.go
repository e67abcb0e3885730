package official

import (
	"bytes"
	"fmt"
	"time"

	"harness/eval"
	"harness/internal/escape"
)

// Texts of the official log that tools look for.
const (
	applied    = ">>>>> Applied Patch"
	notApplied = ">>>>> Patch Apply Failed"
)

// instanceLog makes run_instance.log of what is known of a trial.
type instanceLog struct {
	t       *eval.TrialResult
	version string
	timeout int64
	apply   []byte // what the apply tools said
	ran     bool   // the tests were started
	report  []byte // nil when there is none

	b  bytes.Buffer
	at time.Time
}

func (l *instanceLog) text() []byte {
	t := l.t
	l.at = t.StartedAt
	l.line("INFO", "Written by harness %s from its record of %s; %s", escape.Terminal(l.version), t.TrialID, facts(t))
	l.phase(eval.PhaseApply)
	switch {
	case t.Outcome == eval.PatchNotApplied:
		l.line("INFO", "%s:\n%s", notApplied, l.apply)
	case l.ran:
		l.line("INFO", "%s:\n%s", applied, l.apply)
	}
	l.phase(eval.PhaseTests)
	if l.ran {
		for _, p := range t.Phases {
			if p.Name == eval.PhaseTests {
				l.at = p.StartedAt.Add(time.Duration(p.Seconds * float64(time.Second)))
				l.line("INFO", "Test runtime: %.2f seconds", p.Seconds)
			}
		}
		l.line("INFO", "Test output for %s written to %s", t.InstanceID, fileOutput)
	}
	if t.Outcome == eval.TimedOut {
		l.line("INFO", "Test timed out after %d seconds.", l.timeout)
	}
	l.phase(eval.PhaseEvaluate)
	if l.report == nil {
		l.line("ERROR", "Error in evaluating model for %s: %s: %s", t.InstanceID, t.Outcome, escape.Terminal(t.Reason))
		return l.b.Bytes()
	}
	l.line("INFO", "Grading answer for %s...", t.InstanceID)
	resolved := "False"
	if t.Verdicts[0].Official.Resolved {
		resolved = "True"
	}
	l.line("INFO", "report: %s\nResult for %s: resolved: %s", l.report, t.InstanceID, resolved)
	return l.b.Bytes()
}

// phase moves the clock to the beginning of a phase, if that was recorded.
func (l *instanceLog) phase(name string) {
	for _, p := range l.t.Phases {
		if p.Name == name {
			l.at = p.StartedAt
		}
	}
}

func (l *instanceLog) line(level, format string, args ...any) {
	fmt.Fprintf(&l.b, "%s - %s - %s\n", l.at.UTC().Format("2006-01-02 15:04:05,000"), level, fmt.Sprintf(format, args...))
}

// facts names what ran the trial, as far as it is known.
func facts(t *eval.TrialResult) string {
	known := func(s string) string {
		if s == "" {
			return "unknown"
		}
		return escape.Terminal(s)
	}
	return fmt.Sprintf("runtime %s, image %s", known(t.Exec.Runtime), known(t.Exec.ImageDigest))
}
