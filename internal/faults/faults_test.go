//go:build e2e

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// fault is one way in which an evaluation is disturbed.
type fault struct {
	name string
	// stack: the run is carried out by a stack that stays (`harness up`), not by
	// the command that started it.
	stack bool
	// s3: that stack keeps its artifacts in an S3 server.
	s3     bool
	strike func(*testing.T, *run)
	// recover does what a person would do then, and returns when the run has ended.
	recover func(*testing.T, *run)
	// takeover: another process goes on with the run, so what ran before must be gone first.
	takeover bool
	moments  []moment
	short    moment // the one of the short form; none: full form only
}

var faults = []fault{
	{
		name: "kill the eval process", takeover: true,
		strike: func(t *testing.T, r *run) { r.kill(t, r.command()) }, recover: resume,
		moments: anyMoment, short: middle,
	},
	{
		name: "kill eval, then the process that resumes it", takeover: true,
		strike: func(t *testing.T, r *run) { r.kill(t, r.command()) }, recover: resumeTwice,
		moments: whileSandboxes,
	},
	{
		name:   "interrupt eval (Ctrl-C)",
		strike: interrupt, recover: resume,
		moments: whileSandboxes, short: last,
	},
	{
		name: "kill the stack's owner, up again", stack: true, takeover: true,
		strike: func(t *testing.T, r *run) { r.kill(t, r.owner(t)) }, recover: upAgain,
		moments: anyMoment, short: report,
	},
	{
		name: "kill the stack's owner, resume without it", stack: true, takeover: true,
		strike: func(t *testing.T, r *run) { r.kill(t, r.owner(t), r.command()) }, recover: resume,
		moments: anyMoment, short: middle,
	},
	{
		name:   "kill Temporal",
		strike: func(t *testing.T, r *run) { r.kill(t, r.temporal(t)) }, recover: wait,
		moments: anyMoment, short: last,
	},
	{
		name:   "kill containerd",
		strike: func(t *testing.T, r *run) { r.kill(t, r.containerd(t)) }, recover: wait,
		moments: anyMoment, short: middle,
	},
	{
		name:   "kill a shim",
		strike: func(t *testing.T, r *run) { r.kill(t, r.shim(t)) }, recover: wait,
		moments: whileSandboxes, short: first,
	},
	{
		name:   "kill a gVisor sandbox",
		strike: func(t *testing.T, r *run) { r.kill(t, r.sandbox(t)) }, recover: wait,
		moments: whileSandboxes, short: last,
	},
	{
		name: "kill the S3 server", stack: true, s3: true,
		strike: func(t *testing.T, r *run) { r.kill(t, r.minio(t)) }, recover: wait,
		moments: anyMoment, short: middle,
	},
	{
		name: "kill everything at once", takeover: true,
		strike: killAll, recover: resume,
		moments: anyMoment, short: first,
	},
	{
		name: "kill eval, down, delete Temporal's database", takeover: true,
		strike: killAndForget, recover: resume,
		moments: whileSandboxes, short: middle,
	},
	{
		name: "stop the worker for longer than its heartbeats may be missed", stack: true,
		strike: freeze, recover: wait,
		moments: []moment{middle},
	},
}

func TestFaults(t *testing.T) {
	full := os.Getenv("HARNESS_FAULTS") == "full"
	h := newHome(t)
	inputs := undisturbed(t, h)
	var rows table
	t.Cleanup(func() { t.Logf("\n%s", &rows) })
	for i := range faults {
		f := &faults[i]
		moments := f.moments
		if !full {
			moments = nil
			if f.short.name != "" {
				moments = []moment{f.short}
			}
		}
		for k, m := range moments {
			t.Run(f.name+"/"+m.name, func(t *testing.T) {
				r := newRun(h, inputs[(i+k)%len(inputs)], fmt.Sprintf("f%d%s", i, m.name))
				res := &result{fault: f.name, moment: m.name, input: r.in.name}
				defer func() { res.failed = t.Failed(); rows.add(*res) }()
				suffer(t, f, m, r, res)
			})
		}
	}
}

// suffer carries out one cell of the matrix.
func suffer(t *testing.T, f *fault, m moment, r *run, res *result) {
	r.s3 = f.s3
	switch {
	case f.s3:
		r.home.mustRun(t, "up", "--s3")
	case f.stack:
		r.home.mustRun(t, "up")
	}
	r.start(t)
	res.at = r.await(t, m)
	before := r.home.sandboxes()
	f.strike(t, r)
	struck := time.Now()
	if f.takeover {
		mustBeGone(t, r, before)
	}
	f.recover(t, r)
	res.healed = time.Since(struck)

	res.comparison = compare(t, r)
	if t.Failed() { // go test -artifacts keeps it
		if err := os.CopyFS(filepath.Join(t.ArtifactDir(), r.id), os.DirFS(r.dir())); err != nil {
			t.Log(err)
		}
	}
	res.tries = r.tries(t)
	r.home.mustRun(t, "down")
	res.left = r.home.census(t)
	for _, l := range res.left {
		t.Errorf("left behind: %s", l)
	}
}

// wait is for faults that the run must heal by itself.
func wait(t *testing.T, r *run) { r.finish(t, 0) }

func resume(t *testing.T, r *run) {
	r.home.mustRun(t, "resume", r.id, "-o", r.reportDir())
}

func resumeTwice(t *testing.T, r *run) {
	r.resumed(t)
	r.await(t, middle)
	r.kill(t, r.command())
	resume(t, r)
}

// upAgain brings the stack back, under which the command that waits for the run
// must come to its end.
func upAgain(t *testing.T, r *run) {
	r.home.mustRun(t, "up")
	wait(t, r)
}

func interrupt(t *testing.T, r *run) {
	start := time.Now()
	r.signal(t, r.command(), syscall.SIGINT)
	r.finish(t, 130)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("an interrupted eval took %s to end, want seconds", took)
	}
}

// killAndForget leaves a machine on which nothing but the store tells of the run.
func killAndForget(t *testing.T, r *run) {
	r.kill(t, r.command())
	r.home.mustRun(t, "down")
	for _, l := range r.home.census(t) {
		t.Errorf("left behind by `harness down` after a killed eval: %s", l)
	}
	if err := os.RemoveAll(filepath.Join(r.home.dir, "stack", "temporal")); err != nil {
		t.Fatal(err)
	}
}

// killAll leaves nothing running, not even what is being started just now.
func killAll(t *testing.T, r *run) {
	for pids := r.home.processes(); len(pids) > 0; pids = r.home.processes() {
		r.kill(t, pids...)
	}
}

// freeze holds the worker up as a machine does that has no memory or no disk for a
// while. Its trials are given to a worker meanwhile (the same one, in the end).
func freeze(t *testing.T, r *run) {
	owner := r.owner(t)
	r.signal(t, owner, syscall.SIGSTOP)
	defer r.signal(t, owner, syscall.SIGCONT)
	time.Sleep(40 * time.Second) // the workflows' heartbeat timeout is 30 s
}
