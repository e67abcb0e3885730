package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"harness/datasets"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/evalrun"
)

func (c *command) datasetCmd() *cobra.Command {
	return group("dataset", "List, show, validate and import datasets",
		c.datasetListCmd(), c.datasetShowCmd(), c.datasetValidateCmd(), c.datasetImportCmd(),
	)
}

func (c *command) datasetListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the datasets that were imported by name", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			type item struct {
				Name   string `json:"name"`
				Tasks  int    `json:"tasks"`
				Digest string `json:"digest"`
				Path   string `json:"path"`
			}
			files, err := filepath.Glob(filepath.Join(evalrun.DatasetsDir(c.cfg), "*"))
			if err != nil {
				return err
			}
			list := []item{}
			for _, f := range files {
				ds, err := datasets.Load(cmd.Context(), f, datasets.Options{})
				if err != nil {
					c.app.Note("harness: %s", escape.TerminalLines(err.Error()))
					continue
				}
				list = append(list, item{strings.TrimSuffix(filepath.Base(f), ".parquet"), len(ds.Tasks), ds.Digest, f})
			}
			if c.json {
				return c.app.JSON(list)
			}
			if len(list) == 0 {
				c.app.Note("no dataset was imported; `harness dataset import FILE` does, and -d takes any file or folder as well")
				return nil
			}
			w := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "DATASET\tTASKS\tDIGEST\tFILE")
			for _, i := range list {
				fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", i.Name, i.Tasks, escape.Cut(i.Digest, 12), i.Path)
			}
			return w.Flush()
		},
	}
}

func (c *command) datasetShowCmd() *cobra.Command {
	var ids []string
	var filter, split string
	cmd := &cobra.Command{
		Use: "show DATASET", Short: "Show a dataset's tasks, or one task whole with -i ID", Args: exactArgs("DATASET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ds, err := datasets.Load(cmd.Context(), evalrun.DatasetPath(c.cfg, args[0]), datasets.Options{Split: split})
			if err != nil {
				return &cli.UsageError{Err: err}
			}
			tasks, err := ds.Select(ids, filter)
			if err != nil {
				return &cli.UsageError{Err: err}
			}
			if c.json {
				return c.app.JSON(tasks)
			}
			if len(ids) == 1 && len(tasks) == 1 {
				t := tasks[0]
				for _, part := range [][2]string{
					{"task", t.InstanceID}, {"repo", t.Repo + " at " + t.BaseCommit}, {"image", t.Image},
					{"log parser", t.LogParser}, {"FAIL_TO_PASS", strings.Join(t.FailToPass, "\n")},
					{"PASS_TO_PASS", fmt.Sprintf("%d tests", len(t.PassToPass))},
					{"problem", t.ProblemStatement}, {"gold patch", t.Patch}, {"test patch", t.TestPatch},
				} {
					fmt.Fprintf(c.app.Out, "%s:\n%s\n\n", part[0], escape.TerminalLines(part[1]))
				}
				return nil
			}
			repos := map[string]int{}
			for _, t := range tasks {
				repos[t.Repo]++
			}
			fmt.Fprintf(c.app.Out, "%s: %s of %s, digest %s\n\n", escape.Terminal(ds.Name), cli.Count(len(tasks), "task"), cli.Count(len(repos), "repo"), ds.Digest)
			w := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "TASK\tLANGUAGE\tPARSER\tF2P\tP2P")
			for _, t := range tasks {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\n", t.InstanceID, t.Language, t.LogParser, len(t.FailToPass), len(t.PassToPass))
			}
			return w.Flush()
		},
	}
	cmd.Flags().StringSliceVarP(&ids, "instance", "i", nil, "only these `ids`")
	cmd.Flags().StringVar(&filter, "filter", "", "only tasks for which this `expression` holds")
	cmd.Flags().StringVar(&split, "split", "", "split of a dataset folder that holds several")
	return cmd
}

func (c *command) datasetValidateCmd() *cobra.Command {
	var split string
	cmd := &cobra.Command{
		Use: "validate DATASET", Short: "Check every row and name each problem", Args: exactArgs("DATASET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ds, problems, err := datasets.Validate(cmd.Context(), evalrun.DatasetPath(c.cfg, args[0]), datasets.Options{Split: split})
			if err != nil {
				return &cli.UsageError{Err: err}
			}
			generated := datasets.Complete(ds.Tasks)
			notRunnable := 0
			for i := range ds.Tasks {
				if datasets.Runnable(&ds.Tasks[i]) != nil {
					notRunnable++
				}
			}
			if c.json {
				err = c.app.JSON(map[string]any{
					"dataset": ds.Name, "digest": ds.Digest, "tasks": len(ds.Tasks), "not_runnable": notRunnable, "generated": generated.Tasks,
					"problems": orEmpty(problems), "warnings": orEmpty(ds.Warnings),
				})
			} else {
				for _, p := range slices.Concat(problems, ds.Warnings) {
					fmt.Fprintln(c.app.Out, escape.TerminalLines(p.String()))
				}
				fmt.Fprintf(c.app.Out, "%s: %s, %s, %s; digest %s\n", escape.Terminal(ds.Name), cli.Count(len(ds.Tasks), "good task"), cli.Count(len(problems), "problem"), cli.Count(len(ds.Warnings), "warning"), ds.Digest)
				if notice := generated.Notice(); notice != "" {
					fmt.Fprintln(c.app.Out, notice)
				}
				if notRunnable > 0 {
					fmt.Fprintf(c.app.Out, "%s can be graded but not executed: no image, eval script or parser is named\n", cli.Count(notRunnable, "task"))
				}
			}
			if err == nil && len(problems) > 0 {
				err = &cli.ExitError{Code: cli.ExitFailure}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&split, "split", "", "split of a dataset folder that holds several")
	return cmd
}

func orEmpty(p []datasets.Problem) []datasets.Problem {
	if p == nil {
		return []datasets.Problem{}
	}
	return p
}

func (c *command) datasetImportCmd() *cobra.Command {
	o := evalrun.ImportOptions{}
	var from string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Write a dataset in the one canonical form, with its digest",
		Long: `Write a dataset in the one canonical form, with its digest.

Without -o it is kept in the harness's data folder and -d finds it by its name.

--from release-pinned reads tasks that are pinned to releases on the package
index: it writes recipes and lock files, builds the images, and takes the test
lists from gold and unpatched runs in them, recorded as frozen in each row.`,
		Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Source, o.Session = args[0], c.cfg
			switch from {
			case "":
				return evalrun.Import(cmd.Context(), c.app, o)
			case "release-pinned":
				return evalrun.ImportReleasePinned(cmd.Context(), c.app, o)
			}
			return cli.Usage("--from %s is not known; leave it out for rows of the SWE-bench schema, or say release-pinned", from)
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "`kind` of the source: release-pinned")
	f.StringVarP(&o.Out, "output", "o", "", "file (.parquet or .jsonl) or, for release-pinned, folder to write")
	f.StringVar(&o.Name, "name", "", "name of the dataset (default: the file's)")
	f.StringSliceVarP(&o.IDs, "instance", "i", nil, "only these `ids`")
	f.BoolVar(&o.Verified, "verified", false, "release-pinned: only rows whose publisher saw all of their tests behave")
	f.BoolVar(&o.NoFreeze, "no-freeze", false, "release-pinned: keep the published test lists; nothing is built or run")
	f.IntVar(&o.Runs, "runs", 1, "release-pinned: gold and unpatched runs that the lists are taken from")
	f.StringVar(&o.BaseRecipe, "base", "", "release-pinned: recipe of the Python base (default: the harness's own)")
	return cmd
}
