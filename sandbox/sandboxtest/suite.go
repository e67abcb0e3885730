// Package sandboxtest is the conformance suite of sandbox.Runtime: what every
// driver promises, tried out. A test runs only if the runtime claims all of its
// capabilities; what a runtime can't do shows as a skipped test.
//
// It knows drivers by the contract alone, and by janitor.Stack where a driver
// has one: then the census must be back to zero after each test.
package sandboxtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"harness/eval"
	"harness/sandbox"
	"harness/sandbox/janitor"
)

// Open returns the runtime under test and the digest of an image that has a
// shell, coreutils, procps and Python 3.
type Open func(t *testing.T) (rt sandbox.Runtime, imageDigest string)

type test struct {
	name string
	caps []sandbox.Capability
	run  func(t *testing.T, e *env)
}

// Run runs the suite. Each test opens nothing but sandboxes of its own.
func Run(t *testing.T, open Open) {
	rt, digest := open(t)
	info, err := rt.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tests := range [][]test{lifeTests, execTests, copyTests, limitTests, isolationTests} {
		for _, c := range tests {
			t.Run(c.name, func(t *testing.T) {
				for _, want := range c.caps {
					if !slices.Contains(info.Capabilities, want) {
						t.Skipf("runtime %s does not claim %s", info.Name, want)
					}
				}
				e := &env{rt: rt, digest: digest}
				t.Cleanup(func() { e.census(t, info) })
				c.run(t, e)
			})
		}
	}
}

// env is what a test works with.
type env struct {
	rt     sandbox.Runtime
	digest string
}

var serial atomic.Int64

// spec returns a small sandbox's spec with an id of its own.
func (e *env) spec() sandbox.Spec {
	l := eval.DefaultLimits()
	l.MemoryBytes = 512 * eval.MiB
	l.DiskBytes = 256 * eval.MiB
	return sandbox.Spec{
		ID:    fmt.Sprintf("conf-%d-%d", time.Now().UnixNano()%1e9, serial.Add(1)),
		Owner: "suite", Trial: "run/task/1/1",
		ImageDigest: e.digest, Limits: l, Network: eval.NetworkNone,
	}
}

// create makes a sandbox that is closed with the test. Changes are applied to
// the spec.
func (e *env) create(t *testing.T, change ...func(*sandbox.Spec)) sandbox.Sandbox {
	t.Helper()
	s := e.spec()
	for _, f := range change {
		f(&s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b, err := e.rt.Create(ctx, s)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	t.Cleanup(func() {
		if _, err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// sh runs a script and returns what it wrote to either stream.
func sh(t *testing.T, b sandbox.Sandbox, script string) (string, sandbox.Exit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	exit, err := b.Exec(ctx, sandbox.Process{Args: []string{"sh", "-c", script}, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatalf("exec %q: %v", script, err)
	}
	if exit.TimedOut {
		t.Fatalf("exec %q ran into the suite's own deadline; output so far %q", script, clip(out.String()))
	}
	return out.String(), exit
}

// must runs a script that has to succeed and returns its trimmed output.
func must(t *testing.T, b sandbox.Sandbox, script string) string {
	t.Helper()
	out, exit := sh(t, b, script)
	if exit.Code != 0 {
		t.Fatalf("exec %q: exit %d, died %v, output %q", script, exit.Code, exit.Died, clip(out))
	}
	return strings.TrimSpace(out)
}

// end closes the sandbox and returns what the host saw.
func end(t *testing.T, b sandbox.Sandbox) sandbox.Final {
	t.Helper()
	f, err := b.Close(t.Context())
	if err != nil {
		t.Fatalf("close: %v", err)
	}
	return f
}

func clip(s string) string {
	if len(s) > 600 {
		return s[:300] + " ... " + s[len(s)-300:]
	}
	return s
}

// census fails the test when anything of a sandbox is left. The kernel and
// containerd let go of some things a moment after they said so.
func (e *env) census(t *testing.T, info sandbox.Info) {
	if !slices.Contains(info.Capabilities, sandbox.CapCensus) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	left, err := e.rt.List(ctx)
	if err != nil {
		t.Errorf("list: %v", err)
	}
	if len(left) > 0 {
		t.Errorf("sandboxes are left: %+v", left)
	}
	st, ok := e.rt.(interface{ Stack() janitor.Stack })
	if !ok {
		return
	}
	var c janitor.Counts
	for range 20 {
		if c, err = janitor.Census(ctx, st.Stack()); err == nil && c.Zero() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("left behind: %s (%v)\n%s", c, err, strings.Join(c.Details, "\n"))
}
