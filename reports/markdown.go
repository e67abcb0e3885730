package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"harness/eval"
	"harness/internal/escape"
)

// summary.md has to fit a pull-request comment (65,536 characters on GitHub).
// Rows are bounded in number and, since one odd character may take a dozen to
// show, in bytes: the budgets sum to less than that.
const (
	maxListed      = 50 // tasks named as not resolved
	maxNamed       = 20 // infra errors, tampered patches
	maxCoverageIDs = 10 // ids on each coverage line
	maxCell        = 120

	budgetUnresolved = 24 << 10
	budgetInfra      = 10 << 10
	budgetTampered   = 8 << 10
	budgetCoverage   = 1 << 10 // each line
	budgetCalibrated = 2 << 10 // each list
)

// writeMarkdown writes summary.md. Text of candidates and of input files is
// shown escaped and cut; instance ids and our own words are not of theirs.
func writeMarkdown(w io.Writer, s Summary, unresolved []attempt, unresolvedCount int) error {
	var b bytes.Buffer
	h := &s.Harness
	r := h.Rates

	fmt.Fprintf(&b, "### Resolved %d of %d%s\n\n", r.All.Resolved, r.All.Of, inParens(percent(r.All.Rate)))
	facts := []string{escape.Markdown(h.Run.RunID)}
	for _, f := range []struct{ name, value string }{
		{"dataset", h.Run.Dataset}, {"split", h.Run.Split}, {"agent", h.Run.Agent}, {"model", h.Run.Model},
		{"profile", h.Run.Profile}, {"runtime", h.Run.Runtime}, {"network", h.Run.Network},
	} {
		if f.value != "" {
			facts = append(facts, f.name+" "+cell(f.value))
		}
	}
	fmt.Fprintf(&b, "Run %s\n\n", strings.Join(facts, " · "))

	b.WriteString("| denominator | resolved | rate | 95 % interval |\n|---|---:|---:|---:|\n")
	for _, row := range rateRows(s) {
		fmt.Fprintf(&b, "| %s | %d of %d | %s | %s |\n", row.name, row.rate.Resolved, row.rate.Of, percent(row.rate.Rate), interval(row.rate))
	}

	b.WriteString("\n| outcome | " + unitOf(s) + " |\n|---|---:|\n")
	for _, o := range eval.Outcomes() {
		if n := h.Outcomes[o.String()]; n > 0 {
			fmt.Fprintf(&b, "| %s | %d |\n", o, n)
		}
	}
	b.WriteString("\n")

	writeCoverage(&b, s)
	writeCalibration(&b, h.Calibration)
	writeInfra(&b, h.InfraErrors)
	writeTampered(&b, h.Tampered)
	writeUnresolved(&b, unresolved, unresolvedCount)

	b.WriteString(timeLine(h))
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", FileSummary, err)
	}
	return nil
}

func writeCoverage(b *bytes.Buffer, s Summary) {
	h, c := &s.Harness, &s.Harness.Coverage
	var lines []string
	for _, l := range []struct {
		what string
		ids  []string
	}{
		{"missing: selected tasks without a prediction", c.Missing},
		{"duplicate: ids given more than once, the last one counts", c.Duplicate},
		{"unknown: ids of no task in the dataset", c.Unknown},
		{"unselected: tasks of the dataset that were not selected", c.Unselected},
		{"empty: predictions with an empty patch", c.Empty},
		{"null: predictions without a patch", c.Null},
		{"malformed: records that could not be read", c.Malformed},
	} {
		if len(l.ids) == 0 {
			continue
		}
		line := bytes.NewBufferString(fmt.Sprintf("- %d %s:", len(l.ids), l.what))
		writeRows(line, len(l.ids), min(len(l.ids), maxCoverageIDs), budgetCoverage, moreInline, func(i int) {
			line.WriteString(" " + cell(l.ids[i]))
		})
		lines = append(lines, line.String()+"\n")
	}
	if h.NoResult > 0 {
		lines = append(lines, fmt.Sprintf("- %d %s without any record: the run has not finished them\n", h.NoResult, unitOf(s)))
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "**Coverage** (%d tasks, %d records)\n\n%s\n", h.Tasks, c.Records, strings.Join(lines, ""))
	}
}

func writeInfra(b *bytes.Buffer, faults []InfraFault) {
	if len(faults) == 0 {
		return
	}
	fmt.Fprintf(b, "**Infra errors: %d** (faults of ours, missing data rather than failures)\n\n| task | class | message |\n|---|---|---|\n", len(faults))
	writeRows(b, len(faults), min(len(faults), maxNamed), budgetInfra, moreBelow, func(i int) {
		f := &faults[i]
		fmt.Fprintf(b, "| %s | %s | %s |\n", taskName(f.InstanceID, f.Attempt), cell(f.Class), cell(f.Message))
	})
	b.WriteString("\n")
}

func writeTampered(b *bytes.Buffer, tampered []Tampered) {
	if len(tampered) == 0 {
		return
	}
	fmt.Fprintf(b, "**Tamper flags: %d**\n\n| task | outcome | flags |\n|---|---|---|\n", len(tampered))
	writeRows(b, len(tampered), min(len(tampered), maxNamed), budgetTampered, moreBelow, func(i int) {
		t := &tampered[i]
		fmt.Fprintf(b, "| %s | %s | %s |\n", taskName(t.InstanceID, t.Attempt), t.Outcome, cell(strings.Join(t.Flags, ", ")))
	})
	b.WriteString("\n")
}

func writeUnresolved(b *bytes.Buffer, list []attempt, total int) {
	if total == 0 {
		return
	}
	fmt.Fprintf(b, "<details><summary>Not resolved: %d</summary>\n\n| task | outcome | F2P | P2P | blame | reason |\n|---|---|---:|---:|---|---|\n", total)
	writeRows(b, total, len(list), budgetUnresolved, moreBelow, func(i int) {
		a := &list[i]
		reason := a.reason
		if reason == "" {
			reason = a.fault
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", taskName(a.id.InstanceID, a.id.Attempt), a.outcome,
			passed(a.counts.F2PPassed, a.counts.F2PTotal), passed(a.counts.P2PPassed, a.counts.P2PTotal), cell(string(a.blame)), cell(reason))
	})
	b.WriteString("\n</details>\n\n")
}

func timeLine(h *Harness) string {
	var parts []string
	if h.Run.WallSeconds != nil {
		parts = append(parts, "Took "+duration(*h.Run.WallSeconds))
	}
	if h.Totals.WallSeconds != nil {
		parts = append(parts, "sandbox time "+duration(*h.Totals.WallSeconds))
	}
	if h.Totals.CPUSeconds != nil {
		parts = append(parts, "CPU time "+duration(*h.Totals.CPUSeconds))
	}
	if h.Totals.CostUSD != nil {
		parts = append(parts, fmt.Sprintf("cost %.2f USD", *h.Totals.CostUSD))
	}
	if h.Totals.Cached > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d trials from the cache", h.Totals.Cached, h.Trials))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " · ") + "\n"
}

type rateRow struct {
	name string
	rate Rate
}

// rateRows are the rates to print: both denominators always, that of calibrated
// tasks with a calibration, the others where they say something else.
func rateRows(s Summary) []rateRow {
	r := s.Harness.Rates
	rows := []rateRow{{"all", r.All}}
	if c := s.Harness.Calibration; c != nil {
		rows = append(rows, rateRow{"calibrated tasks only", c.Resolved})
	}
	rows = append(rows, rateRow{"without infra errors", r.WithoutInfraErrors})
	if s.Harness.Attempts != s.Harness.Tasks || r.All.Of != r.AllTasks.Of {
		name := "all selected tasks"
		if manyAttempts(s) {
			name += ", first attempts"
		}
		rows = append(rows, rateRow{name, r.AllTasks})
	}
	if manyAttempts(s) {
		rows = append(rows, rateRow{"tasks resolved by any attempt", r.AnyAttempt})
	}
	return rows
}

func manyAttempts(s Summary) bool { return s.Harness.Run.Attempts > 1 }

func unitOf(s Summary) string {
	if manyAttempts(s) {
		return "attempts"
	}
	return "tasks"
}

// taskName names an attempt; ids have a grammar in which "`" and "|" are no letters.
func taskName(id string, attempt int) string {
	if attempt > 1 {
		return fmt.Sprintf("`%s` attempt %d", id, attempt)
	}
	return "`" + id + "`"
}

// cell shows foreign text in a table or a line.
func cell(s string) string {
	if s == "" {
		return ""
	}
	// Cut what is seen, not what it was: an escape may be ten times as long.
	return escape.Markdown(escape.Cut(escape.Terminal(s), maxCell))
}

// What follows rows that were not all shown, in a line and after a table.
const (
	moreInline = " and %d more"
	moreBelow  = "\nand %d more\n"
)

// writeRows writes rows 0, 1, ... until there are n of them or the budget is
// used up, and then how many of total were left out.
func writeRows(b *bytes.Buffer, total, n, budget int, more string, row func(i int)) {
	shown := 0
	for start := b.Len(); shown < n && b.Len()-start < budget; shown++ {
		row(shown)
	}
	if left := total - shown; left > 0 {
		fmt.Fprintf(b, more, left)
	}
}

func passed(n, of *int) string {
	if n == nil || of == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d", *n, *of)
}

func percent(p *float64) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100**p)
}

func interval(r Rate) string {
	if r.Low == nil || r.High == nil {
		return ""
	}
	return fmt.Sprintf("%.1f – %.1f %%", 100**r.Low, 100**r.High)
}

func inParens(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// duration prints seconds for people: 0.4s, 12s, 3m12s, 1h2m3s.
func duration(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.1fs", seconds)
	}
	if seconds > 1e9 {
		return fmt.Sprintf("%.0fs", seconds)
	}
	return (time.Duration(seconds+0.5) * time.Second).String()
}
