package main

import (
	"fmt"
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
