package localstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"golang.org/x/sys/unix"

	"harness/internal/proc"
	"harness/sandbox/cgroup"
)

// ContainerdConfig says where a private containerd lives.
type ContainerdConfig struct {
	// Dir holds everything of it: configuration, content, snapshots, log.
	Dir string
	// ToolsDir has the pinned binaries in bin/: containerd and its shims. They are
	// found there and nowhere else: a newer shim on the system's PATH would break
	// other container engines of the machine.
	ToolsDir     string
	ReadyTimeout time.Duration // default 20 s
	Logger       *slog.Logger  // default discards
}

// Containerd is a private containerd: own root, state, sockets and shims, so
// that nothing of the machine's own container engines is touched.
type Containerd struct {
	cfg     ContainerdConfig
	run     string // sockets and bundles
	daemon  *Daemon
	adopted bool
}

// StartContainerd starts the private containerd of cfg.Dir, or takes over the
// one that runs there already. What a killed one left is dealt with: sockets
// are replaced, and shims that still live are found again by containerd itself.
func StartContainerd(ctx context.Context, cfg ContainerdConfig) (*Containerd, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, fmt.Errorf("start containerd: %w", err)
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("start containerd: sandboxes need root; run as root (sudo)")
	}
	bin := filepath.Join(cfg.ToolsDir, "bin", "containerd")
	if _, err := os.Stat(bin); err != nil {
		return nil, fmt.Errorf("start containerd: %w; run deploy/setup.sh to install the pinned tools", err)
	}
	c := &Containerd{cfg: cfg, run: runDir(cfg.Dir)}
	for _, d := range []string{cfg.Dir, c.run, c.shimSockets()} {
		if err := os.MkdirAll(d, 0o711); err != nil {
			return nil, fmt.Errorf("start containerd: %w", err)
		}
	}
	unlock, err := lockFile(ctx, filepath.Join(cfg.Dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("start containerd: %w", err)
	}
	defer unlock()

	dc := c.daemonConfig(bin)
	if d, err := FindDaemon(dc); err == nil {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if err := dc.Ready(ctx); err == nil {
			c.daemon, c.adopted = d, true
			return c, nil
		}
		// It lives but does not answer: replace it.
		if err := d.Stop(ctx); err != nil {
			return nil, err
		}
	}
	for _, s := range []string{c.Socket(), c.Socket() + ".ttrpc"} {
		if err := os.Remove(s); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("start containerd: remove stale socket: %w", err)
		}
	}
	if err := os.WriteFile(c.configFile(), []byte(c.configTOML()), 0o644); err != nil {
		return nil, fmt.Errorf("start containerd: %w", err)
	}
	if c.daemon, err = StartDaemon(ctx, dc); err != nil {
		return nil, err
	}
	return c, nil
}

// Socket is the address to connect to.
func (c *Containerd) Socket() string { return filepath.Join(c.run, "containerd.sock") }

// Pid of the daemon.
func (c *Containerd) Pid() int { return c.daemon.Pid() }

// Alive reports whether the daemon still runs.
func (c *Containerd) Alive() bool { return c.daemon.Alive() }

// Done is closed when the daemon has ended; nil when it was adopted.
func (c *Containerd) Done() <-chan struct{} { return c.daemon.Done() }

// Adopted reports whether the daemon had been started by another process.
func (c *Containerd) Adopted() bool { return c.adopted }

// Stop ends containerd and then all that lives on without it: shims, sandboxes
// and their mounts. Images stay in Dir. It is idempotent.
func (c *Containerd) Stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	err := c.daemon.Stop(ctx)
	// In this order: the daemon first, or it would see its shims die and start
	// more processes to clean up after them.
	err = errors.Join(err, killShims(c.Socket()), unmountBelow(c.run), unmountBelow(c.cfg.Dir))
	if err != nil {
		return fmt.Errorf("stop containerd: %w", err)
	}
	if err := os.RemoveAll(c.run); err != nil {
		return fmt.Errorf("stop containerd: %w", err)
	}
	if cg, err := cgroup.Open(""); err == nil {
		// Empty now; without it, runs would pile up in the kernel.
		if err := cg.Remove(cgroup.StackPath(c.Socket()), 2*time.Second); err != nil {
			return fmt.Errorf("stop containerd: %w", err)
		}
	}
	return nil
}

func (c *Containerd) configFile() string  { return filepath.Join(c.cfg.Dir, "config.toml") }
func (c *Containerd) shimSockets() string { return filepath.Join(c.run, "s") }

func containerdPidFile(dir string) string { return filepath.Join(dir, "containerd.pid") }

func (c *Containerd) daemonConfig(bin string) DaemonConfig {
	return DaemonConfig{
		Name:    "containerd",
		Path:    bin,
		Args:    []string{"--config", c.configFile()},
		Env:     append(withoutPath(os.Environ()), "PATH="+filepath.Join(c.cfg.ToolsDir, "bin")+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
		LogFile: filepath.Join(c.cfg.Dir, "containerd.log"),
		PidFile: containerdPidFile(c.cfg.Dir),
		Ready: func(ctx context.Context) error {
			return pingContainerd(ctx, c.Socket())
		},
		ReadyTimeout: c.cfg.ReadyTimeout,
		Logger:       c.cfg.Logger,
	}
}

// configTOML leaves out all that a harness does not use: Kubernetes, remote
// listeners, image verifiers, restart monitors, other snapshotters.
func (c *Containerd) configTOML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "version = 3\nroot = %q\nstate = %q\noom_score = 0\nimports = []\ndisabled_plugins = [\n",
		filepath.Join(c.cfg.Dir, "root"), filepath.Join(c.run, "state"))
	for _, p := range []string{
		"io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri",
		"io.containerd.nri.v1.nri", "io.containerd.image-verifier.v1.bindir", "io.containerd.tracing.processor.v1.otlp",
		"io.containerd.internal.v1.tracing", "io.containerd.monitor.container.v1.restart", "io.containerd.internal.v1.restart",
		"io.containerd.internal.v1.opt", "io.containerd.podsandbox.controller.v1.podsandbox",
		"io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
		"io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.zfs",
		"io.containerd.differ.v1.erofs", "io.containerd.mount-handler.v1.erofs",
	} {
		fmt.Fprintf(&b, "  %q,\n", p)
	}
	fmt.Fprintf(&b, "]\n\n[grpc]\n  address = %q\n\n[ttrpc]\n  address = %q\n\n[plugins.'io.containerd.shim.v1.manager']\n  socket_dir = %q\n",
		c.Socket(), c.Socket()+".ttrpc", c.shimSockets())
	return b.String()
}

// runDir is where sockets and bundles live: in dir/run when the longest socket
// path (a shim's, 64 hex digits) fits into a socket address, else in a short
// folder derived from dir.
func runDir(dir string) string {
	const maxSun = 107 // sun_path without its closing NUL
	run := filepath.Join(dir, "run")
	if len(run)+len("/s/")+64 <= maxSun {
		return run
	}
	sum := sha256.Sum256([]byte(dir))
	return "/run/harness/" + hex.EncodeToString(sum[:6])
}

func pingContainerd(ctx context.Context, socket string) error {
	// The bare dial fails at once where the client library would back off.
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	_ = conn.Close()
	cl, err := containerd.New(socket, containerd.WithTimeout(5*time.Second))
	if err != nil {
		return err
	}
	defer func() { _ = cl.Close() }()
	ok, err := cl.IsServing(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("containerd is not serving yet")
	}
	return nil
}

// killShims ends the shims that were started for the containerd at address, and
// all below them. The sandboxes go first: a shim that dies first hands its
// children to init, where nobody would find them.
func killShims(address string) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		shims := shimsOf(address)
		if len(shims) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d shims of %s do not end", len(shims), address)
		}
		all, err := proc.All()
		if err != nil {
			return err
		}
		for _, shim := range shims {
			below := proc.Descendants(all, shim.Pid)
			for _, s := range append(below, shim) {
				_ = proc.ID{Pid: s.Pid, Start: s.Start, Boot: proc.Boot()}.Signal(syscall.SIGKILL)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// shimsOf lists living processes that carry "-address <address>" and are called like a shim.
func shimsOf(address string) []proc.Stat {
	all, err := proc.All()
	if err != nil {
		return nil
	}
	var out []proc.Stat
	for _, s := range all {
		if s.State == 'Z' || !strings.HasPrefix(s.Comm, "containerd-shim") {
			continue
		}
		args := proc.Cmdline(s.Pid)
		for i := 1; i+1 < len(args); i++ {
			if args[i] == "-address" && args[i+1] == address {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// unmountBelow detaches every mount at or below dir, deepest first.
func unmountBelow(dir string) error {
	var errs []error
	mounts, err := mountPoints()
	if err != nil {
		return err
	}
	for i := len(mounts) - 1; i >= 0; i-- {
		m := mounts[i]
		if m != dir && !strings.HasPrefix(m, dir+"/") {
			continue
		}
		if err := unix.Unmount(m, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", m, err))
		}
	}
	return errors.Join(errs...)
}

// mountPoints lists our mounts in the order they were made.
func mountPoints() ([]string, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	var out []string
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 {
			out = append(out, unescape.Replace(f[4]))
		}
	}
	return out, nil
}

func withoutPath(env []string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		if !strings.HasPrefix(kv, "PATH=") && !strings.HasPrefix(kv, "NOTIFY_SOCKET=") {
			out = append(out, kv)
		}
	}
	return out
}

// lockFile takes an exclusive lock, so that two processes never start the same
// daemon at once. The lock goes with the process that holds it.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: another process is starting or stopping it: %w", path, ctx.Err())
		case <-tick.C:
		}
	}
}
