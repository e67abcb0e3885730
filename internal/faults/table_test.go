//go:build e2e

package faults

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// result is one cell of the matrix.
type result struct {
	fault, moment, input string
	at                   int // results stored when it struck
	healed               time.Duration
	tries                int // physical executions stored
	comparison
	left   []string
	failed bool
}

// table prints what came of all faults.
type table struct{ rows []result }

func (t *table) add(r result) { t.rows = append(t.rows, r) }

func (t *table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "FAULT\tMOMENT\tINPUT\tRESULTS THEN\tHEALED AFTER\tTRIES\tLOST\tDUPLICATED\tCHANGED\tLEFT BEHIND\t")
	for _, r := range t.rows {
		verdict := ""
		if r.failed {
			verdict = "FAILED"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%.1f s\t%d\t%d\t%d\t%d\t%d\t%s\n", r.fault, r.moment, r.input, r.at,
			r.healed.Seconds(), r.tries, r.lost, r.duplicated, r.changed, len(r.left), verdict)
	}
	_ = w.Flush()
	return b.String()
}
