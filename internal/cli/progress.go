package cli

import (
	"fmt"
	"strings"
	"time"

	"harness/eval"
	"harness/internal/runs"
)

// Progress shows a run that goes on: a few lines that are redrawn on a terminal,
// one plain line at a time elsewhere.
type Progress struct {
	app     *App
	started time.Time
	first   int // finished when watching began: they say nothing of the speed
	seen    bool
	drawn   int // lines on the terminal
	last    string
	lastAt  time.Time
}

// NewProgress starts the clock.
func NewProgress(app *App) *Progress {
	return &Progress{app: app, started: app.Now()}
}

// plainEvery bounds how often an unchanged plain line is repeated.
const plainEvery = 30 * time.Second

// Show draws p.
func (v *Progress) Show(p runs.Progress) {
	done := p.Tally.Total()
	if !v.seen {
		v.seen, v.first = true, done
	}
	lines := v.lines(p, done)
	if v.app.Terminal {
		v.redraw(lines)
		return
	}
	line := strings.Join(lines, "; ")
	if key := fmt.Sprint(done, p.Paused, p.Phase); key != v.last || v.app.Now().Sub(v.lastAt) >= plainEvery {
		v.last, v.lastAt = key, v.app.Now()
		v.app.Note("%s", line)
	}
}

// Done leaves the last drawing in place.
func (v *Progress) Done() { v.drawn = 0 }

func (v *Progress) lines(p runs.Progress, done int) []string {
	head := fmt.Sprintf("%d of %d done, %d in flight", done, p.Total, p.Running)
	switch {
	case p.Phase == "reporting":
		head = fmt.Sprintf("%d of %d done, writing the report", done, p.Total)
	case p.Paused:
		head += ", paused"
	default:
		head += v.eta(done, p.Total)
	}
	var parts []string
	for _, o := range eval.Outcomes() {
		if n := p.Tally[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", o, n))
		}
	}
	if len(parts) == 0 {
		return []string{head}
	}
	return []string{head, strings.Join(parts, ", ")}
}

// eta is what is left at the pace so far.
func (v *Progress) eta(done, total int) string {
	n, left := done-v.first, total-done
	elapsed := v.app.Now().Sub(v.started)
	if n < 2 || left <= 0 {
		return ""
	}
	eta := time.Duration(float64(elapsed) / float64(n) * float64(left))
	return fmt.Sprintf(", %.1f/min, about %s left", float64(n)/elapsed.Minutes(), eta.Round(time.Second))
}

func (v *Progress) redraw(lines []string) {
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	for _, l := range lines {
		if v.app.Width > 0 && len(l) >= v.app.Width {
			l = l[:v.app.Width-1]
		}
		fmt.Fprintf(&b, "\r\x1b[K%s\n", l)
	}
	for i := len(lines); i < v.drawn; i++ {
		b.WriteString("\r\x1b[K\n")
	}
	v.drawn = max(v.drawn, len(lines))
	fmt.Fprint(v.app.Err, b.String())
}
