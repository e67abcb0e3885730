package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"harness/datasets"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/evalrun"
	"harness/internal/runs"
	"harness/scoring/grade"
)

func (c *command) gradeCmd() *cobra.Command {
	var instance, log, run, profile, id string
	cmd := &cobra.Command{
		Use:   "grade (--instance FILE --log FILE | --run RUN)",
		Short: "Grade a test log, or a run's stored logs again; no sandbox is needed",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := grade.ByName(profile)
			if err != nil {
				return &cli.UsageError{Err: err}
			}
			switch {
			case run != "" && instance == "" && log == "":
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
	f.StringVar(&profile, "profile", "swebench", "grading profile")
	c.storeFlags(cmd)
	return cmd
}

func (c *command) gradeLog(ctx context.Context, instance, id, log string, p grade.Profile) error {
	ds, err := datasets.Load(ctx, instance, datasets.Options{})
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	var ids []string
	if id != "" {
		ids = []string{id}
	}
	tasks, err := ds.Select(ids, "")
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	if len(tasks) != 1 {
		return cli.Usage("%s has %d rows; say which with -i", instance, len(tasks))
	}
	if notice := datasets.Complete(tasks).Notice(); notice != "" {
		c.app.Note("%s", notice)
	}
	open, err := c.logOpener(log)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	res, err := p.Grade(grade.Input{Task: &tasks[0], PatchGiven: true, Applied: true, Log: open})
	if err != nil {
		return err
	}
	if c.json {
		return c.app.JSON(grade.JSON(res))
	}
	fmt.Fprintf(c.app.Out, "%s: %s under %s\n", escape.Terminal(res.InstanceID), res.Verdict.Outcome, res.Profile)
	if res.Reason != "" {
		fmt.Fprintf(c.app.Out, "  %s\n", escape.Terminal(res.Reason))
	}
	for _, t := range res.Tests {
		if t.Group != eval.GroupOther {
			fmt.Fprintf(c.app.Out, "  %s %-8s %s\n", t.Group, t.Status, escape.Terminal(t.Name))
		}
	}
	return nil
}

// logOpener opens the log as often as grading reads it; standard input is spooled.
func (c *command) logOpener(path string) (func() (io.ReadCloser, error), error) {
	if path != "-" {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		return func() (io.ReadCloser, error) { return os.Open(path) }, nil
	}
	f, err := os.CreateTemp("", "harness-grade-*")
	if err != nil {
		return nil, fmt.Errorf("spool log: %w", err)
	}
	// The name is not needed: an unlinked file can't be left behind.
	if err := os.Remove(f.Name()); err != nil {
		return nil, fmt.Errorf("spool log: %w", err)
	}
	n, err := io.Copy(f, c.app.In)
	if err != nil {
		return nil, fmt.Errorf("spool log: %w", err)
	}
	return func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, 0, n)), nil
	}, nil
}

// regraded is one line of what `grade --run --json` prints.
type regraded struct {
	InstanceID string       `json:"instance_id"`
	Attempt    int          `json:"attempt"`
	Round      int          `json:"round"`
	Profile    string       `json:"profile"`
	Stored     eval.Outcome `json:"stored"`
	Now        eval.Outcome `json:"now"`
	Changed    bool         `json:"changed"`
}

func (c *command) regrade(ctx context.Context, run string, p grade.Profile) error {
	store, err := c.cfg.OpenStore(ctx, evalrun.StoreOf(c.cfg))
	if err != nil {
		return err
	}
	planned, err := runs.Load(ctx, store, run)
	if err != nil {
		return asUsage(err)
	}
	graded, changed, without := 0, 0, 0
	err = runs.Regrade(ctx, store, planned.Spec, p, func(old eval.TrialResult, now *grade.Result) error {
		if now == nil {
			without++
			return nil
		}
		graded++
		line := regraded{
			InstanceID: old.InstanceID, Attempt: old.Attempt, Round: old.Round, Profile: p.Name,
			Stored: old.Outcome, Now: now.Verdict.Outcome, Changed: old.Outcome != now.Verdict.Outcome,
		}
		if line.Changed {
			changed++
		}
		if c.json {
			return c.app.JSONLine(line)
		}
		if line.Changed {
			fmt.Fprintf(c.app.Out, "%s (attempt %d): %s, was %s\n", escape.Terminal(old.InstanceID), old.Attempt, line.Now, line.Stored)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.app.Note("graded %d trials of run %s under %s: %d changed; %d have no log", graded, run, p.Name, changed, without)
	return nil
}
