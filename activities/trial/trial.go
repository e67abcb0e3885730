// Package trial carries out one physical execution of a trial in one sandbox,
// following a recipe: create, apply the patch, run the tests, collect what the
// host saw, destroy.
//
// It owns the order of these steps and their deadlines. It knows nothing of
// Temporal, of artifact stores, or of what a log means.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"harness/eval"
	"harness/sandbox"
)

// Paths inside the sandbox.
const (
	applyPath = "/tmp/harness-apply.sh"
	solvePath = "/tmp/harness-solve.sh"
	evalPath  = "/eval.sh"
)

const (
	maxApplyLog = 1 << 20
	// leaseSlack covers the clean-up of a sandbox that used all its time.
	leaseSlack = 5 * time.Minute
)

// Input is one execution. Without Patch and Solution the tests run on the tree as
// it is; at most one of them is given.
type Input struct {
	Trial       eval.TrialID
	Token       string // fencing token: fresh for each execution, [a-z0-9], at most 40 bytes
	ImageDigest string
	WorkDir     string // "" for the image's own
	Patch       *string
	Solution    *eval.Solution
	Files       []eval.TaskFile // for the tests
	Script      string          // the eval script as run
	Recipe      eval.Recipe
	Limits      eval.Limits
	Network     eval.NetworkPolicy
}

// Output is what came of it. The test log went to the writer given to Run.
type Output struct {
	Applied     bool
	ApplyMethod string
	ApplyLog    []byte // the end of what the apply tools said
	Exec        eval.ExecFacts
	Usage       eval.Usage
	Phases      []eval.Phase
	Events      []eval.Event
}

// Hooks let a caller follow an execution. Nil fields are skipped.
type Hooks struct {
	Stage func(phase, sandboxID string)
	Now   func() time.Time
}

// SandboxID is the id that Run gives the sandbox of an execution.
func SandboxID(token string) string { return "t-" + token }

// Run executes in and streams the test log into log, which must never block for
// long. An error is a fault of ours (it wraps one of the sandbox errors) or ctx's;
// whatever the code inside does is told by Output.
func Run(ctx context.Context, rt sandbox.Runtime, in Input, log io.Writer, hooks Hooks) (_ Output, err error) {
	r := &runner{rt: rt, in: in, log: log, hooks: hooks}
	if r.hooks.Now == nil {
		r.hooks.Now = time.Now
	}
	return r.run(ctx)
}

type runner struct {
	rt    sandbox.Runtime
	in    Input
	log   io.Writer
	hooks Hooks
	out   Output
}

func (r *runner) run(ctx context.Context) (Output, error) {
	sb, err := r.create(ctx)
	if err != nil {
		return r.out, err
	}
	stepErr := r.steps(ctx, sb)

	// From here on the sandbox is only in the way: the undo runs whatever happened
	// above, on a context that can't be cancelled.
	var final sandbox.Final
	closeErr := r.phase(eval.PhaseCollect, func() (err error) {
		final, err = sb.Close(context.WithoutCancel(ctx))
		return err
	})
	if ctx.Err() != nil {
		return r.out, errors.Join(context.Cause(ctx), closeErr)
	}
	if stepErr != nil && !explains(final, stepErr) {
		return r.out, stepErr
	}
	if closeErr != nil {
		return r.out, fmt.Errorf("close sandbox of %s: %w", r.in.Trial, closeErr)
	}
	r.conclude(final)
	return r.out, nil
}

// explains reports whether the sandbox's end is the candidate's doing, so that
// the error met on the way is its consequence and not a fault of ours.
func explains(f sandbox.Final, err error) bool {
	return errors.Is(err, sandbox.ErrLost) && (f.OOMKilled || f.DiskFull)
}

func (r *runner) spec() sandbox.Spec {
	var at []sandbox.File
	for _, f := range r.testFiles() {
		if !r.reached(f.Path) {
			at = append(at, f)
		}
	}
	if r.in.Patch != nil {
		at = append(at,
			sandbox.File{Path: eval.PatchFile, Mode: 0o644, Data: []byte(*r.in.Patch)},
			sandbox.File{Path: applyPath, Mode: 0o755, Data: applyScript(r.in.Recipe, r.in.WorkDir)},
		)
	}
	if s := r.in.Solution; s != nil {
		at = append(append(at, files(s.Files)...), sandbox.File{Path: solvePath, Mode: 0o755, Data: []byte(s.Script)})
	}
	return sandbox.Spec{
		ID:          SandboxID(r.in.Token),
		Owner:       r.in.Token,
		Trial:       r.in.Trial.String(),
		ImageDigest: r.in.ImageDigest,
		WorkDir:     r.in.WorkDir,
		Limits:      r.in.Limits,
		Network:     r.in.Network,
		Files:       at,
		Lease:       seconds(2*r.in.Limits.SetupSeconds+r.in.Solution.Seconds(r.in.Limits)+r.in.Limits.WallSeconds) + leaseSlack,
	}
}

// create and apply have the set-up time each: a host that is slow to create a
// sandbox must not make a patch look as if it never ended.
func (r *runner) create(ctx context.Context) (sb sandbox.Sandbox, err error) {
	ctx, cancel := context.WithTimeout(ctx, seconds(r.in.Limits.SetupSeconds))
	defer cancel()
	err = r.phase(eval.PhaseCreate, func() error {
		sb, err = r.rt.Create(ctx, r.spec())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create sandbox for %s: %w", r.in.Trial, err)
	}
	return sb, nil
}

func (r *runner) steps(ctx context.Context, sb sandbox.Sandbox) error {
	if err := r.apply(ctx, sb); err != nil || !r.out.Applied || r.stopped() {
		return err
	}
	return r.test(ctx, sb)
}

// apply brings the candidate's change about: by its patch, or by running the
// task's own solution.
func (r *runner) apply(ctx context.Context, sb sandbox.Sandbox) error {
	if r.in.Patch == nil && r.in.Solution == nil {
		r.out.Applied = true
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, seconds(r.in.Limits.SetupSeconds+r.in.Solution.Seconds(r.in.Limits)))
	defer cancel()
	log := NewTailBuffer(maxApplyLog)
	err := r.phase(eval.PhaseApply, func() error {
		change := r.patch
		if r.in.Solution != nil {
			change = r.solve
		}
		if err := change(ctx, sb, log); err != nil || !r.out.Applied || r.stopped() {
			return err
		}
		return r.bring(ctx, sb, log)
	})
	r.out.ApplyLog = log.Bytes()
	return err
}

func (r *runner) patch(ctx context.Context, sb sandbox.Sandbox, log io.Writer) error {
	exit, err := sb.Exec(ctx, sandbox.Process{Args: []string{"/bin/sh", applyPath}, Stdout: log, Stderr: log})
	if err != nil {
		return fmt.Errorf("apply patch of %s: %w", r.in.Trial, err)
	}
	r.noteExit(exit)
	if !r.stopped() {
		r.out.ApplyMethod, r.out.Applied = applyMethod(r.in.Recipe, exit.Code)
	}
	return nil
}

// solve runs the task's own solution. Whether it solves the task is for the tests
// to say, so its exit code is only noted.
func (r *runner) solve(ctx context.Context, sb sandbox.Sandbox, log io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, seconds(r.in.Solution.Seconds(r.in.Limits)))
	defer cancel()
	exit, err := sb.Exec(ctx, sandbox.Process{Args: []string{"/bin/bash", solvePath}, Stdout: log, Stderr: log})
	if err != nil {
		return fmt.Errorf("run the solution of %s: %w", r.in.Trial, err)
	}
	r.noteExit(exit)
	if !r.stopped() {
		fmt.Fprintf(log, "\nthe solution ended with exit code %d\n", exit.Code)
		r.out.ApplyMethod, r.out.Applied = ApplySolution, true
	}
	return nil
}

func (r *runner) test(ctx context.Context, sb sandbox.Sandbox) error {
	tests, cancel := context.WithTimeout(ctx, seconds(r.in.Limits.WallSeconds))
	defer cancel()
	var exit sandbox.Exit
	err := r.phase(eval.PhaseTests, func() (err error) {
		exit, err = sb.Exec(tests, sandbox.Process{
			Args: []string{"/bin/bash", evalPath}, Stdout: r.log, Stderr: r.log,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("run tests of %s: %w", r.in.Trial, err)
	}
	r.noteExit(exit)
	r.out.Exec.Truncated += exit.Dropped
	if !exit.TimedOut && !exit.Died {
		r.out.Exec.ExitCode = &exit.Code
	}
	if exit.TimedOut {
		fmt.Fprintf(r.log, "\n\nTimeout error: %d seconds exceeded.", r.in.Limits.WallSeconds)
	}
	return nil
}

func (r *runner) noteExit(e sandbox.Exit) {
	r.out.Exec.TimedOut = r.out.Exec.TimedOut || e.TimedOut
	r.out.Exec.Died = r.out.Exec.Died || e.Died
}

// stopped reports whether there is no point in a further step.
func (r *runner) stopped() bool { return r.out.Exec.TimedOut || r.out.Exec.Died }

func (r *runner) conclude(f sandbox.Final) {
	x := &r.out.Exec
	x.OOMKilled = f.OOMKilled
	x.DiskFull = f.DiskFull
	x.Died = x.Died || f.Died
	x.ImageDigest = r.in.ImageDigest
	x.Network = string(r.in.Network)
	x.LimitsHit = append(x.LimitsHit, f.LimitsHit...)
	if x.TimedOut {
		x.LimitsHit = append(x.LimitsHit, eval.LimitWall)
	}
	slices.Sort(x.LimitsHit)
	x.LimitsHit = slices.Compact(x.LimitsHit)
	r.out.Usage = f.Usage
	r.out.Events = f.Events
}

func (r *runner) phase(name string, f func() error) error {
	if r.hooks.Stage != nil {
		r.hooks.Stage(name, SandboxID(r.in.Token))
	}
	start := r.hooks.Now()
	err := f()
	r.out.Phases = append(r.out.Phases, eval.Phase{
		Name: name, StartedAt: start.UTC(), Seconds: r.hooks.Now().Sub(start).Seconds(),
	})
	return err
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
