package fake_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"harness/eval"
	"harness/sandbox"
	"harness/sandbox/fake"
	"harness/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	sandboxtest.Run(t, func(*testing.T) (sandbox.Runtime, string) {
		rt := &fake.Runtime{}
		return rt, rt.AddImage("debian:12", nil)
	})
}

func create(t *testing.T, rt *fake.Runtime) sandbox.Sandbox {
	t.Helper()
	digest := rt.AddImage("img", map[string][]byte{"/etc/os": []byte("fake")})
	b, err := rt.Create(t.Context(), sandbox.Spec{ID: "x", ImageDigest: digest, Limits: eval.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestScriptedProcesses(t *testing.T) {
	for _, c := range []struct {
		name string
		res  fake.Result
		exit sandbox.Exit
		want sandbox.Final
	}{
		{"failure", fake.Result{Code: 3, Stdout: "out"}, sandbox.Exit{Code: 3}, sandbox.Final{}},
		{"out of memory", fake.Result{Died: true, OOM: true}, sandbox.Exit{Code: 137, Died: true}, sandbox.Final{Died: true, OOMKilled: true}},
		{"disk full", fake.Result{Code: 1, DiskFull: true}, sandbox.Exit{Code: 1}, sandbox.Final{DiskFull: true}},
		{"hangs past the deadline", fake.Result{Hang: true}, sandbox.Exit{Code: 137, TimedOut: true}, sandbox.Final{}},
		{"takes too long", fake.Result{Delay: time.Hour}, sandbox.Exit{Code: 137, TimedOut: true}, sandbox.Final{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := &fake.Runtime{OnExec: func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result { return c.res }}
				b := create(t, rt)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var out bytes.Buffer
				x, err := b.Exec(ctx, sandbox.Process{Args: []string{"x"}, Stdout: &out})
				if err != nil || x.Code != c.exit.Code || x.Died != c.exit.Died || x.TimedOut != c.exit.TimedOut || out.String() != c.res.Stdout {
					t.Errorf("exit %+v, %v, output %q", x, err, out.String())
				}
				f, err := b.Close(t.Context())
				if err != nil || f.Died != c.want.Died || f.OOMKilled != c.want.OOMKilled || f.DiskFull != c.want.DiskFull {
					t.Errorf("final %+v, %v", f, err)
				}
			})
		})
	}
}

func TestEndsUnderAProcess(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*fake.Sandbox)
		died bool
		err  error
	}{
		"dies":    {func(b *fake.Sandbox) { b.Die() }, true, nil},
		"killed":  {func(b *fake.Sandbox) { _ = b.Kill(context.Background()) }, false, sandbox.ErrClosed},
		"removed": {func(b *fake.Sandbox) { b.Die() }, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := &fake.Runtime{OnExec: func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result { return fake.Result{Hang: true} }}
				b := create(t, rt)
				go func() { time.Sleep(time.Second); c.end(rt.Living()[0]) }()
				x, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"x"}})
				if x.Died != c.died || !errors.Is(err, c.err) {
					t.Errorf("exit %+v, %v", x, err)
				}
			})
		})
	}
}

func TestInjectedFaults(t *testing.T) {
	rt := &fake.Runtime{OnCreate: func(context.Context, sandbox.Spec) error { return sandbox.ErrUnhealthy }}
	digest := rt.AddImage("img", nil)
	if _, err := rt.Create(t.Context(), sandbox.Spec{ID: "x", ImageDigest: digest, Limits: eval.DefaultLimits()}); !errors.Is(err, sandbox.ErrUnhealthy) {
		t.Errorf("create: %v", err)
	}
	rt = &fake.Runtime{
		OnExec: func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result {
			return fake.Result{Err: sandbox.ErrLost}
		},
		OnClose: func(_ *fake.Sandbox, f *sandbox.Final) { f.Events = append(f.Events, eval.Event{Kind: "seen"}) },
	}
	b := create(t, rt)
	if _, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"x"}}); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("exec: %v", err)
	}
	if f, err := b.Close(t.Context()); err != nil || len(f.Events) != 1 {
		t.Errorf("close: %+v, %v", f, err)
	}
	if len(rt.Living()) != 0 || len(rt.Created()) != 1 {
		t.Errorf("%d living, %d created", len(rt.Living()), len(rt.Created()))
	}
}
