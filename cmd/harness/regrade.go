package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/evalrun"
	"harness/internal/runs"
	"harness/scoring/grade"
)

// regraded is one line of what `grade --run --json` prints.
type regraded struct {
	InstanceID string            `json:"instance_id"`
	Attempt    int               `json:"attempt"`
	Round      int               `json:"round"`
	Profile    string            `json:"profile"`
	Stored     eval.Outcome      `json:"stored"` // by the run's own profile
	Now        eval.Outcome      `json:"now"`
	Changed    bool              `json:"changed"`
	Reason     string            `json:"reason"`
	Flags      []string          `json:"flags"`
	Tests      []runs.TestChange `json:"tests"` // of which the status changed
}

// regrade grades a run's stored logs by a profile, nil for the run's own.
func (c *command) regrade(ctx context.Context, run string, p *grade.Profile) error {
	store, err := c.cfg.OpenStore(ctx, evalrun.StoreOf(c.cfg))
	if err != nil {
		return err
	}
	planned, err := runs.Load(ctx, store, run)
	if err != nil {
		return asUsage(err)
	}
	spec := planned.Spec
	if p == nil {
		own, err := grade.ByName(spec.Profile)
		if err != nil {
			return &cli.UsageError{Err: fmt.Errorf("run %s: %w; say by which one with --profile", run, err)}
		}
		p = &own
	}
	if !p.Reads(spec.Recipe.Name) {
		c.app.Note("run %s was executed by the recipe %s; %s is meant for logs of the recipe %s", run, spec.Recipe.Name, p.Name, p.Recipe.Name)
	}
	// The logs are those of the run's recipe, whatever the profile's own is.
	p.Recipe = spec.Recipe

	table := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
	graded, changed, resolved, without := 0, 0, 0, 0
	err = runs.Regrade(ctx, store, spec, *p, func(old eval.TrialResult, now *grade.Result) error {
		if now == nil {
			without++
			return nil
		}
		graded++
		if now.Verdict.Resolved {
			resolved++
		}
		differs := old.Outcome != now.Verdict.Outcome
		if differs {
			changed++
		}
		if c.json {
			return c.app.JSONLine(regradedLine(p, old, now, differs))
		}
		if differs {
			if changed == 1 {
				fmt.Fprintln(table, "INSTANCE\tATTEMPT\tROUND\tSTORED\tNOW\tWHY")
			}
			fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\n", escape.Terminal(old.InstanceID), old.Attempt, old.Round, old.Outcome, now.Verdict.Outcome, why(now))
		}
		return nil
	})
	if err != nil {
		return gradeError(err)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	c.app.Note("graded %s of run %s under %s: %d resolved, %d changed; %d have no log", cli.Count(graded, "trial"), run, p.Name, resolved, changed, without)
	return nil
}

func regradedLine(p *grade.Profile, old eval.TrialResult, now *grade.Result, changed bool) regraded {
	line := regraded{
		InstanceID: old.InstanceID, Attempt: old.Attempt, Round: old.Round, Profile: p.Name,
		Stored: old.Outcome, Now: now.Verdict.Outcome, Changed: changed, Reason: now.Reason,
		Flags: now.Verdict.Flags, Tests: runs.TestChanges(old.Tests, now.Tests),
	}
	if line.Flags == nil {
		line.Flags = []string{}
	}
	return line
}

// why is what the table says of a changed verdict: its reason, or for a resolved
// trial its flags.
func why(now *grade.Result) string {
	if now.Reason != "" {
		return escape.Terminal(escape.Cut(now.Reason, 100))
	}
	if len(now.Verdict.Flags) > 0 {
		return fmt.Sprint(now.Verdict.Flags)
	}
	return "-"
}
