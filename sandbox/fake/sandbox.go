package fake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"harness/eval"
	"harness/sandbox"
)

// Sandbox is one fake sandbox.
type Sandbox struct {
	rt      *Runtime
	spec    sandbox.Spec
	created time.Time
	gone    chan struct{} // closed when it ends, by whatever

	mu       sync.Mutex
	expires  time.Time
	files    map[string]sandbox.File
	execs    []sandbox.Process
	ended    bool // by Kill, Close or a call whose ctx ended
	died     bool // by itself, or removed by someone else
	oom      bool
	diskFull bool
	timedOut bool
	final    *sandbox.Final
}

var _ sandbox.Sandbox = (*Sandbox)(nil)

// ID implements sandbox.Sandbox.
func (b *Sandbox) ID() string { return b.spec.ID }

// Spec is what it was made from.
func (b *Sandbox) Spec() sandbox.Spec { return b.spec }

// Execs returns the processes that were run so far, streams included.
func (b *Sandbox) Execs() []sandbox.Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.execs)
}

// Files returns a copy of the sandbox's files by path.
func (b *Sandbox) Files() map[string]sandbox.File {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.files)
}

// WriteFile puts a file there, as code inside would.
func (b *Sandbox) WriteFile(name, data string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files[name] = sandbox.File{Path: name, Mode: 0o644, Data: []byte(data)}
}

// Die ends the sandbox under its user, as an attack or a crash would.
func (b *Sandbox) Die() { b.stop(true) }

func (b *Sandbox) dead() bool {
	select {
	case <-b.gone:
		return true
	default:
		return false
	}
}

// stop ends the sandbox once; byItself says whose doing it counts as.
func (b *Sandbox) stop(byItself bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if byItself {
		b.died = b.died || !b.ended
	} else {
		b.ended = true
	}
	if !b.dead() {
		close(b.gone)
	}
}

// state is what every call asks first.
func (b *Sandbox) state() (died bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended:
		return false, fmt.Errorf("sandbox %s: %w", b.spec.ID, sandbox.ErrClosed)
	default:
		return b.died, nil
	}
}

const killed = 128 + 9

// Exec implements sandbox.Sandbox.
func (b *Sandbox) Exec(ctx context.Context, p sandbox.Process) (sandbox.Exit, error) {
	if err := p.Validate(); err != nil {
		return sandbox.Exit{}, fmt.Errorf("exec in sandbox %s: %w", b.spec.ID, err)
	}
	exit := sandbox.Exit{Code: killed, Started: time.Now(), Ended: time.Now()}
	if died, err := b.state(); err != nil || died {
		exit.Died = died
		return exit, err
	}
	b.mu.Lock()
	b.execs = append(b.execs, p)
	b.mu.Unlock()

	var res Result
	if b.rt.OnExec != nil {
		res = b.rt.OnExec(ctx, b, p)
	}
	if res.Err != nil {
		return sandbox.Exit{}, fmt.Errorf("exec in sandbox %s: %w", b.spec.ID, res.Err)
	}
	exit.Dropped = write(p.Stdout, res.Stdout) + write(p.Stderr, res.Stderr)
	b.mu.Lock()
	b.oom, b.diskFull = b.oom || res.OOM, b.diskFull || res.DiskFull
	b.mu.Unlock()

	var end <-chan time.Time // nil: never
	if !res.Hang {
		t := time.NewTimer(res.Delay)
		defer t.Stop()
		end = t.C
	}
	select {
	case <-ctx.Done():
		return b.interrupted(ctx, exit)
	case <-b.gone:
		exit.Ended = time.Now()
		died, err := b.state()
		exit.Died = died
		return exit, err
	case <-end:
	}
	if ctx.Err() != nil { // both at once
		return b.interrupted(ctx, exit)
	}
	exit.Code, exit.Ended = res.Code, time.Now()
	if res.Died {
		b.stop(true)
		exit.Code, exit.Died = killed, true
	}
	return exit, nil
}

func (b *Sandbox) interrupted(ctx context.Context, exit sandbox.Exit) (sandbox.Exit, error) {
	b.stop(false)
	exit.Ended = time.Now()
	cause := context.Cause(ctx)
	if errors.Is(cause, sandbox.ErrDeadline) || errors.Is(cause, context.DeadlineExceeded) {
		b.mu.Lock()
		b.timedOut = true
		b.mu.Unlock()
		exit.TimedOut = true
		return exit, nil
	}
	return exit, fmt.Errorf("exec in sandbox %s: %w", b.spec.ID, cause)
}

func write(w io.Writer, s string) (dropped int64) {
	if w == nil || s == "" {
		return 0
	}
	n, _ := io.WriteString(w, s)
	return int64(len(s) - n)
}

// CopyIn implements sandbox.Sandbox.
func (b *Sandbox) CopyIn(ctx context.Context, name string, mode fs.FileMode, size int64, r io.Reader) error {
	fail := func(err error) error {
		return fmt.Errorf("copy %q into sandbox %s: %w", name, b.spec.ID, err)
	}
	if err := b.ready(ctx, name); err != nil {
		return fail(err)
	}
	if size < 0 {
		return fail(fmt.Errorf("%w: size %d", sandbox.ErrInvalidSpec, size))
	}
	data, err := io.ReadAll(io.LimitReader(r, size))
	switch {
	case err != nil:
		return fail(fmt.Errorf("read the source: %w", err))
	case int64(len(data)) < size:
		return fail(fmt.Errorf("read the source: %w: %d of %d bytes", io.ErrUnexpectedEOF, len(data), size))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isFolder(name) {
		return fail(fmt.Errorf("%w: is a directory", sandbox.ErrInside))
	}
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if _, ok := b.files[dir]; ok {
			return fail(fmt.Errorf("%w: %s is a file", sandbox.ErrInside, dir))
		}
	}
	b.files[name] = sandbox.File{Path: name, Mode: mode.Perm(), Data: data}
	return nil
}

// CopyOut implements sandbox.Sandbox.
func (b *Sandbox) CopyOut(ctx context.Context, name string, w io.Writer, limit int64) (int64, error) {
	fail := func(err error) error {
		return fmt.Errorf("copy %q out of sandbox %s: %w", name, b.spec.ID, err)
	}
	if err := b.ready(ctx, name); err != nil {
		return 0, fail(err)
	}
	b.mu.Lock()
	f, ok := b.files[name]
	folder := b.isFolder(name)
	b.mu.Unlock()
	switch {
	case folder:
		return 0, fail(fmt.Errorf("%w: not a regular file", sandbox.ErrInside))
	case !ok:
		return 0, fail(fmt.Errorf("%w: %w", sandbox.ErrInside, fs.ErrNotExist))
	}
	n, err := io.Copy(w, bytes.NewReader(f.Data[:min(int64(len(f.Data)), limit)]))
	if err != nil {
		return n, fail(fmt.Errorf("write the copy: %w", err))
	}
	if int64(len(f.Data)) > limit {
		return n, fail(fmt.Errorf("%w: more than %d bytes", sandbox.ErrTooLarge, limit))
	}
	return n, nil
}

func (b *Sandbox) ready(ctx context.Context, name string) error {
	if err := sandbox.ValidPath(name); err != nil {
		return err
	}
	if ctx.Err() != nil {
		b.stop(false)
		return context.Cause(ctx)
	}
	died, err := b.state()
	if died {
		return fmt.Errorf("%w: the sandbox has ended", sandbox.ErrInside)
	}
	return err
}

func (b *Sandbox) isFolder(name string) bool {
	for f := range b.files {
		if strings.HasPrefix(f, strings.TrimSuffix(name, "/")+"/") {
			return true
		}
	}
	return false
}

// Renew implements sandbox.Sandbox.
func (b *Sandbox) Renew(_ context.Context, lease time.Duration) error {
	if lease <= 0 {
		return fmt.Errorf("renew sandbox %s: lease %s: %w", b.spec.ID, lease, sandbox.ErrInvalidSpec)
	}
	if died, err := b.state(); err != nil || died {
		return errors.Join(err, fmt.Errorf("renew sandbox %s: it has ended: %w", b.spec.ID, sandbox.ErrClosed))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expires = time.Now().Add(lease)
	return nil
}

// Kill implements sandbox.Sandbox.
func (b *Sandbox) Kill(context.Context) error {
	b.stop(false)
	return nil
}

// Close implements sandbox.Sandbox.
func (b *Sandbox) Close(context.Context) (sandbox.Final, error) {
	b.stop(false)
	b.rt.forget(b)
	b.mu.Lock()
	if b.final != nil {
		defer b.mu.Unlock()
		return *b.final, nil
	}
	wall := time.Since(b.created).Seconds()
	f := sandbox.Final{
		Died: b.died, OOMKilled: b.oom, DiskFull: b.diskFull,
		LimitsHit: limitsHit(b.oom, b.diskFull, b.timedOut),
		Usage:     eval.Usage{WallSeconds: &wall},
	}
	b.final = &f
	b.mu.Unlock()
	if b.rt.OnClose != nil {
		b.rt.OnClose(b, &f)
	}
	return f, nil
}
