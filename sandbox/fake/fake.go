// Package fake is a sandbox.Runtime in memory, for tests of the layers above:
// what processes do is a function of the test, files are a map, faults are
// injected. It keeps the contract of sandbox.Runtime (states, errors, leases,
// deadlines) and isolates nothing.
package fake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"harness/eval"
	"harness/sandbox"
)

// Result is what a scripted process does.
type Result struct {
	Code           int
	Stdout, Stderr string
	Delay          time.Duration // before it ends
	Hang           bool          // it ends only with the sandbox or the caller's ctx
	Died           bool          // the whole sandbox ends with it
	OOM            bool          // out of memory: Final says so
	DiskFull       bool          // Final says so
	Err            error         // our side failed: Exec returns it
}

// Handler scripts processes. It may read p.Stdin and the sandbox's files.
type Handler func(ctx context.Context, b *Sandbox, p sandbox.Process) Result

// Runtime is the fake. Set the exported fields before use; methods are safe for
// concurrent use.
type Runtime struct {
	// OnExec scripts processes; nil means that all succeed at once, silently.
	OnExec Handler
	// OnCreate may refuse a creation (wrap the sentinels of package sandbox) or
	// hold it up until ctx ends.
	OnCreate func(ctx context.Context, s sandbox.Spec) error
	// OnClose may change what the host saw.
	OnClose func(b *Sandbox, f *sandbox.Final)
	// Name and Version of Info; default "fake" and "1".
	Name, Version string
	// Orphans marks sandboxes, by owner, whose process is to count as gone.
	Orphans map[string]bool

	mu      sync.Mutex
	images  map[string]image // by digest
	refs    map[string]string
	boxes   map[string]*Sandbox
	created []sandbox.Spec
}

type image struct{ files map[string][]byte }

var _ sandbox.Runtime = (*Runtime)(nil)

// AddImage stores an image under a reference and returns its digest.
func (r *Runtime) AddImage(ref string, files map[string][]byte) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := sha256.Sum256([]byte(ref))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if r.images == nil {
		r.images, r.refs = map[string]image{}, map[string]string{}
	}
	r.images[digest], r.refs[ref] = image{files}, digest
	return digest
}

// Created returns the specs of all successful creations, in order.
func (r *Runtime) Created() []sandbox.Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.created)
}

// Living returns the sandboxes that are not yet closed or removed, by id.
func (r *Runtime) Living() []*Sandbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Sandbox, 0, len(r.boxes))
	for _, b := range r.boxes {
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b *Sandbox) int { return strings.Compare(a.ID(), b.ID()) })
	return out
}

// Info implements sandbox.Runtime. It claims no capability that needs real processes.
func (r *Runtime) Info(context.Context) (sandbox.Info, error) {
	i := sandbox.Info{Name: r.Name, Version: r.Version, Capabilities: []sandbox.Capability{sandbox.CapCopy, sandbox.CapCensus}}
	if i.Name == "" {
		i.Name = "fake"
	}
	if i.Version == "" {
		i.Version = "1"
	}
	return i, nil
}

// Resolve implements sandbox.Runtime.
func (r *Runtime) Resolve(ctx context.Context, ref string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.refs[ref]; ok {
		return d, ctx.Err()
	}
	return "", fmt.Errorf("resolve image %q: %w: add it with AddImage", ref, sandbox.ErrImageNotFound)
}

// Create implements sandbox.Runtime.
func (r *Runtime) Create(ctx context.Context, s sandbox.Spec) (sandbox.Sandbox, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if r.OnCreate != nil {
		if err := r.OnCreate(ctx, s); err != nil {
			return nil, fmt.Errorf("create sandbox %s: %w", s.ID, err)
		}
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("create sandbox %s: %w: %w", s.ID, sandbox.ErrCreate, context.Cause(ctx))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	img, ok := r.images[s.ImageDigest]
	if !ok {
		return nil, fmt.Errorf("create sandbox %s: image %s: %w", s.ID, s.ImageDigest, sandbox.ErrImageNotFound)
	}
	if r.boxes[s.ID] != nil {
		return nil, fmt.Errorf("create sandbox %s: %w: a sandbox of that id exists", s.ID, sandbox.ErrInvalidSpec)
	}
	if s.Lease == 0 {
		s.Lease = 10 * time.Minute
	}
	b := &Sandbox{rt: r, spec: s, created: time.Now(), gone: make(chan struct{}), files: map[string]sandbox.File{}}
	b.expires = b.created.Add(s.Lease)
	for name, data := range img.files {
		b.files[name] = sandbox.File{Path: name, Mode: 0o644, Data: data}
	}
	for _, f := range s.Files {
		b.files[f.Path] = f
	}
	if r.boxes == nil {
		r.boxes = map[string]*Sandbox{}
	}
	r.boxes[s.ID] = b
	r.created = append(r.created, s)
	return b, nil
}

// Remove implements sandbox.Runtime.
func (r *Runtime) Remove(ctx context.Context, m sandbox.Match) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("remove sandboxes: %w", err)
	}
	n := 0
	for _, b := range r.Living() {
		st := b.status()
		if m.ID != "" && m.ID != st.ID || m.Trial != "" && m.Trial != st.Trial || m.Owner != "" && m.Owner != st.Owner ||
			m.Expired && time.Now().Before(st.LeaseExpires) || m.Orphan && !st.Orphan {
			continue
		}
		b.stop(true)
		r.forget(b)
		n++
	}
	return n, nil
}

// List implements sandbox.Runtime.
func (r *Runtime) List(context.Context) ([]sandbox.Status, error) {
	var out []sandbox.Status
	for _, b := range r.Living() {
		out = append(out, b.status())
	}
	return out, nil
}

func (r *Runtime) forget(b *Sandbox) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.boxes[b.spec.ID] == b {
		delete(r.boxes, b.spec.ID)
	}
}

func (b *Sandbox) status() sandbox.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := "running"
	if b.dead() {
		state = "stopped"
	}
	return sandbox.Status{
		ID: b.spec.ID, Owner: b.spec.Owner, Trial: b.spec.Trial, ImageDigest: b.spec.ImageDigest, State: state,
		CreatedAt: b.created, LeaseExpires: b.expires, Orphan: b.rt.Orphans[b.spec.Owner],
	}
}

// limits that Final names for what a script said.
func limitsHit(oom, disk, timedOut bool) []string {
	var out []string
	for _, l := range []struct {
		hit  bool
		name string
	}{{disk, eval.LimitDisk}, {oom, eval.LimitMemory}, {timedOut, eval.LimitWall}} {
		if l.hit {
			out = append(out, l.name)
		}
	}
	return out
}
