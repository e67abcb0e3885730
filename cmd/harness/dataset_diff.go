package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"harness/datasets"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/evalrun"
)

func (c *command) datasetDiffCmd() *cobra.Command {
	var split, family string
	var exitCode bool
	cmd := &cobra.Command{
		Use: "diff A B", Short: "Compare two datasets task by task",
		Long: `Compare two datasets task by task: which tasks B has more and fewer than A, which
differ, and in what: for lists of tests which tests, for texts the sizes and the
first line that differs.

The exit code is 0 whether they differ or not; with --exit-code it is 3 when they do.
A and B are DATASETs.` + datasetHelp,
		Args: exactArgs("A", "B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var sets [2]*datasets.Dataset
			for i, given := range args {
				var err error
				if sets[i], err = evalrun.LoadDataset(cmd.Context(), c.app, c.cfg, given, datasets.Options{Split: split, Family: family}); err != nil {
					return err
				}
			}
			d, err := datasets.Diff(sets[0], sets[1])
			if err != nil {
				return err
			}
			if c.json {
				err = c.app.JSON(d)
			} else {
				for i, ds := range sets {
					fmt.Fprintf(c.app.Out, "%s: %s, %s, digest %s\n", "AB"[i:i+1], escape.Terminal(args[i]), cli.Count(len(ds.Tasks), "task"), ds.Digest)
				}
				c.printDiff(d)
			}
			if err == nil && exitCode && !d.Same {
				err = &cli.ExitError{Code: cli.ExitGate}
			}
			return err
		},
	}
	datasetFlags(cmd, &split, &family)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 3 when the datasets differ")
	return cmd
}

func (c *command) printDiff(d *datasets.Difference) {
	out := c.app.Out
	if d.Same {
		fmt.Fprintln(out, "the datasets are the same")
		return
	}
	for _, id := range d.Removed {
		fmt.Fprintf(out, "- %s\n", escape.Terminal(id))
	}
	for _, id := range d.Added {
		fmt.Fprintf(out, "+ %s\n", escape.Terminal(id))
	}
	for _, t := range d.Changed {
		fmt.Fprintf(out, "~ %s\n", escape.Terminal(t.InstanceID))
		for _, f := range t.Fields {
			fmt.Fprintf(out, "    %s: %s\n", escape.Terminal(f.Field), describeChange(f))
		}
	}
	fmt.Fprintf(out, "%s added, %d removed, %d changed, %d equal\n", cli.Count(len(d.Added), "task"), len(d.Removed), len(d.Changed), d.Equal)
	if d.Reordered {
		fmt.Fprintln(out, "tasks that both have stand in another order")
	}
}

// shownTests is how many tests of one list are named.
const shownTests = 10

func describeChange(f datasets.FieldChange) string {
	switch {
	case f.Reordered:
		return "the same tests in another order"
	case len(f.Added)+len(f.Removed) > 0:
		parts := append(namedTests("-", f.Removed), namedTests("+", f.Added)...)
		return strings.Join(append([]string{fmt.Sprintf("%d removed, %d added", len(f.Removed), len(f.Added))}, parts...), "\n        ")
	}
	return fmt.Sprintf("%d bytes, was %d; line %d\n        - %s\n        + %s", f.BytesB, f.BytesA, f.Line, escape.Terminal(f.LineA), escape.Terminal(f.LineB))
}

func namedTests(sign string, tests []string) []string {
	var out []string
	for i, test := range tests {
		if i == shownTests {
			return append(out, fmt.Sprintf("%s %d more, which --json names", sign, len(tests)-i))
		}
		out = append(out, sign+" "+escape.Terminal(test))
	}
	return out
}
