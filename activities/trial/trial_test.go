package trial_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"harness/activities/trial"
	"harness/activities/trial/trialtest"
	"harness/eval"
	"harness/sandbox"
)

func input() trial.Input {
	patch := "--- a/x\n+++ b/x\n"
	limits := eval.DefaultLimits()
	limits.SetupSeconds, limits.WallSeconds = 10, 60
	return trial.Input{
		Trial: eval.TrialID{RunID: "r", InstanceID: "t", Attempt: 1, Round: 1}, Token: "abc",
		ImageDigest: "sha256:1", WorkDir: "/testbed", Patch: &patch, Script: "#!/bin/bash\necho hi\n",
		Recipe: eval.Recipe{Name: "r", Apply: []eval.ApplyStep{{Name: "first", Command: []string{"true"}}, {Name: "second", Command: []string{"true"}}}},
		Limits: limits, Network: eval.NetworkNone,
	}
}

func one(b trialtest.Box) *trialtest.Runtime {
	return &trialtest.Runtime{Script: func(int, sandbox.Spec) trialtest.Box { return b }}
}

func code(n int) *int { return &n }

// Every way in which a sandbox can end, and what is told of it.
func TestRunFacts(t *testing.T) {
	lost := fmt.Errorf("shim gone: %w", sandbox.ErrLost)
	for _, c := range []struct {
		name    string
		box     trialtest.Box
		noPatch bool
		want    eval.ExecFacts
		applied bool
		method  string
		log     string
		err     error
		phases  []string
	}{
		{name: "tests pass", box: trialtest.Box{Tests: trialtest.Exits(0, "ok\n")},
			applied: true, method: "first", want: eval.ExecFacts{ExitCode: code(0)}, log: "ok\n"},
		{name: "second way", box: trialtest.Box{Apply: trialtest.Exits(101, "")},
			applied: true, method: "second", want: eval.ExecFacts{ExitCode: code(0)}},
		{name: "in the tree already", box: trialtest.Box{Apply: trialtest.Exits(90, "")},
			applied: true, method: trial.ApplyReversed, want: eval.ExecFacts{ExitCode: code(0)}},
		{name: "no-op", noPatch: true, box: trialtest.Box{Apply: trialtest.Fails(errors.New("must not be asked"))},
			applied: true, want: eval.ExecFacts{ExitCode: code(0)}, phases: []string{"create", "tests", "collect"}},
		{name: "tests fail", box: trialtest.Box{Tests: trialtest.Exits(1, "boo")},
			applied: true, method: "first", want: eval.ExecFacts{ExitCode: code(1)}, log: "boo"},
		{name: "not applied", box: trialtest.Box{Apply: trialtest.Exits(1, ""), Tests: trialtest.Fails(errors.New("must not run"))},
			phases: []string{"create", "apply", "collect"}},
		{name: "apply dies", box: trialtest.Box{Apply: trialtest.Dies, Tests: trialtest.Fails(errors.New("must not run"))},
			want: eval.ExecFacts{Died: true}},
		{name: "apply hangs", box: trialtest.Box{Apply: trialtest.Hangs, Tests: trialtest.Fails(errors.New("must not run"))},
			want: eval.ExecFacts{TimedOut: true, LimitsHit: []string{"wall"}}},
		{name: "tests hang", box: trialtest.Box{Tests: trialtest.Hangs},
			applied: true, method: "first", want: eval.ExecFacts{TimedOut: true, LimitsHit: []string{"wall"}},
			log: "\n\nTimeout error: 60 seconds exceeded."},
		{name: "died", box: trialtest.Box{Tests: trialtest.Dies, Final: sandbox.Final{Died: true}},
			applied: true, method: "first", want: eval.ExecFacts{Died: true}},
		{name: "died unseen by exec", box: trialtest.Box{Final: sandbox.Final{Died: true}},
			applied: true, method: "first", want: eval.ExecFacts{Died: true, ExitCode: code(0)}},
		{name: "out of memory", box: trialtest.Box{Tests: trialtest.Dies, Final: sandbox.Final{Died: true, OOMKilled: true, LimitsHit: []string{"memory"}}},
			applied: true, method: "first", want: eval.ExecFacts{Died: true, OOMKilled: true, LimitsHit: []string{"memory"}}},
		{name: "out of memory took the machinery along", box: trialtest.Box{Tests: trialtest.Fails(lost), Final: sandbox.Final{OOMKilled: true}},
			applied: true, method: "first", want: eval.ExecFacts{OOMKilled: true}},
		{name: "disk full took the machinery along", box: trialtest.Box{Apply: trialtest.Fails(lost), Final: sandbox.Final{DiskFull: true}},
			want: eval.ExecFacts{DiskFull: true}},
		{name: "limits by name, once each", box: trialtest.Box{Tests: trialtest.Hangs, Final: sandbox.Final{LimitsHit: []string{"wall", "processes", "open_files"}}},
			applied: true, method: "first", want: eval.ExecFacts{TimedOut: true, LimitsHit: []string{"open_files", "processes", "wall"}},
			log: "\n\nTimeout error: 60 seconds exceeded."},
		{name: "output that nobody took", applied: true, method: "first",
			box:  trialtest.Box{Tests: func(context.Context, sandbox.Process) (sandbox.Exit, error) { return sandbox.Exit{Dropped: 7}, nil }},
			want: eval.ExecFacts{ExitCode: code(0), Truncated: 7}},

		{name: "lost while applying", box: trialtest.Box{Apply: trialtest.Fails(lost)}, err: sandbox.ErrLost},
		{name: "lost while testing", box: trialtest.Box{Tests: trialtest.Fails(lost)}, err: sandbox.ErrLost},
		{name: "another fault is not explained by memory", err: sandbox.ErrUnhealthy,
			box: trialtest.Box{Tests: trialtest.Fails(sandbox.ErrUnhealthy), Final: sandbox.Final{OOMKilled: true}}},
		{name: "not created", box: trialtest.Box{CreateErr: sandbox.ErrCreate}, err: sandbox.ErrCreate},
		{name: "no image", box: trialtest.Box{CreateErr: sandbox.ErrImageNotFound}, err: sandbox.ErrImageNotFound},
		{name: "not closed", box: trialtest.Box{CloseErr: sandbox.ErrUnhealthy}, err: sandbox.ErrUnhealthy},
		{name: "the step's fault comes first", box: trialtest.Box{Tests: trialtest.Fails(lost), CloseErr: sandbox.ErrUnhealthy}, err: sandbox.ErrLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := one(c.box)
				in := input()
				if c.noPatch {
					in.Patch = nil
				}
				var log bytes.Buffer
				out, err := trial.Run(t.Context(), rt, in, &log, trial.Hooks{})
				if !errors.Is(err, c.err) || (err != nil) != (c.err != nil) {
					t.Fatalf("error %v, want %v", err, c.err)
				}
				if rt.Live() != 0 {
					t.Errorf("%d sandboxes are left", rt.Live())
				}
				if err != nil {
					if !strings.Contains(err.Error(), "r/t/1/1") {
						t.Errorf("error %q does not name the trial", err)
					}
					return
				}
				c.want.ImageDigest, c.want.Network = "sha256:1", "none"
				if !reflect.DeepEqual(out.Exec, c.want) {
					t.Errorf("facts\n%+v\nwant\n%+v", out.Exec, c.want)
				}
				if out.Applied != c.applied || out.ApplyMethod != c.method || log.String() != c.log {
					t.Errorf("applied %v by %q, log %q; want %v, %q, %q", out.Applied, out.ApplyMethod, log.String(), c.applied, c.method, c.log)
				}
				var phases []string
				for _, p := range out.Phases {
					phases = append(phases, p.Name)
				}
				if c.phases != nil && !slices.Equal(phases, c.phases) {
					t.Errorf("phases %v, want %v", phases, c.phases)
				}
			})
		})
	}
}

func TestRunSpec(t *testing.T) {
	rt := one(trialtest.Box{})
	in := input()
	if _, err := trial.Run(t.Context(), rt, in, &bytes.Buffer{}, trial.Hooks{}); err != nil {
		t.Fatal(err)
	}
	spec := rt.Created()[0]
	if spec.ID != "t-abc" || spec.Owner != "abc" || spec.Trial != "r/t/1/1" || spec.ImageDigest != "sha256:1" ||
		spec.WorkDir != "/testbed" || spec.Network != eval.NetworkNone || spec.Limits != in.Limits {
		t.Errorf("spec %+v", spec)
	}
	if budget := 2*10*time.Second + 60*time.Second; spec.Lease <= budget {
		t.Errorf("the lease of %v ends before the budget of %v", spec.Lease, budget)
	}
	var paths []string
	for _, f := range spec.Files {
		paths = append(paths, f.Path)
	}
	if want := []string{"/eval.sh", eval.PatchFile, "/tmp/harness-apply.sh"}; !slices.Equal(paths, want) {
		t.Errorf("files %v, want %v", paths, want)
	}
}

// Cancelling ends the trial with the cause, wherever it is, and leaves nothing.
func TestRunCancelled(t *testing.T) {
	why := errors.New("a person said so")
	for _, box := range []trialtest.Box{{Apply: trialtest.Hangs}, {Tests: trialtest.Hangs}, {Tests: trialtest.Hangs, CloseErr: sandbox.ErrUnhealthy}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			rt := one(box)
			time.AfterFunc(time.Second, func() { cancel(why) })
			_, err := trial.Run(ctx, rt, input(), &bytes.Buffer{}, trial.Hooks{})
			if !errors.Is(err, why) {
				t.Errorf("error %v, want the cause", err)
			}
			if rt.Live() != 0 {
				t.Errorf("%d sandboxes are left", rt.Live())
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := trial.Run(ctx, one(trialtest.Box{}), input(), &bytes.Buffer{}, trial.Hooks{}); !errors.Is(err, why) {
		t.Errorf("cancelled before the start: error %v, want the cause", err)
	}
}

// A caller's own deadline is not the candidate's time limit.
func TestRunOuterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rt := one(trialtest.Box{Tests: trialtest.Hangs})
		_, err := trial.Run(ctx, rt, input(), &bytes.Buffer{}, trial.Hooks{})
		if !errors.Is(err, context.DeadlineExceeded) || rt.Live() != 0 {
			t.Errorf("error %v, %d sandboxes left; want a passed deadline and none", err, rt.Live())
		}
	})
}

// A slow host takes nothing from the time in which a patch is applied.
func TestRunSlowCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &trialtest.Runtime{Script: func(int, sandbox.Spec) trialtest.Box {
			time.Sleep(9 * time.Second)
			return trialtest.Box{Apply: func(context.Context, sandbox.Process) (sandbox.Exit, error) {
				time.Sleep(9 * time.Second)
				return sandbox.Exit{Code: 100}, nil
			}}
		}}
		out, err := trial.Run(t.Context(), rt, input(), &bytes.Buffer{}, trial.Hooks{})
		if err != nil || !out.Applied || out.Exec.TimedOut {
			t.Errorf("error %v, output %+v; want an applied patch", err, out)
		}
	})
}

func TestRunStages(t *testing.T) {
	var stages []string
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hooks := trial.Hooks{
		Stage: func(phase, id string) { stages = append(stages, phase+" "+id) },
		Now:   func() time.Time { now = now.Add(time.Second); return now },
	}
	out, err := trial.Run(t.Context(), one(trialtest.Box{}), input(), &bytes.Buffer{}, hooks)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"create t-abc", "apply t-abc", "tests t-abc", "collect t-abc"}; !slices.Equal(stages, want) {
		t.Errorf("stages %q, want %q", stages, want)
	}
	for i, p := range out.Phases {
		if p.Seconds != 1 || p.StartedAt.Second() != 1+2*i {
			t.Errorf("phase %+v: times are not those of the given clock", p)
		}
	}
}

func TestRunApplyLogIsBounded(t *testing.T) {
	flood := strings.Repeat("x", 3<<20)
	out, err := trial.Run(t.Context(), one(trialtest.Box{Apply: trialtest.Exits(1, flood+"end")}), input(), &bytes.Buffer{}, trial.Hooks{})
	if err != nil || len(out.ApplyLog) != 1<<20 || !bytes.HasSuffix(out.ApplyLog, []byte("xend")) {
		t.Errorf("error %v, %d bytes of apply log", err, len(out.ApplyLog))
	}
}
