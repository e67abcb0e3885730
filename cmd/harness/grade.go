package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"harness/datasets"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/scoring/grade"
)

func (c *command) gradeCmd() *cobra.Command {
	var instance, log, run, profile, id string
	cmd := &cobra.Command{
		Use:   "grade (--instance FILE --log FILE | --run RUN)",
		Short: "Grade a test log, or a run's stored logs again; no sandbox is needed",
		Long: `Grade a test log, or a run's stored logs again; no sandbox is needed.

With --log, the instance is a row of any dataset family, and without --profile it
is graded as that family's publisher does. With --run, every stored log is graded
by the run's own profile or by another one, and what comes out differently is
shown; nothing that is stored changes.`,
		Example: `  harness grade --instance row.jsonl --log test_output.txt --json
  harness grade --instance verified.parquet -i django__django-11099 --log - --profile strict < test_output.txt
  harness grade --run nightly-7 --profile strict`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var p *grade.Profile
			if profile != "" {
				named, err := grade.ByName(profile)
				if err != nil {
					return &cli.UsageError{Err: err}
				}
				p = &named
			}
			switch {
			case run != "" && instance == "" && log == "" && id == "":
				return c.regrade(cmd.Context(), run, p)
			case run == "" && instance != "" && log != "":
				return c.gradeLog(cmd.Context(), instance, id, log, p)
			}
			return cli.Usage("give either --instance FILE and --log FILE, or --run RUN")
		},
	}
	f := cmd.Flags()
	f.StringVar(&instance, "instance", "", "`file` with the task's dataset row")
	f.StringVarP(&id, "id", "i", "", "which row, when the file has several")
	f.StringVar(&log, "log", "", "`file` with the test log (\"-\" is standard input)")
	f.StringVar(&run, "run", "", "re-grade the stored logs of this `run`")
	f.StringVar(&profile, "profile", "", "grading profile (default: the row's family's or the run's own)")
	c.storeFlags(cmd)
	return cmd
}

func (c *command) gradeLog(ctx context.Context, instance, id, log string, profile *grade.Profile) error {
	task, err := c.oneTask(ctx, instance, id)
	if err != nil {
		return err
	}
	p := grade.ForFamily(task.Family)
	if profile != nil {
		p = *profile
	}
	if err := p.Fits(task); err != nil {
		return gradeError(err)
	}
	open, err := c.logOpener(log)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	res, err := p.Grade(grade.Input{Task: task, PatchGiven: true, Applied: true, Log: open})
	if err != nil {
		return gradeError(err)
	}
	if c.json {
		return c.app.JSON(grade.JSON(res))
	}
	fmt.Fprintf(c.app.Out, "%s: %s under %s\n", escape.Terminal(res.InstanceID), res.Verdict.Outcome, res.Profile)
	if res.Reason != "" {
		fmt.Fprintf(c.app.Out, "  %s\n", escape.Terminal(res.Reason))
	}
	for _, flag := range res.Verdict.Flags {
		fmt.Fprintf(c.app.Out, "  flag %s\n", flag)
	}
	if res.Coverage != nil {
		fmt.Fprintf(c.app.Out, "  %s\n", res.Coverage)
	}
	for _, t := range res.Tests {
		if t.Group != eval.GroupOther {
			fmt.Fprintf(c.app.Out, "  %s %-8s %s\n", t.Group, t.Status, escape.Terminal(t.Name))
		}
	}
	return nil
}

// oneTask reads the task of a file's only row, or of the one that is named.
func (c *command) oneTask(ctx context.Context, instance, id string) (*eval.Task, error) {
	ds, err := datasets.Load(ctx, instance, datasets.Options{Grading: true})
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	var ids []string
	if id != "" {
		ids = []string{id}
	}
	tasks, err := ds.Select(ids, "")
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	if len(tasks) != 1 {
		return nil, cli.Usage("%s has %d rows; say which with -i", instance, len(tasks))
	}
	t := &tasks[0]
	if t.LogParser == "" {
		if datasets.Complete(tasks, eval.Recipe{}); t.LogParser != "" {
			c.app.Note("the row names no log parser; the spec table says %s", t.LogParser)
		}
	}
	return t, nil
}

// gradeError makes a usage error of what a task lacks for a profile.
func gradeError(err error) error {
	if errors.Is(err, grade.ErrUnknownParser) || errors.Is(err, grade.ErrNoBaseline) || errors.Is(err, grade.ErrUnfit) {
		return &cli.UsageError{Err: err}
	}
	return err
}

// logOpener opens the log as often as grading reads it; what can be read only
// once, such as standard input or another pipe, is spooled.
func (c *command) logOpener(path string) (func() (io.ReadCloser, error), error) {
	if path == "-" {
		return spool(c.app.In)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read log: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("read log: %s is a folder; give the log's file", path)
	case info.Mode().IsRegular():
		return func() (io.ReadCloser, error) { return os.Open(path) }, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	defer f.Close()
	return spool(f)
}

// spool keeps a stream in a temporary file.
func spool(r io.Reader) (func() (io.ReadCloser, error), error) {
	f, err := os.CreateTemp("", "harness-grade-*")
	if err != nil {
		return nil, fmt.Errorf("spool log: %w", err)
	}
	// The name is not needed: an unlinked file can't be left behind.
	if err := os.Remove(f.Name()); err != nil {
		return nil, fmt.Errorf("spool log: %w", err)
	}
	n, err := io.Copy(f, r)
	if err != nil {
		return nil, fmt.Errorf("spool log: %w", err)
	}
	return func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, 0, n)), nil
	}, nil
}
