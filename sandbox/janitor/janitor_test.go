package janitor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"harness/sandbox"
	"harness/sandbox/janitor"
)

// table is a runtime of which only the list matters.
type table struct {
	list    []sandbox.Status
	removed []string
	fail    string
}

func (t *table) List(context.Context) ([]sandbox.Status, error) { return t.list, nil }

func (t *table) Remove(_ context.Context, m sandbox.Match) (int, error) {
	if m.ID == "" || m.Expired == m.Orphan {
		return 0, errors.New("removal is not bound to one sandbox and one condition")
	}
	if m.ID == t.fail {
		return 0, errors.New("wedged")
	}
	t.removed = append(t.removed, m.ID)
	return 1, nil
}

func someSandboxes(now time.Time) []sandbox.Status {
	old, soon, past := now.Add(-time.Hour), now.Add(time.Hour), now.Add(-time.Second)
	return []sandbox.Status{
		{ID: "alive", CreatedAt: old, LeaseExpires: soon},
		{ID: "expired", CreatedAt: old, LeaseExpires: past},
		{ID: "orphan", CreatedAt: old, LeaseExpires: soon, Orphan: true},
		{ID: "young-orphan", CreatedAt: now.Add(-time.Second), LeaseExpires: soon, Orphan: true},
		{ID: "remnant-of-unknown-age", Orphan: true},
	}
}

func TestSweep(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	garbage := []string{"expired", "orphan", "remnant-of-unknown-age"}
	for _, c := range []struct {
		name    string
		dry     bool
		fail    string
		removed []string
	}{
		{"real", false, "", garbage},
		{"dry run", true, "", nil},
		{"one that fails does not stop the others", false, "orphan", []string{"expired", "remnant-of-unknown-age"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rt := &table{list: someSandboxes(now), fail: c.fail}
			got, err := janitor.Sweep(t.Context(), rt, janitor.Options{DryRun: c.dry, Now: func() time.Time { return now }})
			if (err != nil) != (c.fail != "") {
				t.Errorf("error %v", err)
			}
			if !slices.Equal(rt.removed, c.removed) {
				t.Errorf("removed %v, want %v", rt.removed, c.removed)
			}
			var ids []string
			for _, g := range got {
				ids = append(ids, g.ID)
				if g.Removed != slices.Contains(c.removed, g.ID) || g.Reason == "" {
					t.Errorf("%s: %+v", g.ID, g)
				}
			}
			if !slices.Equal(ids, garbage) {
				t.Errorf("reported %v, want %v", ids, garbage)
			}
		})
	}
}

func TestLoopSweepsUntilCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &table{list: someSandboxes(time.Now())[1:2]}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); janitor.Loop(ctx, rt, janitor.Options{Every: time.Minute}) }()
		time.Sleep(150 * time.Second)
		cancel()
		<-done
		if len(rt.removed) != 2 {
			t.Errorf("%d sweeps in two and a half minutes, want 2", len(rt.removed))
		}
	})
}
