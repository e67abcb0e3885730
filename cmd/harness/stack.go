package main

import (
	"errors"

	"github.com/spf13/cobra"

	"harness/eval"
	"harness/internal/cli"
	"harness/internal/localstack"
	"harness/internal/session"
	"harness/internal/stackd"
	"harness/workflows"
)

func (c *command) upCmd() *cobra.Command {
	o := stackd.Options{Limits: eval.DefaultLimits()}
	var foreground bool
	memory := sizeFlag{&o.Limits.MemoryBytes}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring up the local stack and leave it running",
		Long: `Bring up the local stack and leave it running: Temporal with its web UI, a
private containerd and a worker. Runs started later use it; "harness down" ends it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Session = c.cfg
			if err := o.Validate(); err != nil {
				return &cli.UsageError{Err: err}
			}
			if foreground {
				return stackd.Serve(cmd.Context(), o)
			}
			st, err := stackd.Up(cmd.Context(), o)
			var running *localstack.RunningError
			var mismatch *session.MismatchError
			switch {
			case errors.As(err, &running):
				c.app.Note("the local stack is up already")
				st = running.State
			case errors.As(err, &mismatch):
				return &cli.UsageError{Err: err}
			case err != nil:
				return err
			}
			return c.printState(st)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&foreground, "foreground", false, "stay in the foreground until a signal comes (for service managers)")
	f.BoolVar(&o.S3, "s3", false, "keep artifacts in an S3 server (MinIO) of the stack")
	f.IntVar(&o.Slots, "slots", 0, "sandboxes at once (default: what --cpus and --memory leave room for)")
	f.Float64Var(&o.Limits.CPUs, "cpus", o.Limits.CPUs, "cores that a sandbox is expected to have, for the number of slots")
	f.Var(&memory, "memory", "memory that a sandbox is expected to have, for the number of slots")
	c.storeFlags(cmd)
	return cmd
}

func (c *command) downCmd() *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "End the local stack; runs, artifacts and images stay", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := stackd.Down(cmd.Context(), c.cfg)
			if errors.Is(err, localstack.ErrNotRunning) {
				c.app.Note("the local stack is not up")
				return nil
			}
			if err == nil {
				c.app.Note("the local stack is down")
			}
			return err
		},
	}
}

func (c *command) statusCmd() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the local stack", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg := c.cfg.LocalStack("")
			st, err := localstack.Find(cfg)
			switch {
			case err == nil && st.Temporal != "":
				return c.printState(st)
			case err == nil && st.Owner.Pid == 0:
				return c.notUp(false, "the local stack is just being started")
			case err == nil:
				return c.notUp(false, "the local stack is not up; process %d has the sandboxes of this machine (%s)", st.Owner.Pid, st.Mode)
			case !errors.Is(err, localstack.ErrNotRunning):
				return err
			case localstack.Left(cfg):
				return c.notUp(true, "the local stack is not up: its process was killed. `harness up` takes over what it left, `harness down` ends that")
			}
			return c.notUp(false, "the local stack is not up; `harness up` starts it")
		},
	}
}

func (c *command) notUp(left bool, format string, args ...any) error {
	if c.json {
		return c.app.JSON(map[string]bool{"up": false, "left_behind": left})
	}
	c.app.Note(format, args...)
	return nil
}

func (c *command) printState(st localstack.State) error {
	if c.json {
		return c.app.JSON(struct {
			Up bool `json:"up"`
			localstack.State
		}{true, st})
	}
	return stackd.Print(c.app.Out, st)
}

func (c *command) workerCmd() *cobra.Command {
	o := stackd.WorkerOptions{Limits: eval.DefaultLimits()}
	memory := sizeFlag{&o.Limits.MemoryBytes}
	cmd := &cobra.Command{
		Use:   "worker --temporal ADDRESS --store s3://bucket/prefix",
		Short: "Serve runs of a Temporal server elsewhere",
		Long: `Serve runs of a Temporal server elsewhere: takes workflows, grading and sandboxes
from its queues until a signal comes. Sandboxes run on a private containerd that
this command starts, or on the one given with --containerd.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Session = c.cfg
			if err := o.Validate(); err != nil {
				return &cli.UsageError{Err: err}
			}
			return stackd.ServeWorker(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Containerd, "containerd", "", "`socket` of a containerd that runs already")
	f.StringSliceVar(&o.Handlers, "runtime", []string{"runsc", "runc"}, "runtimes to offer")
	f.StringVar(&o.Class, "class", workflows.DefaultClass, "class of sandbox work to take")
	f.IntVar(&o.Slots, "slots", 0, "sandboxes at once (default: what --cpus and --memory leave room for)")
	f.Float64Var(&o.Limits.CPUs, "cpus", o.Limits.CPUs, "cores that a sandbox is expected to have")
	f.Var(&memory, "memory", "memory that a sandbox is expected to have")
	f.StringVar(&o.Name, "name", "", "name of this worker on the trials table (default: the host's)")
	c.temporalFlags(cmd)
	return cmd
}
