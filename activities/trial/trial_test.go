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
	"harness/eval"
	"harness/sandbox"
	"harness/sandbox/fake"
)

func input() trial.Input {
	patch := "--- a/x\n+++ b/x\n"
	limits := eval.DefaultLimits()
	limits.SetupSeconds, limits.WallSeconds = 10, 60
	return trial.Input{
		Trial: eval.TrialID{RunID: "r", InstanceID: "t", Attempt: 1, Round: 1}, Token: "abc",
		ImageDigest: digest, WorkDir: "/testbed", Patch: &patch, Script: "#!/bin/bash\necho hi\n",
		Recipe: eval.Recipe{Name: "r", Apply: []eval.ApplyStep{{Name: "first", Command: []string{"true"}}, {Name: "second", Command: []string{"true"}}}},
		Limits: limits, Network: eval.NetworkNone,
	}
}

// digest of the only image there is.
var digest = new(fake.Runtime).AddImage("image:1", nil)

// script is what happens in a sandbox: how it is created, what the two programs
// do, and what the host saw when it was closed.
type script struct {
	createErr    error
	apply, tests fake.Result
	final        func(*sandbox.Final)
	closeErr     error
}

// runtime follows a script, and can fail to close.
type runtime struct {
	*fake.Runtime
	closeErr error
}

func (s script) runtime() *runtime {
	rt := &runtime{&fake.Runtime{}, s.closeErr}
	rt.AddImage("image:1", nil)
	rt.OnCreate = func(context.Context, sandbox.Spec) error { return s.createErr }
	rt.OnExec = func(_ context.Context, _ *fake.Sandbox, p sandbox.Process) fake.Result {
		if slices.Contains(p.Args, "/eval.sh") {
			return s.tests
		}
		if s.apply == (fake.Result{}) {
			return applied
		}
		return s.apply
	}
	rt.OnClose = func(_ *fake.Sandbox, f *sandbox.Final) {
		f.Usage = eval.Usage{}
		if s.final != nil {
			s.final(f)
		}
	}
	return rt
}

func (r *runtime) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	sb, err := r.Runtime.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &unclosable{sb, r.closeErr}, nil
}

type unclosable struct {
	sandbox.Sandbox
	err error
}

func (u *unclosable) Close(ctx context.Context) (sandbox.Final, error) {
	if err := ctx.Err(); err != nil {
		return sandbox.Final{}, fmt.Errorf("closed on a context that has ended: %w", err)
	}
	f, err := u.Sandbox.Close(ctx)
	return f, errors.Join(err, u.err)
}

var (
	applied = fake.Result{Code: 100}
	hangs   = fake.Result{Hang: true}
	dies    = fake.Result{Died: true}
)

func fails(err error) fake.Result { return fake.Result{Err: err} }

func code(n int) *int { return &n }

// Every way in which a sandbox can end, and what is told of it.
func TestRunFacts(t *testing.T) {
	lost := fmt.Errorf("shim gone: %w", sandbox.ErrLost)
	never := fails(errors.New("must not be asked"))
	const timeout = "\n\nTimeout error: 60 seconds exceeded."
	for _, c := range []struct {
		name    string
		script  script
		noPatch bool
		want    eval.ExecFacts
		applied bool
		method  string
		log     string
		err     error
		phases  []string
	}{
		{name: "tests pass", script: script{tests: fake.Result{Stdout: "ok\n", Stderr: "err\n"}},
			applied: true, method: "first", want: eval.ExecFacts{ExitCode: code(0)}, log: "ok\nerr\n"},
		{name: "second way", script: script{apply: fake.Result{Code: 101}},
			applied: true, method: "second", want: eval.ExecFacts{ExitCode: code(0)}},
		{name: "in the tree already", script: script{apply: fake.Result{Code: 90}},
			applied: true, method: trial.ApplyReversed, want: eval.ExecFacts{ExitCode: code(0)}},
		{name: "no-op", noPatch: true, script: script{apply: never},
			applied: true, want: eval.ExecFacts{ExitCode: code(0)}, phases: []string{"create", "tests", "collect"}},
		{name: "tests fail", script: script{tests: fake.Result{Code: 1, Stdout: "boo"}},
			applied: true, method: "first", want: eval.ExecFacts{ExitCode: code(1)}, log: "boo"},
		{name: "not applied", script: script{apply: fake.Result{Code: 1}, tests: never},
			phases: []string{"create", "apply", "collect"}},
		{name: "apply dies", script: script{apply: dies, tests: never}, want: eval.ExecFacts{Died: true}},
		{name: "apply hangs", script: script{apply: hangs, tests: never},
			want: eval.ExecFacts{TimedOut: true, LimitsHit: []string{"wall"}}},
		{name: "tests hang", script: script{tests: hangs}, log: timeout,
			applied: true, method: "first", want: eval.ExecFacts{TimedOut: true, LimitsHit: []string{"wall"}}},
		{name: "died", script: script{tests: dies}, applied: true, method: "first", want: eval.ExecFacts{Died: true}},
		{name: "died unseen by exec", script: script{final: func(f *sandbox.Final) { f.Died = true }},
			applied: true, method: "first", want: eval.ExecFacts{Died: true, ExitCode: code(0)}},
		{name: "out of memory", script: script{tests: fake.Result{Died: true, OOM: true}},
			applied: true, method: "first", want: eval.ExecFacts{Died: true, OOMKilled: true, LimitsHit: []string{"memory"}}},
		{name: "out of memory took the machinery along", script: script{tests: fails(lost), final: func(f *sandbox.Final) { f.OOMKilled = true }},
			applied: true, method: "first", want: eval.ExecFacts{OOMKilled: true}},
		{name: "disk full took the machinery along", script: script{apply: fails(lost), final: func(f *sandbox.Final) { f.DiskFull = true }},
			want: eval.ExecFacts{DiskFull: true}},
		{name: "limits by name, once each", log: timeout,
			script:  script{tests: hangs, final: func(f *sandbox.Final) { f.LimitsHit = []string{"wall", "processes", "open_files"} }},
			applied: true, method: "first", want: eval.ExecFacts{TimedOut: true, LimitsHit: []string{"open_files", "processes", "wall"}}},

		{name: "lost while applying", script: script{apply: fails(lost)}, err: sandbox.ErrLost},
		{name: "lost while testing", script: script{tests: fails(lost)}, err: sandbox.ErrLost},
		{name: "another fault is not explained by memory", err: sandbox.ErrUnhealthy,
			script: script{tests: fails(sandbox.ErrUnhealthy), final: func(f *sandbox.Final) { f.OOMKilled = true }}},
		{name: "not created", script: script{createErr: sandbox.ErrCreate}, err: sandbox.ErrCreate},
		{name: "no image", script: script{createErr: sandbox.ErrImageNotFound}, err: sandbox.ErrImageNotFound},
		{name: "not closed", script: script{closeErr: sandbox.ErrUnhealthy}, err: sandbox.ErrUnhealthy},
		{name: "the step's fault comes first", script: script{tests: fails(lost), closeErr: sandbox.ErrUnhealthy}, err: sandbox.ErrLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := c.script.runtime()
				in := input()
				if c.noPatch {
					in.Patch = nil
				}
				var log bytes.Buffer
				out, err := trial.Run(t.Context(), rt, in, &log, trial.Hooks{})
				if !errors.Is(err, c.err) || (err != nil) != (c.err != nil) {
					t.Fatalf("error %v, want %v", err, c.err)
				}
				if len(rt.Living()) != 0 {
					t.Errorf("%d sandboxes are left", len(rt.Living()))
				}
				if err != nil {
					if !strings.Contains(err.Error(), "r/t/1/1") {
						t.Errorf("error %q does not name the trial", err)
					}
					return
				}
				c.want.ImageDigest, c.want.Network = digest, "none"
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
	rt := script{}.runtime()
	in := input()
	if _, err := trial.Run(t.Context(), rt, in, &bytes.Buffer{}, trial.Hooks{}); err != nil {
		t.Fatal(err)
	}
	spec := rt.Created()[0]
	if spec.ID != "t-abc" || spec.Owner != "abc" || spec.Trial != "r/t/1/1" || spec.ImageDigest != digest ||
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
	for _, sc := range []script{{apply: hangs}, {tests: hangs}, {tests: hangs, closeErr: sandbox.ErrUnhealthy}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			rt := sc.runtime()
			time.AfterFunc(time.Second, func() { cancel(why) })
			_, err := trial.Run(ctx, rt, input(), &bytes.Buffer{}, trial.Hooks{})
			if !errors.Is(err, why) {
				t.Errorf("error %v, want the cause", err)
			}
			if len(rt.Living()) != 0 {
				t.Errorf("%d sandboxes are left", len(rt.Living()))
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := trial.Run(ctx, script{}.runtime(), input(), &bytes.Buffer{}, trial.Hooks{}); !errors.Is(err, why) {
		t.Errorf("cancelled before the start: error %v, want the cause", err)
	}
}

// A caller's own deadline is not the candidate's time limit.
func TestRunOuterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rt := script{tests: hangs}.runtime()
		_, err := trial.Run(ctx, rt, input(), &bytes.Buffer{}, trial.Hooks{})
		if !errors.Is(err, context.DeadlineExceeded) || len(rt.Living()) != 0 {
			t.Errorf("error %v, %d sandboxes left; want a passed deadline and none", err, len(rt.Living()))
		}
	})
}

// A slow host takes nothing from the time in which a patch is applied.
func TestRunSlowCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := script{apply: fake.Result{Code: 100, Delay: 9 * time.Second}}.runtime()
		rt.OnCreate = func(context.Context, sandbox.Spec) error {
			time.Sleep(9 * time.Second)
			return nil
		}
		out, err := trial.Run(t.Context(), rt, input(), &bytes.Buffer{}, trial.Hooks{})
		if err != nil || !out.Applied || out.Exec.TimedOut {
			t.Errorf("error %v, output %+v; want an applied patch", err, out)
		}
	})
}

// fullWriter takes half of what it is given.
type fullWriter struct{}

func (fullWriter) Write(p []byte) (int, error) { return len(p) / 2, errors.New("full") }

func TestRunDroppedOutput(t *testing.T) {
	rt := script{apply: fake.Result{Code: 100, Stdout: "x"}, tests: fake.Result{Stdout: "1234"}}.runtime()
	out, err := trial.Run(t.Context(), rt, input(), fullWriter{}, trial.Hooks{})
	if err != nil || out.Exec.Truncated != 2 {
		t.Errorf("error %v, %d bytes named as cut; want 2", err, out.Exec.Truncated)
	}
}

func TestRunStages(t *testing.T) {
	var stages []string
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hooks := trial.Hooks{
		Stage: func(phase, id string) { stages = append(stages, phase+" "+id) },
		Now:   func() time.Time { now = now.Add(time.Second); return now },
	}
	out, err := trial.Run(t.Context(), script{}.runtime(), input(), &bytes.Buffer{}, hooks)
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
	out, err := trial.Run(t.Context(), script{apply: fake.Result{Code: 1, Stdout: flood + "end"}}.runtime(), input(), &bytes.Buffer{}, trial.Hooks{})
	if err != nil || len(out.ApplyLog) != 1<<20 || !bytes.HasSuffix(out.ApplyLog, []byte("xend")) {
		t.Errorf("error %v, %d bytes of apply log", err, len(out.ApplyLog))
	}
}
