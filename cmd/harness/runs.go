package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"harness/artifacts"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/evalrun"
	"harness/internal/runs"
	"harness/workflows"
)

func (c *command) runsCmd() *cobra.Command {
	return group("runs", "List, show, follow and steer runs",
		c.runsListCmd(), c.runsShowCmd(), c.runsWatchCmd(), c.runsRmCmd(),
		c.runsPauseCmd(), c.runsUnpauseCmd(), c.runsConcurrencyCmd(), c.runsCancelCmd(),
	)
}

// listedRun is a stored run and whether it goes on.
type listedRun struct {
	runs.Listed
	State string `json:"state"` // running, finished, unfinished
}

func (c *command) runsListCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List stored runs", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			store, err := c.cfg.OpenStore(ctx, evalrun.StoreOf(c.cfg))
			if err != nil {
				return err
			}
			active, err := evalrun.ActiveHere(ctx, c.cfg)
			if err != nil {
				return err
			}
			stored, err := runs.List(ctx, store, func(run string, err error) {
				c.app.Note("harness: %s: %s", escape.Terminal(run), escape.Terminal(err.Error()))
			})
			if err != nil {
				return err
			}
			list := make([]listedRun, len(stored))
			for i, l := range stored {
				list[i] = listedRun{l, "unfinished"}
				switch {
				case active[l.RunID]:
					list[i].State = "running"
				case l.Finished != nil && *l.Finished >= l.Trials:
					list[i].State = "finished"
				}
			}
			if c.json {
				return c.app.JSON(list)
			}
			if len(list) == 0 {
				c.app.Note("no runs in %s", store.URL(""))
				return nil
			}
			return c.printRuns(list)
		},
	}
	c.storeFlags(cmd)
	return cmd
}

func (c *command) printRuns(list []listedRun) error {
	w := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tDATASET\tCANDIDATE\tRUNTIME\tTRIALS\tSTATE\tRESOLVED\tSTARTED")
	for _, l := range list {
		resolved := "-"
		if l.Resolved != nil && l.State != "running" {
			resolved = fmt.Sprintf("%d of %d", *l.Resolved, *l.Finished)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", l.RunID, escape.Terminal(escape.Cut(l.Dataset, 40)), escape.Terminal(escape.Cut(l.Agent, 40)),
			escape.Terminal(l.Runtime), l.Trials, l.State, resolved, l.CreatedAt.Local().Format(time.DateTime))
	}
	return w.Flush()
}

func (c *command) runsShowCmd() *cobra.Command {
	return c.stored(&cobra.Command{
		Use: "show RUN", Short: "Show the results of a run, finished or not",
	}, func(ctx context.Context, store artifacts.Store, run string) error {
		active, err := evalrun.ActiveHere(ctx, c.cfg)
		if err != nil {
			return err
		}
		return evalrun.Show(ctx, c.app, store, run, active[run], c.json)
	})
}

func (c *command) reportCmd() *cobra.Command {
	var o evalrun.ReportOptions
	cmd := c.stored(&cobra.Command{
		Use: "report RUN", Short: "Write the report of a run anew from what is stored, and show it",
		Long: `Write the report of a run anew from what is stored, and show it.

With --official, the run is also written as the official SWE-bench harness leaves
one behind (logs/run_evaluation/..., run report, preds.jsonl), for tools that read
its files. Each of several attempts is a run of its own there: RUN.a1, RUN.a2, ...`,
		Example: `  harness report nightly-7 -o results
  harness report nightly-7 --official submission
  harness report nightly-7 --preds preds.jsonl`,
	}, func(ctx context.Context, store artifacts.Store, run string) error {
		o.JSON = c.json
		return evalrun.Report(ctx, c.app, store, run, o)
	})
	f := cmd.Flags()
	f.StringVarP(&o.OutDir, "output", "o", "", "copy the report to this `folder`")
	f.StringVar(&o.Official, "official", "", "write logs and reports of the official harness's form into this `folder`")
	f.StringVar(&o.Preds, "preds", "", "write the run's predictions to this `file`, one a line")
	f.BoolVar(&o.Force, "force", false, "let --official and --preds replace what is there")
	return cmd
}

func (c *command) runsRmCmd() *cobra.Command {
	return c.stored(&cobra.Command{
		Use: "rm RUN", Short: "Delete a run's results, logs and report",
	}, func(ctx context.Context, store artifacts.Store, run string) error {
		active, err := evalrun.ActiveHere(ctx, c.cfg)
		if err != nil {
			return err
		}
		if active[run] {
			return cli.Usage("run %s goes on; `harness runs cancel %s` ends it", run, run)
		}
		n, err := runs.Remove(ctx, store, run)
		if err != nil {
			return err
		}
		c.app.Note("removed run %s (%s)", run, cli.Count(n, "file"))
		return nil
	})
}

// stored makes a command that needs a run's record only.
func (c *command) stored(cmd *cobra.Command, f func(context.Context, artifacts.Store, string) error) *cobra.Command {
	cmd.Args = exactArgs("RUN")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		store, err := c.cfg.OpenStore(cmd.Context(), evalrun.StoreOf(c.cfg))
		if err != nil {
			return err
		}
		return asUsage(f(cmd.Context(), store, args[0]))
	}
	c.storeFlags(cmd)
	return cmd
}

func (c *command) runsWatchCmd() *cobra.Command {
	return c.steered(&cobra.Command{Use: "watch RUN", Short: "Follow a run that goes on"},
		func(ctx context.Context, s evalrun.Steered) error { return s.Watch(ctx, c.app) })
}

func (c *command) runsCancelCmd() *cobra.Command {
	return c.steered(&cobra.Command{
		Use: "cancel RUN", Short: "End a run; its sandboxes are stopped and its report is written",
	}, func(ctx context.Context, s evalrun.Steered) error {
		if err := runs.Cancel(ctx, s.Client, s.RunID); err != nil {
			return err
		}
		c.app.Note("run %s is being cancelled; `harness resume %s` would go on with it", s.RunID, s.RunID)
		return nil
	})
}

func (c *command) runsPauseCmd() *cobra.Command {
	return c.steered(&cobra.Command{Use: "pause RUN", Short: "Start no further trials; those that run go on"},
		func(ctx context.Context, s evalrun.Steered) error {
			if err := s.Update(ctx, workflows.UpdatePause); err != nil {
				return err
			}
			c.app.Note("run %s is paused: trials in flight go on, no further one starts; `harness runs unpause %s` goes on", s.RunID, s.RunID)
			return nil
		})
}

func (c *command) runsUnpauseCmd() *cobra.Command {
	return c.steered(&cobra.Command{Use: "unpause RUN", Short: "Go on with a paused run"},
		func(ctx context.Context, s evalrun.Steered) error {
			if err := s.Update(ctx, workflows.UpdateResume); err != nil {
				return err
			}
			c.app.Note("run %s goes on", s.RunID)
			return nil
		})
}

func (c *command) runsConcurrencyCmd() *cobra.Command {
	var n int
	cmd := c.steered(&cobra.Command{Use: "concurrency RUN -j N", Short: "Change how many trials of a run are in flight"},
		func(ctx context.Context, s evalrun.Steered) error {
			if err := s.Update(ctx, workflows.UpdateSetConcurrency, n); err != nil {
				return err
			}
			c.app.Note("run %s keeps %s in flight", s.RunID, cli.Count(n, "trial"))
			return nil
		})
	cmd.Flags().IntVarP(&n, "jobs", "j", 0, "trials in flight")
	return cmd
}

// steered makes a command that steers one run through Temporal.
func (c *command) steered(cmd *cobra.Command, f func(context.Context, evalrun.Steered) error) *cobra.Command {
	cmd.Args = exactArgs("RUN")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return evalrun.Steer(cmd.Context(), c.cfg, args[0], func(s evalrun.Steered) error { return f(cmd.Context(), s) })
	}
	c.temporalFlags(cmd)
	return cmd
}

// asUsage makes a usage error of what says that a person named something wrong.
func asUsage(err error) error {
	var id *eval.IDError
	if errors.As(err, &id) || errors.Is(err, runs.ErrNoRun) || errors.Is(err, runs.ErrNoTrial) {
		return &cli.UsageError{Err: err}
	}
	return err
}
