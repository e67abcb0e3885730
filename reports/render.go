package reports

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"harness/eval"
	"harness/internal/escape"
)

// RenderTable writes the outcome table that a command prints at its end, in
// lines of at most width characters; width <= 0 sets no bound.
func RenderTable(w io.Writer, s Summary, width int) error {
	h := &s.Harness
	rows := [][]string{{"outcome", unitOf(s), "share"}}
	for _, o := range eval.Outcomes() {
		if n := h.Outcomes[o.String()]; n > 0 {
			share := float64(n) / float64(h.Attempts)
			rows = append(rows, []string{o.String(), fmt.Sprint(n), percent(&share)})
		}
	}
	rows = append(rows, []string{"total", fmt.Sprint(h.Attempts), ""})
	lines := align(rows)

	lines = append(lines, "")
	rows = [][]string{{"resolved of", "", "rate", "95 % interval"}}
	for _, r := range rateRows(s) {
		rows = append(rows, []string{r.name, fmt.Sprintf("%d of %d", r.rate.Resolved, r.rate.Of), percent(r.rate.Rate), interval(r.rate)})
	}
	lines = append(lines, align(rows)...)

	notes := append(coverageNotes(s), calibrationNotes(h.Calibration)...)
	if len(h.Tampered) > 0 {
		notes = append(notes, fmt.Sprintf("tamper flags on %d %s", len(h.Tampered), unitOf(s)))
	}
	if t := timeLine(h); t != "" {
		notes = append(notes, strings.TrimSpace(t))
	}
	if len(notes) > 0 {
		lines = append(append(lines, ""), notes...)
	}

	var b strings.Builder
	for _, l := range lines {
		l = strings.TrimRight(l, " ")
		if width > 0 {
			l = escape.Cut(l, width)
		}
		b.WriteString(l + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print outcome table: %w", err)
	}
	return nil
}

// coverageNotes counts what did not match between predictions and dataset.
func coverageNotes(s Summary) []string {
	c := &s.Harness.Coverage
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{len(c.Missing), "missing"}, {len(c.Duplicate), "duplicate"}, {len(c.Unknown), "unknown"}, {len(c.Unselected), "unselected"},
		{len(c.Empty), "empty"}, {len(c.Null), "null"}, {len(c.Malformed), "malformed"}, {s.Harness.NoResult, "without a result"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"predictions: " + strings.Join(parts, ", ")}
}

// align pads cells to columns, the first to the left and the others to the right.
func align(rows [][]string) []string {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	out := make([]string, len(rows))
	for n, r := range rows {
		var b strings.Builder
		for i, c := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 0 {
				b.WriteString(c + pad)
			} else {
				b.WriteString("  " + pad + c)
			}
		}
		out[n] = b.String()
	}
	return out
}
