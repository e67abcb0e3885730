// Package containerd runs sandboxes on containerd: gVisor (runsc), runc, or any
// other runtime that the daemon knows by name.
//
// It owns the OCI spec, process streams, deadlines, the facts that the host
// sees, and the clean-up after any crash. Everything of a sandbox is found by
// its id: lease, container, task, snapshot, cgroup, scratch folder. It knows
// nothing of patches, tests or datasets.
package containerd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sync/singleflight"

	"harness/internal/proc"
	"harness/sandbox"
	"harness/sandbox/cgroup"
	"harness/sandbox/janitor"
)

// Namespace is the containerd namespace of the harness's images and sandboxes.
const Namespace = "harness"

const (
	defaultLease = 10 * time.Minute
	// callTimeout bounds a call that starts no process.
	callTimeout = 15 * time.Second
)

// Config says which containerd to use and how. Socket, ToolsDir and StateDir are
// required.
type Config struct {
	Socket    string
	Namespace string // default Namespace
	ToolsDir  string // bin/runsc is the pinned gVisor
	// StateDir holds pipes, wrappers and scratch files. It belongs to the stack of
	// Socket: processes that share the one share the other.
	StateDir    string
	Handler     string // "runsc" (default), "runc", or a containerd runtime name
	Snapshotter string // default "overlayfs"
	Worker      string // recorded on each sandbox
	Logger      *slog.Logger
}

func (c *Config) setDefaults() error {
	switch {
	case c.Socket == "":
		return errors.New("open sandbox runtime: no containerd socket is given")
	case c.StateDir == "":
		return errors.New("open sandbox runtime: no state folder is given")
	}
	if c.Namespace == "" {
		c.Namespace = Namespace
	}
	if c.Handler == "" {
		c.Handler = "runsc"
	}
	if c.Snapshotter == "" {
		c.Snapshotter = "overlayfs"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	c.StateDir, err = filepath.Abs(c.StateDir)
	return err
}

// Runtime makes sandboxes with one handler. It is safe for concurrent use.
type Runtime struct {
	cfg       Config
	handler   handler
	client    *client.Client
	tasks     tasks.TasksClient
	snaps     snapshots.Snapshotter
	cgroups   *cgroup.Hierarchy
	parent    string // cgroup above all sandboxes of the stack
	swapLimit bool   // the kernel can bound memory plus swap
	self      proc.ID

	closing    chan struct{} // closed by CloseClient
	closeOnce  sync.Once
	background sync.WaitGroup // work that outlives the call that began it

	unpacking singleflight.Group
	images    sync.Map // digest -> *image, for those that are known to be unpacked
}

var _ sandbox.Runtime = (*Runtime)(nil)

// Open connects to containerd and checks that it answers. Sandboxes of earlier
// processes are not touched: see Remove and package janitor.
func Open(ctx context.Context, cfg Config) (*Runtime, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	h, err := newHandler(cfg)
	if err != nil {
		return nil, err
	}
	cg, err := cgroup.Open("")
	if err != nil {
		return nil, err
	}
	for _, d := range []string{"boxes", "bin", "oci"} {
		if err := os.MkdirAll(filepath.Join(cfg.StateDir, d), 0o711); err != nil {
			return nil, fmt.Errorf("open sandbox runtime: %w", err)
		}
	}
	cl, err := client.New(cfg.Socket, client.WithDefaultNamespace(cfg.Namespace), client.WithTimeout(10*time.Second))
	if err != nil {
		return nil, fmt.Errorf("open sandbox runtime: connect to containerd at %s: %w: %w", cfg.Socket, sandbox.ErrUnhealthy, err)
	}
	r := &Runtime{
		cfg: cfg, handler: h, client: cl,
		tasks: cl.TaskService(), snaps: cl.SnapshotService(cfg.Snapshotter),
		cgroups: cg, parent: cgroup.StackPath(cfg.Socket), swapLimit: canLimitSwap(cg),
		self: proc.Self(), closing: make(chan struct{}),
	}
	ctx, cancel := r.call(ctx, callTimeout)
	defer cancel()
	if _, err := cl.Version(ctx); err != nil {
		_ = r.CloseClient()
		return nil, fmt.Errorf("open sandbox runtime: containerd at %s does not answer: %w: %w", cfg.Socket, sandbox.ErrUnhealthy, err)
	}
	return r, nil
}

// CloseClient ends the connection to containerd. Sandboxes stay as they are.
func (r *Runtime) CloseClient() error {
	r.closeOnce.Do(func() { close(r.closing) })
	waitAtMost(r.background.Wait, callTimeout)
	return r.client.Close()
}

// Client is the connection to containerd, for the image store. Its default
// namespace is the runtime's.
func (r *Runtime) Client() *client.Client { return r.client }

// Info implements sandbox.Runtime.
func (r *Runtime) Info(context.Context) (sandbox.Info, error) {
	return sandbox.Info{Name: r.handler.name, Version: r.handler.version, Capabilities: r.handler.caps}, nil
}

// call bounds one call and names the namespace.
func (r *Runtime) call(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(namespaces.WithNamespace(ctx, r.cfg.Namespace), limit)
}

// cleanup is call for work that has to be done even if ctx is cancelled.
func (r *Runtime) cleanup(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return r.call(context.WithoutCancel(ctx), limit)
}

func (r *Runtime) group(id string) string  { return path.Join(r.parent, id) }
func (r *Runtime) boxDir(id string) string { return filepath.Join(r.cfg.StateDir, "boxes", id) }

// lost tells whether an error of containerd means that it, or the shim, is gone
// or does not answer.
func lost(err error) bool {
	return errdefs.IsUnavailable(err) || errdefs.IsNotFound(err) || errors.Is(err, context.DeadlineExceeded) || errdefs.IsDeadlineExceeded(err)
}

// over reports whether an error came because ctx ended. The server may notice a
// deadline an instant before ctx itself does.
func over(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	if at, ok := ctx.Deadline(); ok && time.Until(at) < 100*time.Millisecond && lostConnection(err) {
		<-ctx.Done()
		return true
	}
	return false
}

func native(err error) error { return errgrpc.ToNative(err) }

// canLimitSwap: v1 kernels without swap accounting refuse the setting.
func canLimitSwap(h *cgroup.Hierarchy) bool {
	if h.Version() == 2 {
		return true
	}
	_, err := os.Stat("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes")
	return err == nil
}

// Stack says where sandboxes of this containerd leave traces, for the census.
func (r *Runtime) Stack() janitor.Stack {
	return janitor.Stack{
		Client: r.client, Socket: r.cfg.Socket, Namespace: r.cfg.Namespace, Snapshotter: r.cfg.Snapshotter,
		StateDir: r.cfg.StateDir, Cgroups: r.cgroups, CgroupDir: r.parent, IDLabel: labelID,
	}
}
