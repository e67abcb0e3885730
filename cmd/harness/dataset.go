package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"harness/datasets"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/evalrun"
)

func (c *command) datasetCmd() *cobra.Command {
	return group("dataset", "List, show, validate, import and compare datasets",
		c.datasetListCmd(), c.datasetShowCmd(), c.datasetValidateCmd(), c.datasetImportCmd(), c.datasetDiffCmd(), c.datasetCalibrateCmd(),
	)
}

var familyUsage = "`schema` of the rows, where they do not tell: " + strings.Join(datasets.FamilyNames(), ", ")

// datasetFlags are those of commands that read a dataset.
func datasetFlags(cmd *cobra.Command, split, family *string) {
	f := cmd.Flags()
	f.StringVar(split, "split", "", "split of a dataset that has several")
	f.StringVar(family, "family", "", familyUsage)
}

// datasetHelp says in the help of each command what DATASET may be.
const datasetHelp = `

DATASET is a file (.jsonl, .json, .csv, .parquet, .arrow; also .gz and .zst), a folder
with one or with a split's shards, a folder that save_to_disk wrote, a folder of tasks
(SWE-bench's task repositories, Harbor, Terminal-Bench), the name of an imported
dataset, or an address: hf://org/name[@revision][/split], s3://bucket/prefix.`

func (c *command) datasetShowCmd() *cobra.Command {
	var ids []string
	var filter, split, family string
	cmd := &cobra.Command{
		Use: "show DATASET", Short: "Show a dataset's tasks, or one task whole with -i ID", Args: exactArgs("DATASET"),
		Long: "Show a dataset's tasks, or one task whole with -i ID." + datasetHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			ds, err := evalrun.LoadDataset(cmd.Context(), c.app, c.cfg, args[0], datasets.Options{Split: split, Family: family})
			if err != nil {
				return err
			}
			tasks, err := ds.Select(ids, filter)
			if err != nil {
				return &cli.UsageError{Err: err}
			}
			if c.json {
				return c.app.JSON(tasks)
			}
			if len(ids) == 1 && len(tasks) == 1 {
				c.showTask(&tasks[0])
				return nil
			}
			repos := map[string]int{}
			for _, t := range tasks {
				repos[t.Repo]++
			}
			if ds.Source != "" {
				fmt.Fprintln(c.app.Out, escape.Terminal(ds.Source))
			}
			fmt.Fprintf(c.app.Out, "%s: %s of %s, digest %s\n\n", escape.Terminal(ds.Name), cli.Count(len(tasks), "task"), cli.Count(len(repos), "repo"), ds.Digest)
			w := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "TASK\tLANGUAGE\tPARSER\tF2P\tP2P")
			for _, t := range tasks {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\n", escape.Terminal(t.InstanceID), escape.Terminal(t.Language), escape.Terminal(t.LogParser), len(t.FailToPass), len(t.PassToPass))
			}
			return w.Flush()
		},
	}
	cmd.Flags().StringSliceVarP(&ids, "instance", "i", nil, "only these `ids`")
	cmd.Flags().StringVar(&filter, "filter", "", "only tasks for which this `expression` holds")
	datasetFlags(cmd, &split, &family)
	return cmd
}

// showTask leaves out what the task does not have.
func (c *command) showTask(t *eval.Task) {
	repo := t.Repo
	if t.BaseCommit != "" {
		repo += " at " + t.BaseCommit
	}
	var solution string
	if t.Solution != nil {
		solution = t.Solution.Script
	}
	var files []string
	for _, f := range t.Files {
		files = append(files, fmt.Sprintf("%s (%s)", f.Path, cli.Count(len(f.Data), "byte")))
	}
	var passing string
	if len(t.PassToPass) > 0 {
		passing = cli.Count(len(t.PassToPass), "test")
	}
	for _, part := range [][2]string{
		{"task", t.InstanceID}, {"family", t.Family}, {"repo", repo}, {"image", t.Image},
		{"log parser", t.LogParser}, {"FAIL_TO_PASS", strings.Join(t.FailToPass, "\n")}, {"PASS_TO_PASS", passing},
		{"files", strings.Join(files, "\n")}, {"problem", t.ProblemStatement},
		{"gold patch", t.Patch}, {"solution", solution}, {"test patch", t.TestPatch}, {"eval script", t.EvalScript},
	} {
		if part[1] != "" {
			fmt.Fprintf(c.app.Out, "%s:\n%s\n\n", part[0], escape.TerminalLines(part[1]))
		}
	}
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
			generated := datasets.Complete(ds.Tasks)
			unrunnable := &datasets.UnrunnableError{Groups: []datasets.Unrunnable{}}
			_ = errors.As(datasets.AllRunnable(ds.Tasks), &unrunnable)
			notRunnable := len(unrunnable.IDs())
			unread := &datasets.UnrunnableError{Groups: evalrun.UnknownParsers(ds.Tasks)}
			if c.json {
				err = c.app.JSON(map[string]any{
					"dataset": ds.Name, "digest": ds.Digest, "tasks": len(ds.Tasks), "not_runnable": notRunnable, "not_runnable_tasks": unrunnable.Groups, "unknown_parsers": orEmpty(unread.Groups), "generated": generated.Tasks,
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
				if n := len(unread.IDs()); n > 0 {
					fmt.Fprintf(c.app.Out, "%s can be neither executed nor graded:\n%s\n", cli.Count(n, "task"), escape.TerminalLines(unread.List()))
				}
				if notRunnable > 0 {
					fmt.Fprintf(c.app.Out, "%s can be graded but not executed:\n%s\n", cli.Count(notRunnable, "task"), escape.TerminalLines(unrunnable.List()))
				}
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

// orEmpty makes [] of what would be null in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (c *command) datasetImportCmd() *cobra.Command {
	o := evalrun.ImportOptions{}
	var from string
	cmd := &cobra.Command{
		Use:   "import DATASET",
		Short: "Write a dataset in the one canonical form, with its digest",
		Long: `Write a dataset in the one canonical form, with its digest.

Without -o it is kept in the harness's data folder and -d finds it by its name. A
dataset with a bad row is not imported; validate lists what is wrong with it.

--pictures fetches what tests compare pictures with and rows only name by address,
and stores it with the tasks: a run fetches nothing. Only public hosts are asked.

--from release-pinned reads tasks that are pinned to releases on the package
index: it writes recipes and lock files, builds the images, and takes the test
lists from gold and unpatched runs in them, recorded as frozen in each row.` + datasetHelp,
		Example: `  harness dataset import hf://SWE-bench/SWE-bench_Verified/test
  harness dataset import multimodal.jsonl --pictures -o multimodal.parquet`,
		Args: exactArgs("DATASET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Source, o.Session, o.JSON = args[0], c.cfg, c.json
			switch from {
			case "":
				if flag := firstChanged(cmd, "verified", "no-freeze", "runs", "base"); flag != "" {
					return cli.Usage("--%s is for --from release-pinned", flag)
				}
				return evalrun.Import(cmd.Context(), c.app, o)
			case "release-pinned":
				if flag := firstChanged(cmd, "split", "family", "filter", "pictures"); flag != "" {
					return cli.Usage("--%s is not for --from release-pinned", flag)
				}
				return evalrun.ImportReleasePinned(cmd.Context(), c.app, o)
			}
			return cli.Usage("--from %s is not known; leave it out for rows of the SWE-bench schema, or say release-pinned", from)
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "`kind` of the source: release-pinned")
	f.StringVarP(&o.Out, "output", "o", "", "file (.parquet or .jsonl) or, for release-pinned, folder to write")
	datasetFlags(cmd, &o.Split, &o.Family)
	f.StringVar(&o.Name, "name", "", "name of the dataset (default: the file's)")
	f.StringSliceVarP(&o.IDs, "instance", "i", nil, "only these `ids`")
	f.StringVar(&o.Filter, "filter", "", "only tasks for which this `expression` holds")
	f.BoolVar(&o.Pictures, "pictures", false, "fetch the pictures of the patches that rows only name by address")
	f.BoolVar(&o.Verified, "verified", false, "release-pinned: only rows whose publisher saw all of their tests behave")
	f.BoolVar(&o.NoFreeze, "no-freeze", false, "release-pinned: keep the published test lists; nothing is built or run")
	f.IntVar(&o.Runs, "runs", 1, "release-pinned: gold and unpatched runs that the lists are taken from")
	f.StringVar(&o.BaseRecipe, "base", "", "release-pinned: recipe of the Python base (default: the harness's own)")
	return cmd
}

// firstChanged is the first of the flags that was given, "" when none was.
func firstChanged(cmd *cobra.Command, flags ...string) string {
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}
