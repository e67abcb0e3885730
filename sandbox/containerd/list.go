package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"

	"harness/sandbox"
)

// found is a sandbox as its remains tell of it.
type found struct {
	record
	state string
	pid   int
}

// survey gathers every sandbox of the stack from all that may be left of one:
// leases, containers, tasks, scratch folders and cgroups, whichever process and
// handler made it. Leases are listed last: they are made first and deleted last,
// so what has none by then is a remnant, not one that is just being made.
func (r *Runtime) survey(ctx context.Context) (map[string]*found, error) {
	all := map[string]*found{}
	at := func(id string) *found {
		if all[id] == nil {
			all[id] = &found{record: record{id: id}, state: "partial"}
		}
		return all[id]
	}
	fail := func(what string, err error) error {
		return fmt.Errorf("list sandboxes: %s: %w: %w", what, sandbox.ErrUnhealthy, err)
	}

	dirs, err := os.ReadDir(filepath.Join(r.cfg.StateDir, "boxes"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fail("scratch folders", err)
	}
	for _, d := range dirs {
		if st, err := d.Info(); err == nil && sandbox.ValidID(d.Name()) == nil {
			at(d.Name()).created = st.ModTime()
		}
	}
	groups, err := r.cgroups.Children(r.parent)
	if err != nil {
		return nil, fail("cgroups", err)
	}
	for _, g := range groups {
		if sandbox.ValidID(g) == nil {
			at(g)
		}
	}
	ts, err := r.tasks.List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		return nil, fail("tasks", native(err))
	}
	cs, err := r.client.ContainerService().List(ctx)
	if err != nil {
		return nil, fail("containers", err)
	}
	ours := map[string]record{}
	for _, c := range cs {
		if c.Labels[labelID] == c.ID && sandbox.ValidID(c.ID) == nil {
			ours[c.ID] = readRecord(c.Labels)
			at(c.ID).state = "stopped"
		}
	}
	for _, t := range ts.Tasks {
		// A task whose container is not ours is someone else's, unless other
		// remains carry its name.
		if f := all[t.ID]; f != nil {
			f.state, f.pid = strings.ToLower(t.Status.String()), int(t.Pid)
		}
	}
	ls, err := r.client.LeasesService().List(ctx)
	if err != nil {
		return nil, fail("leases", err)
	}
	for _, l := range ls {
		if id := l.Labels[labelID]; id != "" && sandbox.ValidID(id) == nil {
			if rec := readRecord(l.Labels); at(id).expires.Before(rec.expires) {
				all[id].record = rec
			}
		}
	}
	for id, rec := range ours { // what Renew wrote there is the authority
		all[id].record = rec
	}
	return all, nil
}

// List implements sandbox.Runtime.
func (r *Runtime) List(ctx context.Context) ([]sandbox.Status, error) {
	ctx, cancel := r.call(ctx, callTimeout)
	defer cancel()
	all, err := r.survey(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]sandbox.Status, 0, len(all))
	for _, f := range all {
		out = append(out, sandbox.Status{
			ID: f.id, Owner: f.owner, Trial: f.trial, ImageDigest: f.image, State: f.state,
			CreatedAt: f.created, LeaseExpires: f.expires, Pid: f.pid, OwnerPid: f.process.Pid, Orphan: f.orphan(),
		})
	}
	slices.SortFunc(out, func(a, b sandbox.Status) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// Remove implements sandbox.Runtime.
func (r *Runtime) Remove(ctx context.Context, m sandbox.Match) (int, error) {
	ctx, cancel := r.call(ctx, 10*time.Minute)
	defer cancel()
	all, err := r.survey(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	n, now := 0, time.Now()
	for _, f := range all {
		if !f.matches(m, now) {
			continue
		}
		one, cancel := context.WithTimeout(ctx, destroyTimeout)
		err := r.destroy(one, f.id, 0)
		cancel()
		if err != nil {
			errs = append(errs, fmt.Errorf("remove sandbox %s: %w", f.id, err))
			continue
		}
		n++
	}
	return n, errors.Join(errs...)
}
