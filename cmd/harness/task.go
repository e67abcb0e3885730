package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/evalrun"
	"harness/internal/runs"
)

// trialArgs are what the task commands share.
type trialArgs struct {
	attempt, round int
	raw            bool
}

func (c *command) taskCmd() *cobra.Command {
	return group("task", "Look at one task of a run",
		c.trialCmd("show", "Show how a task ended and why", c.taskShow),
		c.trialCmd("logs", "Print the test log", c.taskLogs),
		c.trialCmd("diff", "Print the candidate's patch", c.taskDiff),
		c.trialCmd("events", "Print what was observed: policy findings, limits, evidence", c.taskEvents),
	)
}

type trialFunc func(ctx context.Context, store artifacts.Store, t eval.TrialResult, a trialArgs) error

func (c *command) trialCmd(name, short string, f trialFunc) *cobra.Command {
	var a trialArgs
	cmd := &cobra.Command{
		Use: name + " RUN INSTANCE", Short: short, Args: exactArgs("RUN", "INSTANCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			store, err := c.cfg.OpenStore(ctx, evalrun.StoreOf(c.cfg))
			if err != nil {
				return err
			}
			t, err := runs.Trial(ctx, store, args[0], args[1], a.attempt, a.round)
			if err != nil {
				return asUsage(err)
			}
			return f(ctx, store, t, a)
		},
	}
	cmd.Flags().IntVar(&a.attempt, "attempt", 1, "which attempt")
	cmd.Flags().IntVar(&a.round, "round", 0, "which round (default: the last)")
	if name == "logs" || name == "diff" {
		cmd.Flags().BoolVar(&a.raw, "raw", false, "print the bytes as they are; control characters can take over a terminal")
	}
	c.storeFlags(cmd)
	return cmd
}

func (c *command) taskShow(_ context.Context, store artifacts.Store, t eval.TrialResult, _ trialArgs) error {
	if c.json {
		return c.app.JSON(t)
	}
	w := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		if v := escape.Terminal(fmt.Sprintf(format, args...)); v != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, v)
		}
	}
	row("task", "%s (attempt %d, round %d)", t.InstanceID, t.Attempt, t.Round)
	row("outcome", "%s", t.Outcome)
	row("why", "%s", t.Reason)
	row("error class", "%s", t.ErrorClass)
	row("blame", "%s", t.Blame)
	if t.Counts.F2PTotal != nil {
		row("tests", "FAIL_TO_PASS %d of %d, PASS_TO_PASS %d of %d", *t.Counts.F2PPassed, *t.Counts.F2PTotal, *t.Counts.P2PPassed, *t.Counts.P2PTotal)
	}
	row("applied with", "%s", t.Patch.ApplyMethod)
	row("tamper flags", "%s", strings.Join(t.Patch.TamperFlags, ", "))
	row("limits hit", "%s", strings.Join(t.Exec.LimitsHit, ", "))
	for _, v := range t.Verdicts {
		row("flags", "%s", strings.Join(v.Flags, ", "))
	}
	if t.Coverage != nil {
		row("log parser", "%s", t.Coverage)
	}
	row("runtime", "%s", strings.TrimSpace(t.Exec.Runtime+" "+t.Exec.RuntimeVersion))
	row("image", "%s", t.Exec.ImageDigest)
	if t.Exec.ExitCode != nil {
		row("exit code", "%d", *t.Exec.ExitCode)
	}
	if u := t.Usage; u.CPUSeconds != nil {
		row("cpu", "%.1f s", *u.CPUSeconds)
	}
	if u := t.Usage; u.PeakMemoryBytes != nil {
		row("peak memory", "%s", cli.Size(*u.PeakMemoryBytes))
	}
	for _, p := range t.Phases {
		row(p.Name, "%.2f s", p.Seconds)
	}
	row("tries", "%d", t.Tries)
	if ref, ok := t.Artifacts[eval.FileApplyLog]; ok {
		row("apply log", "%s", store.URL(ref.Key))
	}
	if ref, ok := t.Artifacts[eval.FileLog]; ok && t.Outcome != eval.PatchNotApplied {
		row("log", "%s", store.URL(ref.Key))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return c.printTests(t)
}

// printTests lists the expected tests that did not do what they must.
func (c *command) printTests(t eval.TrialResult) error {
	const most = 40
	n := 0
	for _, test := range t.Tests {
		if test.Group == eval.GroupOther || test.Status == "PASSED" || test.Status == "XFAIL" {
			continue
		}
		if n++; n <= most {
			fmt.Fprintf(c.app.Out, "  %s %-8s %s\n", test.Group, test.Status, escape.Terminal(escape.Cut(test.Name, 200)))
		}
	}
	if n > most {
		fmt.Fprintf(c.app.Out, "  and %d more; --json has all\n", n-most)
	}
	return nil
}

func (c *command) taskLogs(ctx context.Context, store artifacts.Store, t eval.TrialResult, a trialArgs) error {
	// A patch that does not apply leaves no test output: what the tools said of it is
	// what a person wants to read.
	if ref, ok := t.Artifacts[eval.FileApplyLog]; ok && t.Outcome == eval.PatchNotApplied {
		c.app.Note("no tests ran, since the patch does not apply; this is what the tools said:")
		r, err := artifacts.OpenRef(ctx, store, ref)
		if err != nil {
			return err
		}
		defer r.Close()
		return c.printText(r, a.raw)
	}
	ref, ok := t.Artifacts[eval.FileLog]
	if !ok {
		return &cli.UsageError{Err: fmt.Errorf("%s has no test log: it ended as %s (%s)", t.InstanceID, t.Outcome, t.Reason)}
	}
	r, err := activities.OpenLog(ctx, store, ref)
	if err != nil {
		return err
	}
	defer r.Close()
	return c.printText(r, a.raw)
}

func (c *command) taskDiff(ctx context.Context, store artifacts.Store, t eval.TrialResult, a trialArgs) error {
	ref, ok := t.Artifacts[eval.FilePatch]
	if !ok {
		return &cli.UsageError{Err: fmt.Errorf("%s has no stored patch: it ended as %s", t.InstanceID, t.Outcome)}
	}
	r, err := artifacts.OpenRef(ctx, store, ref)
	if err != nil {
		return err
	}
	defer r.Close()
	return c.printText(r, a.raw)
}

func (c *command) taskEvents(_ context.Context, _ artifacts.Store, t eval.TrialResult, _ trialArgs) error {
	for _, e := range t.Events {
		if c.json {
			if err := c.app.JSONLine(e); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(c.app.Out, "%s %-10s %-6s %s: %s\n", e.Time.UTC().Format(time.RFC3339), e.Source, e.Severity,
			escape.Terminal(e.Kind), escape.Terminal(e.Detail))
	}
	if len(t.Events) == 0 {
		c.app.Note("nothing was observed")
	}
	return nil
}

// printText copies candidate-made text, escaped unless raw is asked for. As JSON
// it is one string: bytes that are not UTF-8 become U+FFFD.
func (c *command) printText(r io.Reader, raw bool) error {
	if c.json {
		text, err := io.ReadAll(r) // what is stored was capped when it was recorded
		if err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return c.app.JSON(struct {
			Text string `json:"text"`
		}{string(text)})
	}
	var err error
	if raw {
		_, err = io.Copy(c.app.Out, r)
	} else {
		err = escape.Copy(c.app.Out, r)
	}
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
