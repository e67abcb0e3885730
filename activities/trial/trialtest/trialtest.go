// Package trialtest is a sandbox runtime for tests of what executes trials: each
// sandbox follows a script written in Go, and the runtime remembers what was
// asked of it.
//
// It knows the sandbox contract and the two programs of a trial, nothing more.
package trialtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"
	"time"

	"harness/sandbox"
)

// Step plays one process.
type Step func(ctx context.Context, p sandbox.Process) (sandbox.Exit, error)

// Box is the script of one sandbox. The zero value applies the patch by the
// first way and prints nothing.
type Box struct {
	CreateErr error
	Apply     Step // nil: exit 100, the first way worked
	Tests     Step // nil: exit 0
	Final     sandbox.Final
	CloseErr  error
}

// Runtime makes scripted sandboxes. All fields may be nil.
type Runtime struct {
	// Image resolves references; nil finds each.
	Image func(ref string) (digest string, err error)
	// Script says what happens in the n-th sandbox, from 1.
	Script func(n int, spec sandbox.Spec) Box
	// RemoveErr is what Remove returns.
	RemoveErr error

	mu      sync.Mutex
	created []sandbox.Spec
	removed []sandbox.Match
	live    map[string]sandbox.Spec
}

var _ sandbox.Runtime = (*Runtime)(nil)

// Info names the runtime "fake".
func (r *Runtime) Info(context.Context) (sandbox.Info, error) {
	return sandbox.Info{Name: "fake", Version: "1"}, nil
}

// Resolve looks up an image.
func (r *Runtime) Resolve(_ context.Context, ref string) (string, error) {
	if r.Image != nil {
		return r.Image(ref)
	}
	return "sha256:" + ref, nil
}

// Create starts a sandbox of the script.
func (r *Runtime) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrCreate, err)
	}
	r.mu.Lock()
	r.created = append(r.created, spec)
	n := len(r.created)
	r.mu.Unlock()
	var b Box
	if r.Script != nil {
		b = r.Script(n, spec)
	}
	if b.CreateErr != nil {
		return nil, b.CreateErr
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == nil {
		r.live = map[string]sandbox.Spec{}
	}
	r.live[spec.ID] = spec
	return &box{rt: r, spec: spec, script: b}, nil
}

// Remove forgets the sandboxes of a trial or an id.
func (r *Runtime) Remove(_ context.Context, m sandbox.Match) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed = append(r.removed, m)
	if r.RemoveErr != nil {
		return 0, r.RemoveErr
	}
	n := 0
	for id, spec := range r.live {
		if (m.ID == "" || m.ID == id) && (m.Trial == "" || m.Trial == spec.Trial) && !m.Expired && !m.Orphan {
			delete(r.live, id)
			n++
		}
	}
	return n, nil
}

// List describes the living sandboxes.
func (r *Runtime) List(context.Context) ([]sandbox.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []sandbox.Status
	for id, spec := range r.live {
		out = append(out, sandbox.Status{ID: id, Owner: spec.Owner, Trial: spec.Trial, ImageDigest: spec.ImageDigest})
	}
	return out, nil
}

// Adopt puts a sandbox there that nobody in this process made.
func (r *Runtime) Adopt(spec sandbox.Spec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == nil {
		r.live = map[string]sandbox.Spec{}
	}
	r.live[spec.ID] = spec
}

// Live is the number of sandboxes that have not been closed or removed.
func (r *Runtime) Live() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.live)
}

// Created returns the specs of all sandboxes that were asked for, in order.
func (r *Runtime) Created() []sandbox.Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sandbox.Spec(nil), r.created...)
}

// Removed returns the matches given to Remove, in order.
func (r *Runtime) Removed() []sandbox.Match {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sandbox.Match(nil), r.removed...)
}

type box struct {
	rt     *Runtime
	spec   sandbox.Spec
	script Box
}

func (b *box) ID() string { return b.spec.ID }

func (b *box) Exec(ctx context.Context, p sandbox.Process) (sandbox.Exit, error) {
	step, fallback := b.script.Tests, Exits(0, "")
	if path.Base(p.Args[len(p.Args)-1]) != "eval.sh" {
		step, fallback = b.script.Apply, Exits(100, "")
	}
	if step == nil {
		step = fallback
	}
	return step(ctx, p)
}

func (b *box) CopyIn(context.Context, string, fs.FileMode, int64, io.Reader) error {
	return errors.New("trialtest: no copies")
}

func (b *box) CopyOut(context.Context, string, io.Writer, int64) (int64, error) {
	return 0, errors.New("trialtest: no copies")
}

func (b *box) Renew(context.Context, time.Duration) error { return nil }
func (b *box) Kill(context.Context) error                 { return nil }

func (b *box) Close(ctx context.Context) (sandbox.Final, error) {
	if err := ctx.Err(); err != nil {
		return sandbox.Final{}, fmt.Errorf("trialtest: closed on a context that has ended: %w", err)
	}
	b.rt.mu.Lock()
	defer b.rt.mu.Unlock()
	delete(b.rt.live, b.spec.ID)
	return b.script.Final, b.script.CloseErr
}

// Exits prints and ends with a code.
func Exits(code int, out string) Step {
	return func(_ context.Context, p sandbox.Process) (sandbox.Exit, error) {
		if p.Stdout != nil {
			_, _ = io.WriteString(p.Stdout, out)
		}
		return sandbox.Exit{Code: code}, nil
	}
}

// Dies ends together with its sandbox.
func Dies(context.Context, sandbox.Process) (sandbox.Exit, error) {
	return sandbox.Exit{Code: 137, Died: true}, nil
}

// Fails is a fault of the machinery.
func Fails(err error) Step {
	return func(context.Context, sandbox.Process) (sandbox.Exit, error) { return sandbox.Exit{}, err }
}

// Hangs runs until it is killed.
func Hangs(ctx context.Context, _ sandbox.Process) (sandbox.Exit, error) {
	<-ctx.Done()
	cause := context.Cause(ctx)
	if errors.Is(cause, sandbox.ErrDeadline) || errors.Is(cause, context.DeadlineExceeded) {
		return sandbox.Exit{Code: 137, TimedOut: true}, nil
	}
	return sandbox.Exit{}, cause
}
