package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"harness/internal/proc"
	"harness/sandbox"
)

const (
	destroyTimeout = 60 * time.Second
	// taskDelete is how long a shim may take to clean up after a dead sandbox
	// before it is killed itself.
	taskDelete = 5 * time.Second
	killLimit  = 5 * time.Second
)

// kill ends everything inside from outside, without asking the shim: first
// process 1 (under gVisor: the sandbox's kernel), then whatever is in the
// cgroup. It returns when the sandbox is known to be dead.
func (s *Sandbox) kill(ctx context.Context) error {
	s.mu.Lock()
	if !s.ended && s.init.Ending() {
		s.died = true // before us; only the news has not come
	}
	s.ended = true
	s.mu.Unlock()
	if err := s.r.killHost(s.id, s.init); err != nil {
		return err
	}
	t := time.NewTimer(killLimit)
	defer t.Stop()
	select {
	case <-s.dead:
		return nil
	case <-t.C:
	}
	if s.init.Alive() {
		return fmt.Errorf("kill sandbox %s: process %d does not end after SIGKILL: %w", s.id, s.pid, sandbox.ErrUnhealthy)
	}
	return nil // dead; only the news has not come
}

func (r *Runtime) killHost(id string, init proc.ID) error {
	if init.Pid > 0 {
		if err := init.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill sandbox %s: %w", id, err)
		}
	}
	left, err := r.cgroups.Kill(r.group(id), killLimit)
	if err != nil {
		return fmt.Errorf("kill sandbox %s: %w", id, err)
	}
	if left > 0 {
		return fmt.Errorf("kill sandbox %s: %d processes do not end after SIGKILL: %w", id, left, sandbox.ErrUnhealthy)
	}
	return nil
}

// Kill implements sandbox.Sandbox.
func (s *Sandbox) Kill(ctx context.Context) error { return s.kill(ctx) }

// Renew implements sandbox.Sandbox.
func (s *Sandbox) Renew(ctx context.Context, lease time.Duration) error {
	if lease <= 0 {
		return fmt.Errorf("renew sandbox %s: lease %s: %w", s.id, lease, sandbox.ErrInvalidSpec)
	}
	if died, err := s.state(); err != nil || died {
		return errors.Join(err, fmt.Errorf("renew sandbox %s: it has ended: %w", s.id, sandbox.ErrClosed))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	expires := time.Now().Add(lease)
	if err := s.r.renew(ctx, s.id, s.leaseGen, expires); err != nil {
		return fmt.Errorf("renew sandbox %s: %w", s.id, err)
	}
	s.leaseGen++
	s.expires = expires
	return nil
}

func (r *Runtime) renew(ctx context.Context, id string, gen int, expires time.Time) error {
	ctx, cancel := r.call(ctx, callTimeout)
	defer cancel()
	c, err := r.client.ContainerService().Get(ctx, id)
	if err != nil {
		if lost(err) {
			return fmt.Errorf("%w: %w", sandbox.ErrLost, err)
		}
		return err
	}
	rec := readRecord(c.Labels)
	rec.expires = expires
	if err := r.createLease(ctx, rec, gen+1); err != nil {
		return err
	}
	next, old := leases.Lease{ID: leaseID(id, gen+1)}, leases.Lease{ID: leaseID(id, gen)}
	res := leases.Resource{ID: c.SnapshotKey, Type: "snapshots/" + c.Snapshotter}
	if err := r.client.LeasesService().AddResource(ctx, next, res); err != nil {
		return err
	}
	c.Labels = rec.labels()
	if _, err := r.client.ContainerService().Update(ctx, c, "labels"); err != nil {
		return err
	}
	if err := r.client.LeasesService().Delete(ctx, old); err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	return nil
}

// Close implements sandbox.Sandbox. Facts are read between the death of the
// sandbox and the removal of its cgroup.
func (s *Sandbox) Close(ctx context.Context) (sandbox.Final, error) {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.final != nil {
		return *s.final, nil
	}
	ctx, cancel := s.r.cleanup(ctx, destroyTimeout)
	defer cancel()
	s.disk.sample()
	if err := s.kill(ctx); err != nil {
		s.r.cfg.Logger.Error("sandbox does not die", "sandbox_id", s.id, "error", err)
	}
	final := s.facts()
	s.final = &final
	waitAtMost(s.running.Wait, killLimit)
	err := s.r.destroy(ctx, s.id, s.pid)
	for try := 0; try < 3 && lostConnection(err); try++ { // containerd is being restarted
		time.Sleep(2 * time.Second)
		err = s.r.destroy(ctx, s.id, s.pid)
	}
	if err != nil {
		s.r.cfg.Logger.Error("sandbox is not wholly removed", "sandbox_id", s.id, "error", err)
		return final, fmt.Errorf("close sandbox %s: %w: %w", s.id, sandbox.ErrUnhealthy, err)
	}
	return final, nil
}

// waitAtMost: what f still waits for falls with the sandbox's shim later on.
func waitAtMost(f func(), limit time.Duration) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// destroy removes whatever exists of a sandbox, in the reverse order of its
// making: processes, task, container, mounts and scratch folder, snapshot,
// cgroup, and last the lease, by which the next attempt finds what is left
// should this one not finish. Each step copes with the absence of its object.
func (r *Runtime) destroy(ctx context.Context, id string, pid int) error {
	if err := sandbox.ValidID(id); err != nil {
		return err
	}
	var errs []error
	try := func(step string, err error) {
		if err != nil && !errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("%s: %w", step, err))
		}
	}
	try("task", r.deleteTask(ctx, id, pid))
	c, cerr := r.client.ContainerService().Get(ctx, id)
	if cerr == nil {
		try("container", r.client.ContainerService().Delete(ctx, id))
	}
	try("scratch folder", r.removeScratch(id))
	key, snaps := id, r.snaps
	if cerr == nil && c.Snapshotter != "" && c.SnapshotKey != "" {
		key, snaps = c.SnapshotKey, r.client.SnapshotService(c.Snapshotter)
	}
	try("snapshot", snaps.Remove(ctx, key))
	try("cgroup", r.removeGroup(id))
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return r.deleteLeases(ctx, id)
}

// deleteTask kills the sandbox, lets its shim clean up, and kills the shim when
// it does not.
func (r *Runtime) deleteTask(ctx context.Context, id string, pid int) error {
	get, cancel := context.WithTimeout(ctx, killLimit) // a wedged shim does not answer
	res, err := r.tasks.Get(get, &tasks.GetRequest{ContainerID: id})
	cancel()
	known := err == nil || lostConnection(native(err))
	if err = native(err); err != nil && !errdefs.IsNotFound(err) && !lostConnection(err) {
		return err
	}
	if pid == 0 && res.GetProcess() != nil {
		pid = int(res.Process.Pid)
	}
	if pid > 0 {
		if p, err := proc.Of(pid); err == nil && r.inGroup(id, pid) {
			if err := r.killHost(id, p); err != nil {
				return err
			}
		}
	}
	if err := r.killHost(id, proc.ID{}); err != nil {
		return err
	}
	if known {
		err := r.askShimToDelete(ctx, id)
		if err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		if errdefs.IsUnavailable(err) {
			return err // containerd is down, which says nothing of the shim
		}
		r.cfg.Logger.Warn("shim does not clean up, killing it", "sandbox_id", id, "error", err)
	}
	if !r.killShim(id) && !known {
		return nil
	}
	// containerd notices, runs the shim's own clean-up command and forgets the task.
	deadline := time.Now().Add(taskDelete)
	for {
		err := r.askShimToDelete(ctx, id)
		if err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		if time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (r *Runtime) askShimToDelete(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, taskDelete)
	defer cancel()
	patience := time.Now().Add(3 * time.Second)
	for {
		_, err := r.tasks.Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: id})
		err = native(err)
		if err == nil || errdefs.IsNotFound(err) || lostConnection(err) || ctx.Err() != nil {
			return err
		}
		// The shim may not yet have seen that its processes are dead. Its words for
		// it have no error code of their own, so everything is tried again for a while.
		if time.Now().After(patience) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// inGroup guards against a pid that was reused since containerd recorded it.
func (r *Runtime) inGroup(id string, pid int) bool {
	pids, err := r.cgroups.Procs(r.group(id))
	return err == nil && slices.Contains(pids, pid)
}

// killShim ends the shim of a sandbox with all its children.
func (r *Runtime) killShim(id string) (found bool) {
	all, err := proc.All()
	if err != nil {
		return false
	}
	for _, st := range all {
		if !strings.HasPrefix(st.Comm, "containerd-shim") || !hasArg(st.Pid, "-id", id) || !hasArg(st.Pid, "-address", r.cfg.Socket) {
			continue
		}
		found = true
		for _, p := range append(proc.Descendants(all, st.Pid), st) {
			_ = proc.ID{Pid: p.Pid, Start: p.Start, Boot: proc.Boot()}.Signal(syscall.SIGKILL)
		}
	}
	return found
}

func hasArg(pid int, flag, value string) bool {
	args := proc.Cmdline(pid)
	for i := 1; i+1 < len(args); i++ {
		if args[i] == flag && args[i+1] == value {
			return true
		}
	}
	return false
}

// removeScratch unmounts and deletes the sandbox's folder, and what the OCI
// runtime left of its own state.
func (r *Runtime) removeScratch(id string) error {
	if err := r.unmountBundle(id); err != nil {
		return err
	}
	dir := r.boxDir(id)
	for _, m := range []string{"root", "disk"} {
		if err := mount.UnmountAll(filepath.Join(dir, m), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	state := filepath.Join(r.cfg.StateDir, "oci", r.cfg.Namespace)
	ents, err := os.ReadDir(state)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range ents {
		if belongsTo(e.Name(), id) {
			if err := os.RemoveAll(filepath.Join(state, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// unmountBundle detaches the root file system that the shim mounted in its bundle.
// Usually that is gone by now; a shim that was killed leaves it to containerd,
// which forgets the task whether or not that worked.
func (r *Runtime) unmountBundle(id string) error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	state := filepath.Dir(r.cfg.Socket) + "/"
	bundle := "/io.containerd.runtime.v2.task/" + r.cfg.Namespace + "/" + id + "/"
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 5 || !strings.HasPrefix(f[4], state) || !strings.Contains(f[4], bundle) {
			continue
		}
		if err := unix.Unmount(f[4], unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("unmount %s: %w", f[4], err)
		}
	}
	return nil
}

// belongsTo knows how runc (a folder) and runsc (id_sandbox:id.state, .lock,
// runsc-id.sock) name the state of a container.
func belongsTo(name, id string) bool {
	return name == id || strings.HasPrefix(name, id+"_sandbox:") || name == "runsc-"+id+".sock"
}

func (r *Runtime) removeGroup(id string) error {
	return r.cgroups.Remove(r.group(id), 2*time.Second)
}

func (r *Runtime) deleteLeases(ctx context.Context, id string) error {
	all, err := r.client.LeasesService().List(ctx)
	if err != nil {
		return fmt.Errorf("list leases: %w", err)
	}
	for _, l := range all {
		if l.Labels[labelID] != id {
			continue
		}
		if err := r.client.LeasesService().Delete(ctx, l); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("lease %s: %w", l.ID, err)
		}
	}
	return nil
}

func withLease(ctx context.Context, id string) context.Context { return leases.WithLease(ctx, id) }
