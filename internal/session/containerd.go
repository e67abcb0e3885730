package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"harness/internal/localstack"
	"harness/sandbox"
	"harness/sandbox/containerd"
	"harness/sandbox/image"
	"harness/worker"
)

// Sandboxes is a connection to this machine's private containerd: the running
// stack's, or one that is started for the purpose and ends with Close.
type Sandboxes struct {
	Socket string
	cfg    Config
	own    *localstack.Stack
	open   []*containerd.Runtime
}

// Use says how long a command needs the private containerd.
type Use int

const (
	// Glance takes the containerd of whoever has one now.
	Glance Use = iota
	// Work takes that of a stack that stays, else waits for one of its own.
	Work
)

// OpenSandboxes connects to the private containerd.
func OpenSandboxes(ctx context.Context, cfg Config, use Use) (*Sandboxes, error) {
	s := &Sandboxes{cfg: cfg}
	fits := func(st localstack.State) bool {
		return st.Containerd != "" && (use == Glance || st.Mode == localstack.ModeUp)
	}
	join := func(st localstack.State) error {
		s.Socket = st.Containerd
		return nil
	}
	start := func() (err error) {
		own := cfg.LocalStack(localstack.ModeSandboxes)
		own.ContainerdOnly = true
		if s.own, err = localstack.Start(ctx, own); err == nil {
			s.Socket = s.own.State().Containerd
		}
		return err
	}
	if err := turn(ctx, cfg, fits, join, start); err != nil {
		return nil, err
	}
	return s, nil
}

// Runtime opens a handler.
func (s *Sandboxes) Runtime(ctx context.Context, handler string) (*containerd.Runtime, error) {
	rt, err := worker.OpenRuntime(ctx, worker.Config{
		Home: s.cfg.Home, ToolsDir: s.cfg.ToolsDir, Containerd: s.Socket, Logger: s.cfg.Logger,
	}, handler)
	if err == nil {
		s.open = append(s.open, rt)
	}
	return rt, err
}

// Builder builds images with steps run under the handler.
func (s *Sandboxes) Builder(ctx context.Context, handler string, getenv func(string) string) (*image.Builder, error) {
	rt, err := s.Runtime(ctx, handler)
	if err != nil {
		return nil, err
	}
	return &image.Builder{
		Runtime: rt, Store: image.NewStore(rt.Client()),
		CacheDir: filepath.Join(s.cfg.Home, "cache", "images"),
		Fetcher:  image.NewPyPI(filepath.Join(s.cfg.Home, "cache", "files"), getenv),
		Log:      s.cfg.Logger,
	}, nil
}

// Close ends what was opened, and the containerd if it was started for this. It
// works with a cancelled ctx.
func (s *Sandboxes) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, rt := range s.open {
		if s.own != nil {
			_, err := rt.Remove(ctx, sandbox.Match{})
			errs = append(errs, err)
		}
		errs = append(errs, rt.CloseClient())
	}
	if s.own != nil {
		errs = append(errs, s.own.Stop(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close sandboxes: %w", err)
	}
	return nil
}
