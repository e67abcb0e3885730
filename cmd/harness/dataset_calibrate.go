package main

import (
	"math"
	"time"

	"github.com/spf13/cobra"

	"harness/eval"
	"harness/internal/calibrate"
)

func (c *command) datasetCalibrateCmd() *cobra.Command {
	var o calibrate.Options
	limits := eval.DefaultLimits()
	memory, disk := sizeFlag{&limits.MemoryBytes}, sizeFlag{&limits.DiskBytes}
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "calibrate -d DATASET",
		Short: "Find out which tasks and tests can be trusted here",
		Long: `Find out which tasks and tests can be trusted here.

Each task is executed several times with its gold patch, which must resolve it,
and without any patch, which must not, under each runtime. What was seen is
written as one table: flake rates of tests, tests that differ between runtimes,
tasks whose gold patch fails or that need no patch. "harness eval" finds the
table beside the dataset and shows results on calibrated tasks next to those on
all. It changes no verdict.

The executions are ordinary runs. The same command goes on where an interrupted
one stopped, and executes nothing that is done already.`,
		Example: `  harness dataset calibrate -d SWE-bench_Verified.parquet -n 3
  harness dataset calibrate -d examples/mini -n 2 --runtimes runsc -o mini.parquet`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			limits.WallSeconds = int64(math.Ceil(timeout.Seconds()))
			o.Limits = limits
			o.Session, o.JSON = c.cfg, c.json
			return calibrate.Run(cmd.Context(), c.app, o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.Dataset, "dataset", "d", "", "`dataset`: a file, a folder, the name of an imported one, or an address")
	datasetFlags(cmd, &o.Split, &o.Family)
	f.IntVarP(&o.Repeats, "repeats", "n", 3, "repeats of each task with its gold patch, and without")
	f.IntVar(&o.NoopRepeats, "noop-runs", 0, "repeats without a patch, when other than -n")
	f.StringSliceVar(&o.Runtimes, "runtimes", []string{"runsc", "runc"}, "sandbox runtimes that are compared")
	f.StringSliceVarP(&o.IDs, "instance", "i", nil, "only these `ids` (repeat, or separate with commas); needs -o")
	f.StringVar(&o.Filter, "filter", "", "only tasks for which this `expression` holds; needs -o")
	f.StringVarP(&o.Out, "output", "o", "", "Parquet `file` to write (default: beside the dataset, where eval finds it)")
	f.IntVarP(&o.Window, "jobs", "j", 0, "trials in flight (default: enough to keep all sandbox slots busy)")
	f.StringVar(&o.Profile, "profile", "", "grading profile (default: that of the dataset's family, swebench for SWE-bench's own)")
	f.DurationVar(&timeout, "timeout", time.Duration(limits.WallSeconds)*time.Second, "wall-clock limit of a task's tests")
	f.Float64Var(&limits.CPUs, "cpus", limits.CPUs, "cores for each sandbox")
	f.Var(&memory, "memory", "memory of each sandbox")
	f.Var(&disk, "disk", "writable disk of each sandbox")
	f.IntVar(&o.MaxTries, "max-tries", 5, "physical tries of a trial that meets faults of ours")
	c.temporalFlags(cmd)
	return cmd
}
