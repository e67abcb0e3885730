package main

import (
	"github.com/spf13/cobra"

	"harness/internal/cli"
	"harness/internal/evalrun"
)

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
