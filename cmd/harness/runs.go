package main

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/evalrun"
	"harness/internal/localstack"
	"harness/internal/runs"
	"harness/internal/session"
	"harness/workflows"
)

func (c *command) runsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "runs", Short: "List, show, follow and steer runs"}
	cmd.AddCommand(
		c.runsListCmd(), c.runsShowCmd(), c.runsWatchCmd(), c.runsRmCmd(),
		c.steerCmd("pause", "Start no further trials; those that run go on", workflows.UpdatePause),
		c.steerCmd("unpause", "Go on with a paused run", workflows.UpdateResume),
		c.runsConcurrencyCmd(), c.runsCancelCmd(),
	)
	return cmd
}

func (c *command) runsListCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List stored runs", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := c.cfg.OpenStore(cmd.Context(), evalrun.StoreOf(c.cfg))
			if err != nil {
				return err
			}
			list, err := runs.List(cmd.Context(), store, func(run string, err error) {
				c.app.Note("harness: %s: %s", escape.Terminal(run), escape.Terminal(err.Error()))
			})
			if err != nil {
				return err
			}
			if c.json {
				return c.app.JSON(list)
			}
			if len(list) == 0 {
				c.app.Note("no runs in %s", store.URL(""))
				return nil
			}
			w := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "RUN\tDATASET\tCANDIDATE\tRUNTIME\tTRIALS\tRESOLVED\tSTARTED")
			for _, l := range list {
				resolved := "-"
				if l.Resolved != nil {
					resolved = fmt.Sprintf("%d of %d", *l.Resolved, *l.Finished)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", l.RunID, escape.Terminal(l.Dataset), escape.Terminal(l.Agent),
					l.Runtime, l.Trials, resolved, l.CreatedAt.Local().Format(time.DateTime))
			}
			return w.Flush()
		},
	}
	c.storeFlags(cmd)
	return cmd
}

func (c *command) runsShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show RUN", Short: "Show the report of a run, finished or not", Args: exactArgs("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.showReport(cmd, args[0], "")
		},
	}
	c.storeFlags(cmd)
	return cmd
}

func (c *command) reportCmd() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "report RUN", Short: "Write the report of a run anew from what is stored, and show it", Args: exactArgs("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.showReport(cmd, args[0], out)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "copy the report to this `folder`")
	c.storeFlags(cmd)
	return cmd
}

func (c *command) showReport(cmd *cobra.Command, run, out string) error {
	store, err := c.cfg.OpenStore(cmd.Context(), evalrun.StoreOf(c.cfg))
	if err != nil {
		return err
	}
	return usageIf(evalrun.Report(cmd.Context(), c.app, store, run, c.json, out), runs.ErrNoRun)
}

func (c *command) runsRmCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm RUN", Short: "Delete a run's results, logs and report", Args: exactArgs("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := c.cfg.OpenStore(cmd.Context(), evalrun.StoreOf(c.cfg))
			if err != nil {
				return err
			}
			n, err := runs.Remove(cmd.Context(), store, args[0])
			if err != nil {
				return usageIf(err, runs.ErrNoRun)
			}
			c.app.Note("removed run %s (%d files)", args[0], n)
			return nil
		},
	}
	c.storeFlags(cmd)
	return cmd
}

func (c *command) runsWatchCmd() *cobra.Command {
	return c.connected(&cobra.Command{Use: "watch RUN", Short: "Follow a run that goes on"},
		func(cmd *cobra.Command, s *session.Session, run string) error {
			return evalrun.Watch(cmd.Context(), c.app, s, run)
		})
}

func (c *command) runsCancelCmd() *cobra.Command {
	return c.connected(&cobra.Command{
		Use: "cancel RUN", Short: "End a run; its sandboxes are stopped and its report is written",
	}, func(cmd *cobra.Command, s *session.Session, run string) error {
		if err := runs.Cancel(cmd.Context(), s.Client, run); err != nil {
			return err
		}
		c.app.Note("run %s is being cancelled; `harness resume %s` would go on with it", run, run)
		return nil
	})
}

func (c *command) steerCmd(name, short, update string) *cobra.Command {
	return c.connected(&cobra.Command{Use: name + " RUN", Short: short},
		func(cmd *cobra.Command, s *session.Session, run string) error {
			return runs.Update(cmd.Context(), s.Client, run, update)
		})
}

func (c *command) runsConcurrencyCmd() *cobra.Command {
	var n int
	cmd := c.connected(&cobra.Command{Use: "concurrency RUN -j N", Short: "Change how many trials of a run are in flight"},
		func(cmd *cobra.Command, s *session.Session, run string) error {
			return runs.Update(cmd.Context(), s.Client, run, workflows.UpdateSetConcurrency, n)
		})
	cmd.Flags().IntVarP(&n, "jobs", "j", 0, "trials in flight")
	_ = cmd.MarkFlagRequired("jobs") // fails only for a flag that does not exist
	return cmd
}

// connected makes a command that steers one run through Temporal.
func (c *command) connected(cmd *cobra.Command, f func(*cobra.Command, *session.Session, string) error) *cobra.Command {
	cmd.Args = exactArgs("RUN")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := session.Connect(cmd.Context(), c.cfg)
		if errors.Is(err, localstack.ErrNotRunning) {
			return fmt.Errorf("no run goes on on this machine: %w; `harness resume %s` goes on with a stored run", err, args[0])
		}
		if err != nil {
			return err
		}
		err = f(cmd, s, args[0])
		return errors.Join(err, s.Close(cmd.Context()))
	}
	c.temporalFlags(cmd)
	return cmd
}

// usageIf makes a usage error of an error that is what says the caller's input was wrong.
func usageIf(err, what error) error {
	if errors.Is(err, what) {
		return &cli.UsageError{Err: err}
	}
	return err
}
