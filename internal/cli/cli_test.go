package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"harness/eval"
	"harness/internal/cli"
	"harness/internal/runs"
	"harness/workflows"
)

func TestExitCode(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
		says string
	}{
		{"done", t.Context(), nil, cli.ExitOK, ""},
		{"our failure", t.Context(), errors.New("disk is full"), cli.ExitFailure, "harness: disk is full\n"},
		{"usage", t.Context(), cli.Usage("no %s", "dataset"), cli.ExitUsage, "harness: no dataset\n"},
		{"usage, wrapped", t.Context(), fmt.Errorf("open: %w", cli.Usage("no")), cli.ExitUsage, "harness: open: no\n"},
		{"usage with a hint", t.Context(), &cli.UsageError{Err: errors.New("no"), Hint: "do this"}, cli.ExitUsage, "harness: no\ndo this\n"},
		{"missing results", t.Context(), &cli.ExitError{Code: cli.ExitMissing, Msg: "2 are missing"}, cli.ExitMissing, "2 are missing\n"},
		{"silent", t.Context(), &cli.ExitError{Code: cli.ExitFailure}, cli.ExitFailure, ""},
		{"interrupted", ended, fmt.Errorf("start Temporal: %w", context.Canceled), cli.ExitInterrupted, "interrupted\n"},
		{"interrupted while input was read", ended, &cli.UsageError{Err: context.Canceled}, cli.ExitInterrupted, "interrupted\n"},
		{"interrupted with a message", ended, &cli.ExitError{Code: cli.ExitInterrupted, Msg: "resume goes on"}, cli.ExitInterrupted, "resume goes on\n"},
		{"done although told to end", ended, nil, cli.ExitOK, ""},
		{"hostile text", t.Context(), errors.New("bad id \x1b[31m\n::error::x"), cli.ExitFailure, "harness: bad id \\x1b[31m\n\\::error::x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			app := &cli.App{Err: &b}
			if got := app.ExitCode(c.ctx, c.err); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
			if strings.ContainsRune(b.String(), '\x1b') || strings.Contains(b.String(), "\n::") {
				t.Errorf("it acts on a terminal or a CI system: %q", b.String())
			}
			if c.name != "hostile text" && b.String() != c.says {
				t.Errorf("it says %q, want %q", b.String(), c.says)
			}
		})
	}
}

func TestSizeAndCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 1023: "1023", 1 << 10: "1KiB", 3 << 19: "1.5MiB", 4 << 30: "4GiB", 39*1<<20 + 1<<17: "39.1MiB",
	} {
		if got := cli.Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
	for got, want := range map[string]string{
		cli.Count(0, "trial"): "0 trials", cli.Count(1, "trial"): "1 trial", cli.Count(2, "sandbox"): "2 sandboxes",
		cli.Count(0.5, "core"): "0.5 cores", cli.Count(1.0, "core"): "1 core",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) add(d time.Duration) { c.now = c.now.Add(d) }

func progressOf(total, running int, phase string, tally workflows.Tally) runs.Progress {
	return runs.Progress{RunProgress: workflows.RunProgress{Total: total, Phase: phase, Tally: tally}, Running: running}
}

func TestProgressPlain(t *testing.T) {
	c := &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var b bytes.Buffer
	v := cli.NewProgress(&cli.App{Err: &b, Now: func() time.Time { return c.now }})
	for _, step := range []struct {
		after time.Duration
		p     runs.Progress
		want  string // "" when nothing new is worth a line
	}{
		{0, progressOf(0, 0, "planning", nil), "planning\n"},
		{time.Second, progressOf(10, 4, "running", workflows.Tally{}), "0 of 10 done, 4 in flight\n"},
		{time.Second, progressOf(10, 4, "running", workflows.Tally{}), ""},
		{30 * time.Second, progressOf(10, 4, "running", workflows.Tally{}), "0 of 10 done, 4 in flight\n"},
		{time.Second, progressOf(10, 4, "running", workflows.Tally{eval.Resolved: 1}), ""},
		{28 * time.Second, progressOf(10, 4, "running", workflows.Tally{eval.Resolved: 2}), "2 of 10 done, 4 in flight, 2.0/min, about 4m4s left; resolved 2\n"},
		{time.Second, progressOf(10, 0, "reporting", workflows.Tally{eval.Resolved: 9, eval.InfraError: 1}), "10 of 10 done, writing the report; resolved 9, infra_error 1\n"},
	} {
		c.add(step.after)
		b.Reset()
		v.Show(step.p)
		if b.String() != step.want {
			t.Errorf("got %q, want %q", b.String(), step.want)
		}
	}
}

func TestProgressTerminal(t *testing.T) {
	c := &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var b bytes.Buffer
	width, height := 60, 24
	v := cli.NewProgress(&cli.App{
		Err: &b, Terminal: true, Now: func() time.Time { return c.now },
		Size: func() (int, int) { return width, height },
	})
	many := workflows.Tally{}
	for _, o := range eval.Outcomes() {
		many[o] = 1
	}
	draw := func(p runs.Progress) []string {
		t.Helper()
		b.Reset()
		v.Show(p)
		lines := strings.Split(strings.TrimSuffix(b.String(), "\x1b[J"), "\n")
		for i, l := range lines {
			lines[i] = strings.TrimPrefix(l, "\r\x1b[K")
			if n := len([]rune(lines[i])); i > 0 && n >= width {
				t.Errorf("line %q would wrap at %d", lines[i], width)
			}
		}
		return lines[:len(lines)-1]
	}

	if got := draw(progressOf(4, 2, "running", workflows.Tally{eval.Resolved: 1})); len(got) != 3 || !strings.Contains(got[1], "[############+") || !strings.Contains(got[2], "resolved") {
		t.Errorf("first drawing: %q", got)
	}
	c.add(time.Second)
	got := draw(progressOf(20, 2, "running", many))
	if !strings.HasPrefix(got[0], "\x1b[3A") {
		t.Errorf("the second drawing does not start where the first did: %q", got[0])
	}
	if len(got) != 2+len(many) {
		t.Errorf("%d lines, want one an outcome: %q", len(got), got)
	}
	width, height = 30, 10
	if got := draw(progressOf(20, 2, "running", many)); len(got) != 3 {
		t.Errorf("a low terminal gets %d lines, want 3: %q", len(got), got)
	}
	b.Reset()
	v.Clear()
	if b.String() != "\x1b[3A\r\x1b[J" {
		t.Errorf("clearing writes %q", b.String())
	}
	b.Reset()
	v.Clear()
	if b.Len() != 0 {
		t.Errorf("clearing twice writes %q", b.String())
	}
}
