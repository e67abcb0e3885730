// Package janitor removes sandboxes that nobody owns any more, and counts what
// is left of any on a machine.
//
// It owns the decision what is garbage. It knows sandboxes by the contract only
// (Sweep, Loop); Census looks at processes, mounts and containerd's records.
package janitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"harness/sandbox"
)

// Runtime is what a sweep needs of sandbox.Runtime.
type Runtime interface {
	List(ctx context.Context) ([]sandbox.Status, error)
	Remove(ctx context.Context, m sandbox.Match) (int, error)
}

// Options of Sweep and Loop. The zero value works.
type Options struct {
	// Grace protects sandboxes younger than this, so that one which is just being
	// made is never taken for garbage. Default 1 minute.
	Grace time.Duration
	// DryRun only reports.
	DryRun bool
	// Every is the pause between the sweeps of Loop. Default 1 minute.
	Every  time.Duration
	Logger *slog.Logger
	// Now is the clock; default time.Now.
	Now func() time.Time
}

func (o *Options) setDefaults() {
	if o.Grace <= 0 {
		o.Grace = time.Minute
	}
	if o.Every <= 0 {
		o.Every = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Reasons for a removal.
const (
	ReasonExpired = "lease expired"
	ReasonOrphan  = "owner is gone"
)

// Garbage is one sandbox that has to go.
type Garbage struct {
	sandbox.Status
	Reason  string
	Removed bool // false in a dry run, or when somebody renewed it meanwhile
}

// Sweep removes sandboxes whose lease has run out or whose owning process on
// this host is gone. It goes on after a failure and returns all of them.
func Sweep(ctx context.Context, rt Runtime, opts Options) ([]Garbage, error) {
	opts.setDefaults()
	all, err := rt.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("sweep sandboxes: %w", err)
	}
	var out []Garbage
	var errs []error
	now := opts.Now()
	for _, s := range all {
		g := Garbage{Status: s}
		// The condition is part of the removal: it is checked again there.
		m := sandbox.Match{ID: s.ID}
		switch {
		case now.Sub(s.CreatedAt) < opts.Grace:
			continue
		case s.Orphan:
			g.Reason, m.Orphan = ReasonOrphan, true
		case now.After(s.LeaseExpires):
			g.Reason, m.Expired = ReasonExpired, true
		default:
			continue
		}
		if !opts.DryRun {
			n, err := rt.Remove(ctx, m)
			if err != nil {
				errs = append(errs, err)
			}
			g.Removed = err == nil && n > 0
		}
		opts.Logger.Info("sandbox is garbage", "sandbox_id", s.ID, "trial", s.Trial, "reason", g.Reason, "removed", g.Removed, "dry_run", opts.DryRun)
		out = append(out, g)
	}
	if err := errors.Join(errs...); err != nil {
		return out, fmt.Errorf("sweep sandboxes: %w", err)
	}
	return out, nil
}

// Loop sweeps until ctx ends. Failures are logged and tried again.
func Loop(ctx context.Context, rt Runtime, opts Options) {
	opts.setDefaults()
	tick := time.NewTicker(opts.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := Sweep(ctx, rt, opts); err != nil && ctx.Err() == nil {
			opts.Logger.Warn("sweep failed", "error", err)
		}
	}
}
