package reports

import (
	"bytes"
	"fmt"
	"strings"

	"harness/eval"
	"harness/internal/escape"
	"harness/scoring/calibration"
)

// calibrationTally sets attempts against the run's calibration.
type calibrationTally struct {
	cal *Calibration
	sum CalibrationSummary

	task        string // the one that was looked at last
	quarantined map[string]bool
	of          string // the task that quarantined is of
	solved, all int    // attempts on calibrated tasks
}

func newCalibrationTally(cal *Calibration) *calibrationTally {
	return &calibrationTally{cal: cal, sum: CalibrationSummary{
		CalibrationFacts: cal.CalibrationFacts, SHA256: cal.SHA256, Runtime: cal.Runtime, RuntimeVersion: cal.RuntimeVersion,
		LeftOut: []LeftOut{}, Quarantined: []Quarantine{}, OnlyQuarantined: []OnlyQuarantined{},
	}}
}

// attempt counts a finished attempt; those of a task come one after the other.
func (t *calibrationTally) attempt(a *attempt) {
	id := a.id.InstanceID
	if t.task != id {
		t.task = id
		t.newTask(id, a.calibrated)
	}
	if a.calibrated != nil && *a.calibrated && a.outcome != eval.Cancelled {
		t.all++
		if a.outcome == eval.Resolved {
			t.solved++
		}
	}
	if len(a.quarantined) > 0 {
		t.sum.OnlyQuarantined = append(t.sum.OnlyQuarantined, OnlyQuarantined{id, a.id.Attempt, a.quarantined})
	}
}

func (t *calibrationTally) newTask(id string, calibrated *bool) {
	task, ok := t.cal.Tasks[id]
	switch {
	case calibrated != nil && *calibrated:
		t.sum.Tasks++
	case calibrated != nil:
		t.leaveOut(id, task.Reasons...)
	case !ok:
		t.leaveOut(id, ReasonAbsent)
	case task.Calibrated != nil:
		t.leaveOut(id, ReasonChanged)
		return // what is said of its tests was said of others
	default:
		t.leaveOut(id, task.Reasons...)
	}
	for _, q := range task.Quarantined {
		t.sum.Quarantined = append(t.sum.Quarantined, Quarantine{id, q.Name, q.Group, storedTexts(q.Reasons, maxWord), flakeRate(&q)})
	}
}

func (t *calibrationTally) leaveOut(id string, reasons ...string) {
	t.sum.LeftOut = append(t.sum.LeftOut, LeftOut{id, append([]string{}, storedTexts(reasons, maxWord)...)})
}

func flakeRate(t *calibration.Test) *float64 {
	var out *float64
	for _, r := range []*calibration.Repeats{&t.Gold, &t.Noop} {
		if r.Flake != nil && (out == nil || r.Flake.Rate > *out) {
			out = some(r.Flake.Rate)
		}
	}
	return out
}

// onlyQuarantined lists the tests that kept a trial from being resolved, if every
// one of them is quarantined, else nil.
func (t *calibrationTally) onlyQuarantined(r *eval.TrialResult) []string {
	task := t.cal.Tasks[r.InstanceID]
	if r.Outcome != eval.Unresolved || r.Calibrated == nil || len(task.Quarantined) == 0 {
		return nil
	}
	if t.of != r.InstanceID {
		t.of, t.quarantined = r.InstanceID, map[string]bool{}
		for _, q := range task.Quarantined {
			t.quarantined[q.Group+" "+q.Name] = true
		}
	}
	var failed []string
	for i := range r.Tests {
		test := &r.Tests[i]
		fails := test.Status != "PASSED" && test.Status != "XFAIL" && (test.Status != "SKIPPED" || test.Group != eval.GroupP2P)
		if !fails || test.Group == eval.GroupOther {
			continue
		}
		if !t.quarantined[test.Group+" "+test.Name] {
			return nil
		}
		failed = append(failed, test.Name)
	}
	// Rules differ in what counts as a failure. Only where the count of the run's own
	// rules is the same is it known which tests they mean.
	c := r.Counts
	if c.F2PPassed == nil || c.F2PTotal == nil || c.P2PPassed == nil || c.P2PTotal == nil ||
		len(failed) != *c.F2PTotal-*c.F2PPassed+*c.P2PTotal-*c.P2PPassed {
		return nil
	}
	return failed
}

func (t *calibrationTally) summary(all Rate) *CalibrationSummary {
	t.sum.Resolved, t.sum.ResolvedAll = newRate(t.solved, t.all), all
	return &t.sum
}

const (
	quarantineNote = "shown only, they change no verdict"
	maxShown       = 3 // names in a note on the terminal
)

// calibrationNotes are for the terminal.
func calibrationNotes(c *CalibrationSummary) []string {
	if c == nil {
		return nil
	}
	notes := []string{fmt.Sprintf("calibration: %d of %d tasks calibrated under %s", c.Tasks, c.Tasks+len(c.LeftOut), escape.Terminal(c.Runtime))}
	if n := len(c.LeftOut); n > 0 {
		notes = append(notes, fmt.Sprintf("left out of \"calibrated tasks only\": %d: %s", n, firstOf(n, func(i int) string {
			return fmt.Sprintf("%s (%s)", c.LeftOut[i].InstanceID, escape.Terminal(strings.Join(c.LeftOut[i].Reasons, ", ")))
		})))
	}
	if n := len(c.Quarantined); n > 0 {
		notes = append(notes, fmt.Sprintf("quarantined tests (%s): %d: %s", quarantineNote, n, firstOf(n, func(i int) string {
			q := &c.Quarantined[i]
			return fmt.Sprintf("%s %s (%s)", q.InstanceID, escape.Cut(escape.Terminal(q.Test), maxCell), escape.Terminal(strings.Join(q.Reasons, ", ")))
		})))
	}
	if n := len(c.OnlyQuarantined); n > 0 {
		notes = append(notes, fmt.Sprintf("not resolved through quarantined tests alone: %d: %s", n, firstOf(n, func(i int) string {
			return c.OnlyQuarantined[i].InstanceID
		})))
	}
	return notes
}

func firstOf(n int, name func(int) string) string {
	var names []string
	for i := range min(n, maxShown) {
		names = append(names, name(i))
	}
	text := strings.Join(names, ", ")
	if n > maxShown {
		text += fmt.Sprintf(" and %d more", n-maxShown)
	}
	return text
}

// writeCalibration is for summary.md.
func writeCalibration(b *bytes.Buffer, c *CalibrationSummary) {
	if c == nil {
		return
	}
	fmt.Fprintf(b, "**Calibration**: %d of %d tasks calibrated under %s\n\n", c.Tasks, c.Tasks+len(c.LeftOut), cell(c.Runtime))
	if n := len(c.LeftOut); n > 0 {
		fmt.Fprintf(b, "Left out: %d\n\n| task | why |\n|---|---|\n", n)
		writeRows(b, n, min(n, maxNamed), budgetCalibrated, moreBelow, func(i int) {
			fmt.Fprintf(b, "| `%s` | %s |\n", c.LeftOut[i].InstanceID, cell(strings.Join(c.LeftOut[i].Reasons, ", ")))
		})
		b.WriteString("\n")
	}
	if n := len(c.Quarantined); n > 0 {
		fmt.Fprintf(b, "Quarantined tests (%s): %d\n\n| task | test | group | why | flake rate |\n|---|---|---|---|---:|\n", quarantineNote, n)
		writeRows(b, n, min(n, maxNamed), budgetCalibrated, moreBelow, func(i int) {
			q := &c.Quarantined[i]
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", q.InstanceID, cell(q.Test), cell(q.Group), cell(strings.Join(q.Reasons, ", ")), percent(q.FlakeRate))
		})
		b.WriteString("\n")
	}
	if n := len(c.OnlyQuarantined); n > 0 {
		fmt.Fprintf(b, "Not resolved through quarantined tests alone: %d:", n)
		writeRows(b, n, min(n, maxNamed), budgetCalibrated, moreInline, func(i int) {
			b.WriteString(" " + taskName(c.OnlyQuarantined[i].InstanceID, c.OnlyQuarantined[i].Attempt))
		})
		b.WriteString("\n\n")
	}
}
