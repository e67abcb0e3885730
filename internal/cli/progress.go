package cli

import (
	"fmt"
	"strings"
	"time"

	"harness/eval"
	"harness/internal/escape"
	"harness/internal/runs"
)

// Progress shows a run that goes on: a table that is redrawn on a terminal, one
// plain line at a time elsewhere.
type Progress struct {
	app     *App
	started time.Time
	first   int // finished when watching began: they say nothing of the speed
	seen    bool
	drawn   int    // lines on the terminal
	state   string // last plain line: what the run was doing
	done    int    // and how many trials it had finished
	at      time.Time
}

// NewProgress starts the clock.
func NewProgress(app *App) *Progress {
	return &Progress{app: app, started: app.Now()}
}

// A plain line comes at once when the run does something else, and otherwise the
// more seldom the longer it takes: a night's log is no longer than it must be.
const (
	plainFirst = 2 * time.Second
	plainEvery = 30 * time.Second
)

// Show draws p.
func (v *Progress) Show(p runs.Progress) {
	done := p.Tally.Total()
	if !v.seen {
		v.seen, v.first = true, done
	}
	head, rows := v.head(p, done), outcomeRows(p, done)
	if v.app.Terminal {
		v.redraw(v.table(head, rows, p, done))
		return
	}
	line := head
	if len(rows) > 0 {
		line += "; " + oneLine(rows)
	}
	now := v.app.Now()
	state, pause := fmt.Sprint(p.Paused, p.Phase), plainEvery
	if done != v.done {
		pause = min(plainEvery, plainFirst+now.Sub(v.started)/20)
	}
	if state != v.state || now.Sub(v.at) >= pause {
		v.state, v.done, v.at = state, done, now
		v.app.Note("%s", line)
	}
}

// Clear takes the drawing off the terminal, for the report that says it all.
func (v *Progress) Clear() {
	if v.drawn > 0 {
		fmt.Fprintf(v.app.Err, "\x1b[%dA\r\x1b[J", v.drawn)
		v.drawn = 0
	}
}

// Leave lets the last drawing stay.
func (v *Progress) Leave() { v.drawn = 0 }

func (v *Progress) head(p runs.Progress, done int) string {
	switch {
	case p.Phase == "planning":
		return "planning"
	case p.Phase == "reporting":
		return fmt.Sprintf("%d of %d done, writing the report", done, p.Total)
	case p.Paused:
		return fmt.Sprintf("%d of %d done, %d in flight, paused", done, p.Total, p.Running)
	}
	return fmt.Sprintf("%d of %d done, %d in flight%s", done, p.Total, p.Running, v.eta(done, p.Total))
}

// eta is what is left at the pace so far.
func (v *Progress) eta(done, total int) string {
	n, left := done-v.first, total-done
	elapsed := v.app.Now().Sub(v.started)
	if n < 2 || left <= 0 || elapsed <= 0 {
		return ""
	}
	eta := time.Duration(float64(elapsed) / float64(n) * float64(left))
	return fmt.Sprintf(", %.1f/min, about %s left", float64(n)/elapsed.Minutes(), roughly(eta))
}

// roughly writes a duration as precisely as a guess deserves.
func roughly(d time.Duration) string {
	switch {
	case d >= time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= 10*time.Minute:
		return fmt.Sprintf("%dm", int(d.Round(time.Minute).Minutes()))
	}
	return max(time.Second, d.Round(time.Second)).String()
}

type outcomeRow struct {
	name  string
	n     int
	share float64
}

func outcomeRows(p runs.Progress, done int) []outcomeRow {
	var rows []outcomeRow
	for _, o := range eval.Outcomes() {
		if n := p.Tally[o]; n > 0 {
			rows = append(rows, outcomeRow{o.String(), n, 100 * float64(n) / float64(done)})
		}
	}
	return rows
}

func oneLine(rows []outcomeRow) string {
	parts := make([]string, len(rows))
	for i, r := range rows {
		parts[i] = fmt.Sprintf("%s %d", r.name, r.n)
	}
	return strings.Join(parts, ", ")
}

// table is what a terminal shows. On a low one the outcomes share a line, since
// what has scrolled away can't be redrawn.
func (v *Progress) table(head string, rows []outcomeRow, p runs.Progress, done int) []string {
	lines := []string{head}
	if p.Total > 0 {
		lines = append(lines, bar(done, p.Running, p.Total, 50))
	}
	if height := v.app.Height(); height > 0 && len(rows)+len(lines) >= height-1 {
		return append(lines, oneLine(rows))
	}
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf("  %-18s %6d  %5.1f %%", r.name, r.n, r.share))
	}
	return lines
}

// bar shows what is done and what is in flight.
func bar(done, running, total, width int) string {
	full := done * width / total
	some := min(width, (done+running)*width/total) - full
	return "[" + strings.Repeat("#", full) + strings.Repeat("+", max(0, some)) + strings.Repeat(".", width-full-max(0, some)) + "]"
}

func (v *Progress) redraw(lines []string) {
	width := v.app.Width()
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	for _, l := range lines {
		if width > 1 {
			l = escape.Cut(l, width-1) // a line that wraps would take two
		}
		fmt.Fprintf(&b, "\r\x1b[K%s\n", l)
	}
	// What a longer drawing left below.
	b.WriteString("\x1b[J")
	v.drawn = len(lines)
	fmt.Fprint(v.app.Err, b.String())
}
