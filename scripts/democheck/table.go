package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// absent stands for a trial that the table does not have.
const absent = "(absent)"

// row is one line of the table.
type row struct {
	set, id, got string
	want         anyOf
}

func (r row) ok() bool {
	if slices.Contains(r.want, notResolved) {
		return r.got != "resolved" && r.got != "infra_error" && r.got != absent
	}
	return slices.Contains(r.want, r.got)
}

// compare lists all expected trials, and those that nobody expected.
func compare(set string, got map[string]string, want expected) []row {
	ids := slices.Collect(maps.Keys(want))
	for id := range got {
		if _, known := want[id]; !known {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	rows := make([]row, 0, len(ids))
	for _, id := range ids {
		r := row{set: set, id: id, got: absent, want: anyOf{absent}}
		if o, ok := got[id]; ok {
			r.got = o
		}
		if x, ok := want[id]; ok {
			r.want = x.Outcome
		}
		rows = append(rows, r)
	}
	return rows
}

// table prints one line a trial and the tally, for all sets.
func table(ctx context.Context, w io.Writer, sets []string) error {
	var rows []row
	for _, s := range sets {
		parts := strings.Split(s, "=")
		if len(parts) != 3 {
			return errUsage
		}
		got, err := readOutcomes(ctx, parts[1])
		if err != nil {
			return err
		}
		want, err := readExpected(parts[2])
		if err != nil {
			return err
		}
		rows = append(rows, compare(parts[0], got, want)...)
	}
	wrong := 0
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SET\tINSTANCE\tOUTCOME\tEXPECTED\t")
	for _, r := range rows {
		mark := "ok"
		if !r.ok() {
			mark = "WRONG"
			wrong++
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", r.set, plain(r.id), plain(r.got), plain(r.want.String()), mark)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d trials, %d as expected, %d not\n", len(rows), len(rows)-wrong, wrong)
	if wrong > 0 {
		return fmt.Errorf("%d of %d: %w", wrong, len(rows), errMismatch)
	}
	return nil
}

// plain keeps control characters of an unexpected file off the terminal.
func plain(s string) string {
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}
