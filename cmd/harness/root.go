package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"harness/internal/buildinfo"
	"harness/internal/cli"
	"harness/internal/session"
)

// command is what all subcommands share.
type command struct {
	app     *cli.App
	cfg     session.Config
	verbose bool
	json    bool
}

func newRoot(app *cli.App) *cobra.Command {
	c := &command{app: app}
	root := &cobra.Command{
		Use:     "harness",
		Short:   "Evaluate coding agents on repository tasks, durably and in sandboxes",
		Version: buildinfo.Version(),
		Args:    knownCommand,
		RunE:    help,
		// "harness [flags]" does nothing.
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		PersistentPreRun: func(*cobra.Command, []string) {
			level := slog.LevelError
			if c.verbose {
				level = slog.LevelInfo
				app.Terminal = false // log lines would come between those that are redrawn
			}
			c.cfg.Logger = slog.New(slog.NewTextHandler(app.Err, &slog.HandlerOptions{Level: level}))
			c.cfg.LogToFile = !c.verbose
			c.cfg.Note = func(s string) { app.Note("%s", s) }
			c.cfg.Defaults(app.Getenv)
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &cli.UsageError{Err: err, Hint: "`" + cmd.CommandPath() + " --help` lists the flags"}
	})
	f := root.PersistentFlags()
	f.StringVar(&c.cfg.Home, "home", "", "data `folder` of the harness (default $HARNESS_HOME, or /var/lib/harness for root)")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "log what happens inside (otherwise a run's log is stack/run.log in the data folder)")
	f.BoolVar(&c.json, "json", false, "print one JSON document (or JSON lines) instead of text")
	root.AddCommand(
		c.evalCmd(), c.resumeCmd(), c.runsCmd(), c.taskCmd(), c.gradeCmd(), c.reportCmd(),
		c.datasetCmd(), c.imageCmd(), c.sandboxCmd(),
		c.upCmd(), c.downCmd(), c.statusCmd(), c.workerCmd(), c.versionCmd(),
	)
	return root
}

// group is a command that only holds others.
func group(use, short string, sub ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: knownCommand, RunE: help, DisableFlagsInUseLine: true}
	cmd.AddCommand(sub...)
	return cmd
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// knownCommand refuses a word that names no command of cmd.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	// The distance up to which cobra finds a name near; its own check would set it.
	cmd.SuggestionsMinimumDistance = 2
	hint := "`" + cmd.CommandPath() + " --help` lists what there is"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean `" + cmd.CommandPath() + " " + near[0] + "`? " + hint
	}
	return &cli.UsageError{Err: fmt.Errorf("%s has no command %q", cmd.CommandPath(), args[0]), Hint: hint}
}

// storeFlags are those of commands that read or write a run's record.
func (c *command) storeFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.cfg.Store, "store", "", "where artifacts live: s3://bucket/prefix or a `folder` (default: the local stack's)")
}

// temporalFlags are those of commands that steer runs.
func (c *command) temporalFlags(cmd *cobra.Command) {
	c.storeFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&c.cfg.Temporal, "temporal", "", "`address` (host:port) of a Temporal server elsewhere (default: this machine's own)")
	f.StringVar(&c.cfg.Namespace, "namespace", "", "Temporal `namespace` (default \"default\")")
	f.BoolVar(&c.cfg.SharedStore, "shared-store", false, "with --temporal: the folder given as --store is one that all workers see")
}

// exactArgs is cobra's check with an error that reads as help.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return &cli.UsageError{
			Err:  errors.New(cmd.CommandPath() + " takes " + strings.Join(names, " ") + "; " + count(len(args)) + " given"),
			Hint: "`" + cmd.CommandPath() + " --help` says more",
		}
	}
}

// someArgs wants at least one.
func someArgs(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return &cli.UsageError{
			Err:  fmt.Errorf("%s takes at least one %s; nothing was given", cmd.CommandPath(), name),
			Hint: "`" + cmd.CommandPath() + " --help` says more",
		}
	}
}

func count(n int) string {
	switch n {
	case 0:
		return "nothing was"
	case 1:
		return "1 argument was"
	}
	return "too many arguments were"
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &cli.UsageError{
		Err:  fmt.Errorf("%s takes no argument, and %q was given", cmd.CommandPath(), args[0]),
		Hint: "`" + cmd.CommandPath() + " --help` lists the flags",
	}
}

func (c *command) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this build", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if c.json {
				return c.app.JSON(map[string]string{"version": buildinfo.Version()})
			}
			_, err := c.app.Out.Write([]byte("harness " + buildinfo.Version() + "\n"))
			return err
		},
	}
}
