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
	own    *localstack.Containerd
	open   []*containerd.Runtime
}

// OpenSandboxes connects to the private containerd.
func OpenSandboxes(ctx context.Context, cfg Config) (*Sandboxes, error) {
	st, err := localstack.Find(cfg.LocalStack(""))
	switch {
	case err == nil && st.Containerd != "":
		return &Sandboxes{Socket: st.Containerd, cfg: cfg}, nil
	case err == nil:
		return nil, errors.New("the local stack is just being started; try again in a few seconds")
	case !errors.Is(err, localstack.ErrNotRunning):
		return nil, err
	}
	cd, err := localstack.StartContainerd(ctx, localstack.ContainerdConfig{
		Dir: filepath.Join(cfg.Home, "containerd"), ToolsDir: cfg.ToolsDir, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	s := &Sandboxes{Socket: cd.Socket(), cfg: cfg}
	if !cd.Adopted() {
		s.own = cd
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
