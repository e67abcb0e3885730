package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/errdefs"
	"github.com/containerd/typeurl/v2"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"harness/internal/proc"
	"harness/sandbox"
)

// Sandbox is one running sandbox of this Runtime.
type Sandbox struct {
	r       *Runtime
	id      string
	spec    sandbox.Spec
	process specs.Process // template of every exec
	created time.Time
	pid     int     // init's host process
	init    proc.ID // the same, safe against reuse of the number
	shim    proc.ID
	disk    *diskMeter

	execs   atomic.Int64
	running sync.WaitGroup // execs that have not yet been deleted in the shim
	dead    chan struct{}  // closed when the sandbox has ended
	endCode int            // valid after dead
	endLost bool           // valid after dead: the shim or containerd went, not the sandbox

	mu       sync.Mutex
	ended    bool // we ended it ourselves
	died     bool // it had ended before we did
	timedOut bool
	expires  time.Time
	leaseGen int

	closing sync.Mutex // held through Close
	final   *sandbox.Final
}

var _ sandbox.Sandbox = (*Sandbox)(nil)

// ID implements sandbox.Sandbox.
func (s *Sandbox) ID() string { return s.id }

// Pid is the host process of the sandbox.
func (s *Sandbox) Pid() int { return s.pid }

// Snapshot names the snapshot that holds the writes of a sandbox made with
// WritableSnapshot. It goes with Close: commit it before, after Kill.
func (s *Sandbox) Snapshot() (snapshotter, key string) { return s.r.cfg.Snapshotter, s.id }

// Create implements sandbox.Runtime. What is made stands in the order of its
// undoing: see destroy.
func (r *Runtime) Create(ctx context.Context, spec sandbox.Spec) (_ sandbox.Sandbox, err error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	img, err := r.image(ctx, spec.ImageDigest)
	if err != nil {
		return nil, r.createError(ctx, spec.ID, "image", err)
	}
	if spec.Lease == 0 {
		spec.Lease = defaultLease
	}
	now := time.Now()
	rec := record{
		id: spec.ID, owner: spec.Owner, trial: spec.Trial, image: spec.ImageDigest, handler: r.handler.name,
		worker: r.cfg.Worker, created: now, expires: now.Add(spec.Lease), process: r.self,
	}
	if ctx.Err() != nil {
		return nil, r.createError(ctx, spec.ID, "lease", ctx.Err())
	}
	if err := r.createLease(ctx, rec, 0); errdefs.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create sandbox %s: %w: a sandbox of that id exists; remove it first", spec.ID, sandbox.ErrInvalidSpec)
	} else if err != nil {
		undo, cancel := r.cleanup(ctx, callTimeout)
		defer cancel()
		return nil, errors.Join(r.createError(ctx, spec.ID, "lease", err), r.deleteLeases(undo, spec.ID))
	}
	defer func() {
		if err != nil {
			ctx, cancel := r.cleanup(ctx, destroyTimeout)
			defer cancel()
			if derr := r.destroy(ctx, spec.ID, 0); derr != nil {
				r.cfg.Logger.Warn("sandbox is left half made", "sandbox_id", spec.ID, "error", derr)
			}
		}
	}()

	s := &Sandbox{r: r, id: spec.ID, spec: spec, created: now, dead: make(chan struct{}), expires: rec.expires}
	env := environment(img.config, spec.Env)
	cwd := spec.WorkDir
	if cwd == "" {
		cwd = img.config.Config.WorkingDir
	}
	if sandbox.ValidPath(cwd) != nil {
		cwd = "/"
	}
	oci := r.ociSpec(spec, env, cwd)
	s.process = *oci.Process

	if err := os.Mkdir(r.boxDir(spec.ID), 0o711); err != nil {
		return nil, r.createError(ctx, spec.ID, "scratch folder", err)
	}
	rootfs, err := r.rootfs(ctx, s, img, rec)
	if err != nil {
		return nil, r.createError(ctx, spec.ID, "root file system", err)
	}
	if err := r.furnish(ctx, spec, cwd, rootfs); err != nil {
		return nil, r.createError(ctx, spec.ID, "files", err)
	}
	if err := r.createContainer(ctx, rec, oci, spec); err != nil {
		return nil, r.createError(ctx, spec.ID, "container", err)
	}
	if err := s.start(ctx, rootfs); err != nil {
		return nil, r.createError(ctx, spec.ID, "start", err)
	}
	return s, nil
}

// createError keeps our own sentinels, reports a caller that went away as such,
// and calls everything else a failed creation.
func (r *Runtime) createError(ctx context.Context, id, step string, err error) error {
	if over(ctx, err) {
		return fmt.Errorf("create sandbox %s: %s: %w: %w", id, step, sandbox.ErrCreate, context.Cause(ctx))
	}
	for _, own := range []error{sandbox.ErrInvalidSpec, sandbox.ErrImageNotFound, sandbox.ErrImageUnsupported, sandbox.ErrUnhealthy, sandbox.ErrCreate} {
		if errors.Is(err, own) {
			return fmt.Errorf("create sandbox %s: %s: %w", id, step, err)
		}
	}
	if lostConnection(err) {
		return fmt.Errorf("create sandbox %s: %s: %w: %w", id, step, sandbox.ErrUnhealthy, err)
	}
	return fmt.Errorf("create sandbox %s: %s: %w: %w", id, step, sandbox.ErrCreate, err)
}

// createLease, like all short calls that make something, is not cancelled by
// the caller's ctx: containerd could finish it unseen, behind the clean-up.
func (r *Runtime) createLease(ctx context.Context, rec record, gen int) error {
	ctx, cancel := r.cleanup(ctx, callTimeout)
	defer cancel()
	_, err := r.client.LeasesService().Create(ctx, leases.WithID(leaseID(rec.id, gen)),
		leases.WithLabels(rec.labels()), leases.WithExpiration(time.Until(rec.expires)))
	return err
}

// leaseID: containerd has no way of changing a lease, so Renew makes the next
// generation and drops the former.
func leaseID(id string, gen int) string { return fmt.Sprintf("harness.%s.%d", id, gen) }

func (r *Runtime) createContainer(ctx context.Context, rec record, oci *specs.Spec, spec sandbox.Spec) error {
	ctx, cancel := r.cleanup(ctx, callTimeout)
	defer cancel()
	any, err := typeurl.MarshalAny(oci)
	if err != nil {
		return err
	}
	c := containers.Container{
		ID: rec.id, Labels: rec.labels(), Spec: any,
		Snapshotter: r.cfg.Snapshotter, SnapshotKey: rec.id,
		Runtime: containers.RuntimeInfo{Name: r.handler.runtime},
	}
	opts, err := r.handler.shimOptions(spec)
	if err != nil {
		return err
	}
	if opts != nil {
		if c.Runtime.Options, err = typeurl.MarshalAny(opts); err != nil {
			return err
		}
	}
	_, err = r.client.ContainerService().Create(ctx, c)
	return err
}

// start makes the task, begins to wait for its end, and lets process 1 run.
func (s *Sandbox) start(ctx context.Context, rootfs []mount.Mount) error {
	// Starting may take as long as the caller allows; the caller's ctx bounds it,
	// and a caller without a deadline gets one.
	ctx, cancel := s.r.call(ctx, 2*time.Minute)
	defer cancel()
	req := &tasks.CreateTaskRequest{ContainerID: s.id}
	for _, m := range rootfs {
		req.Rootfs = append(req.Rootfs, &types.Mount{Type: m.Type, Source: m.Source, Target: m.Target, Options: m.Options})
	}
	res, err := s.r.tasks.Create(ctx, req)
	if err != nil {
		return native(err)
	}
	s.pid = int(res.Pid)
	if s.init, err = proc.Of(s.pid); err != nil {
		return fmt.Errorf("its first process ended at once: %w", err)
	}
	if st, err := proc.ReadStat(s.pid); err == nil {
		s.shim, _ = proc.Of(st.Parent)
	}
	if _, err := s.r.tasks.Start(ctx, &tasks.StartRequest{ContainerID: s.id}); err != nil {
		return native(err)
	}
	go s.watch(context.WithoutCancel(ctx))
	s.disk.start()
	return nil
}

// watch waits for the end of the sandbox, however it comes. The call lasts as
// long as the sandbox; it ends with it, or with the connection to containerd.
func (s *Sandbox) watch(ctx context.Context) {
	defer close(s.dead)
	told := false
	for {
		res, err := s.r.tasks.Wait(ctx, &tasks.WaitRequest{ContainerID: s.id})
		if err == nil {
			s.endCode = int(res.ExitStatus)
			break
		}
		// The answer may be lost while the sandbox lives on: containerd was
		// restarted, or only its connection to the shim broke.
		if !s.init.Alive() {
			s.endCode = 128 + int(syscall.SIGKILL)
			break
		}
		if !told {
			s.r.cfg.Logger.Warn("wait for sandbox was interrupted", "sandbox_id", s.id, "error", err)
			told = true
		}
		time.Sleep(200 * time.Millisecond)
		if s.shim.Pid != 0 && !s.shim.Alive() {
			break
		}
	}
	// The shim outlives its sandbox, whatever ends that one.
	s.endLost = s.shim.Pid != 0 && !s.shim.Alive()
	s.mu.Lock()
	s.died = s.died || !s.ended
	s.mu.Unlock()
}

// state answers the question every call asks first: may it go ahead?
func (s *Sandbox) state() (died bool, err error) {
	select {
	case <-s.dead:
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ended {
			return false, fmt.Errorf("sandbox %s: %w", s.id, sandbox.ErrClosed)
		}
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return false, fmt.Errorf("sandbox %s: %w", s.id, sandbox.ErrClosed)
	case s.endLost:
		return false, fmt.Errorf("sandbox %s: its shim is gone: %w", s.id, sandbox.ErrLost)
	}
	return true, nil
}

// pipeDir is the folder of the pipes of one exec.
func (s *Sandbox) pipeDir(exec string) string { return filepath.Join(s.r.boxDir(s.id), exec) }
