package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"harness/eval"
	"harness/internal/cli"
	"harness/internal/evalrun"
)

func (c *command) evalCmd() *cobra.Command {
	var o evalrun.Options
	limits := eval.DefaultLimits()
	memory, disk := sizeFlag{&limits.MemoryBytes}, sizeFlag{&limits.DiskBytes}
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "eval -d DATASET (-p PREDICTIONS | --gold | --noop)",
		Short: "Evaluate ready-made patches against a dataset",
		Long: `Evaluate ready-made patches against a dataset.

Each task of the dataset is executed in a sandbox of its own with the patch that
the predictions file has for it, and graded. With no --temporal, what that needs
is brought up on this machine and ends with the command, unless "harness up" left
it running. The same --run-id again goes on where an interrupted run stopped.`,
		Example: `  harness eval -d examples/mini --gold
  harness eval -d SWE-bench_Verified.parquet -p preds.jsonl -j 4 -o results
  harness eval -d tasks.jsonl --noop -i django__django-13925 --runtime runc`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			limits.WallSeconds = int64(math.Ceil(timeout.Seconds()))
			o.Limits = limits
			o.Session, o.JSON = c.cfg, c.json
			return evalrun.Eval(cmd.Context(), c.app, o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.Dataset, "dataset", "d", "", "`dataset`: a file, a folder, the name of an imported one, or an address (hf://org/name, s3://bucket/prefix)")
	f.StringVar(&o.Split, "split", "", "split of a dataset that has several")
	f.StringVar(&o.Family, "family", "", familyUsage)
	f.StringVarP(&o.Predictions, "predictions", "p", "", "predictions: a JSONL or JSON `file`, or a folder of .pred or .patch files")
	f.StringVar(&o.Format, "format", "", "`name` of the predictions' format (default: found by their content; \"help\" lists them)")
	f.StringVar(&o.Model, "model", "", "`name` of the model, for predictions that do not name one")
	f.BoolVar(&o.Gold, "gold", false, "evaluate the dataset's own solutions")
	f.BoolVar(&o.Noop, "noop", false, "run the tests without any patch")
	f.StringVar(&o.Calibration, "calibration", "", "calibration `file` to show results against (default: the one beside the dataset; \"none\": none)")
	f.StringVar(&o.RunID, "run-id", "", "name of the run (default: made from dataset, candidate and time)")
	f.StringVarP(&o.OutDir, "output", "o", "", "copy the report to this `folder`")
	f.IntVarP(&o.Window, "jobs", "j", 0, "trials in flight (default: enough to keep all sandbox slots busy)")
	f.StringSliceVarP(&o.IDs, "instance", "i", nil, "only these `ids` (repeat, or separate with commas)")
	f.StringVar(&o.Filter, "filter", "", "only tasks for which this `expression` holds, e.g. 'repo == \"django/django\"'")
	f.IntVar(&o.Attempts, "attempts", 1, "independent attempts for each task")
	f.StringVar(&o.Profile, "profile", "", "grading profile (default: that of the dataset's family, swebench for SWE-bench's own)")
	f.StringVar(&o.Runtime, "runtime", "runsc", "sandbox runtime: runsc (gVisor) or runc")
	f.DurationVar(&timeout, "timeout", time.Duration(limits.WallSeconds)*time.Second, "wall-clock limit of a task's tests")
	f.Float64Var(&limits.CPUs, "cpus", limits.CPUs, "cores for each sandbox")
	f.Var(&memory, "memory", "memory of each sandbox")
	f.Var(&disk, "disk", "writable disk of each sandbox")
	f.StringVar(&o.Network, "network", string(eval.NetworkNone), "what sandboxes may reach; \"none\" is what there is")
	f.IntVar(&o.MaxMissing, "max-missing", 0, "missing results (infra errors, unfinished) that still exit with 0")
	f.IntVar(&o.MaxTries, "max-tries", 5, "physical tries of a trial that meets faults of ours")
	c.temporalFlags(cmd)
	return cmd
}

func (c *command) resumeCmd() *cobra.Command {
	var o evalrun.ResumeOptions
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a run that was interrupted",
		Long: `Go on with a run that was interrupted.

Trials that have a result are kept; all others are done (again), trials that
ended in a fault of ours included. It works from what is stored, also when
Temporal has forgotten the run.`,
		Args: exactArgs("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.RunID, o.Session, o.JSON = args[0], c.cfg, c.json
			return evalrun.Resume(cmd.Context(), c.app, o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.OutDir, "output", "o", "", "copy the report to this `folder`")
	f.IntVarP(&o.Window, "jobs", "j", 0, "trials in flight (default: enough to keep all sandbox slots busy)")
	f.IntVar(&o.MaxMissing, "max-missing", 0, "missing results that still exit with 0")
	c.temporalFlags(cmd)
	return cmd
}

// sizeFlag reads "4GiB", "512M" or a number of bytes.
type sizeFlag struct{ bytes *int64 }

func (s *sizeFlag) Type() string { return "size" }

func (s *sizeFlag) String() string {
	if s.bytes == nil {
		return ""
	}
	return cli.Size(*s.bytes)
}

func (s *sizeFlag) Set(text string) error {
	n, err := parseSize(text)
	if err == nil {
		*s.bytes = n
	}
	return err
}

func parseSize(text string) (int64, error) {
	units := []struct {
		suffix string
		factor int64
	}{{"kib", eval.KiB}, {"mib", eval.MiB}, {"gib", eval.GiB}, {"k", eval.KiB}, {"m", eval.MiB}, {"g", eval.GiB}, {"b", 1}, {"", 1}}
	low := strings.ToLower(strings.TrimSpace(text))
	for _, u := range units {
		num, ok := strings.CutSuffix(low, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
		if err != nil {
			break
		}
		if n := v * float64(u.factor); n >= 1 && n <= math.MaxInt64/2 {
			return int64(n), nil
		}
		return 0, fmt.Errorf("size %q is out of range", text)
	}
	return 0, errors.New("want a size such as 4GiB, 512M or a number of bytes")
}
