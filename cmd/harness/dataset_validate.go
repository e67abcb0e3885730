package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"harness/datasets"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/evalrun"
)

// validation is what `harness dataset validate --json` prints. Scripts rely on its names.
type validation struct {
	Dataset          string                `json:"dataset"`
	Digest           string                `json:"digest"`
	Tasks            int                   `json:"tasks"` // good ones
	NotRunnable      int                   `json:"not_runnable"`
	NotRunnableTasks []datasets.Unrunnable `json:"not_runnable_tasks"`
	UnknownParsers   []datasets.Unrunnable `json:"unknown_parsers"`
	Generated        int                   `json:"generated"` // tasks that the spec table completed
	Problems         []datasets.Problem    `json:"problems"`
	Warnings         []datasets.Problem    `json:"warnings"`
}

func (c *command) datasetValidateCmd() *cobra.Command {
	var split, family string
	cmd := &cobra.Command{
		Use: "validate DATASET", Short: "Check every row and name each problem", Args: exactArgs("DATASET"),
		Long: `Check every row and name each problem with its place.

The exit code is 1 when there is a problem. Warnings keep no row from being used.` + datasetHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			ds, problems, err := evalrun.ValidateDataset(cmd.Context(), c.app, c.cfg, args[0], datasets.Options{Split: split, Family: family})
			if err != nil {
				return err
			}
			generated := datasets.Complete(ds.Tasks, eval.Recipe{})
			unrunnable := &datasets.UnrunnableError{Groups: datasets.Unrunnables(ds.Tasks)}
			v := validation{
				Dataset: ds.Name, Digest: ds.Digest, Tasks: len(ds.Tasks), Generated: generated.Tasks,
				NotRunnable: len(unrunnable.IDs()), NotRunnableTasks: orEmpty(unrunnable.Groups), UnknownParsers: orEmpty(evalrun.UnknownParsers(ds.Tasks)),
				Problems: orEmpty(problems), Warnings: orEmpty(ds.Warnings),
			}
			if c.json {
				err = c.app.JSON(v)
			} else {
				c.printValidation(v, generated.Notice())
			}
			if err == nil && len(problems) > 0 {
				err = &cli.ExitError{Code: cli.ExitFailure}
			}
			return err
		},
	}
	datasetFlags(cmd, &split, &family)
	return cmd
}

func (c *command) printValidation(v validation, notice string) {
	out := c.app.Out
	for _, p := range slices.Concat(v.Problems, v.Warnings) {
		fmt.Fprintln(out, escape.TerminalLines(p.String()))
	}
	fmt.Fprintf(out, "%s: %s, %s, %s; digest %s\n", escape.Terminal(v.Dataset), cli.Count(v.Tasks, "good task"), cli.Count(len(v.Problems), "problem"), cli.Count(len(v.Warnings), "warning"), v.Digest)
	if notice != "" {
		fmt.Fprintln(out, notice)
	}
	for _, lacking := range []struct {
		groups []datasets.Unrunnable
		what   string
	}{{v.UnknownParsers, "neither executed nor graded"}, {v.NotRunnableTasks, "graded but not executed"}} {
		e := &datasets.UnrunnableError{Groups: lacking.groups}
		if n := len(e.IDs()); n > 0 {
			fmt.Fprintf(out, "%s can be %s:\n%s\n", cli.Count(n, "task"), lacking.what, escape.TerminalLines(e.List()))
		}
	}
}

// orEmpty makes [] of what would be null in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
