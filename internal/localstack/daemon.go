package localstack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"harness/internal/proc"
)

// DaemonConfig describes one child daemon. Name, Path and PidFile are required.
type DaemonConfig struct {
	Name    string   // for messages: "containerd"
	Path    string   // executable
	Args    []string // without the program name
	Env     []string // whole environment; nil means ours
	Dir     string   // working directory; "" means "/"
	LogFile string   // stdout and stderr are appended here; "" discards
	PidFile string   // where the process is recorded, for other processes to find and stop it

	// Ready is asked until it returns nil. Nil means ready once started.
	Ready        func(ctx context.Context) error
	ReadyTimeout time.Duration // default 20 s
	StopTimeout  time.Duration // from TERM to KILL, default 5 s
	Logger       *slog.Logger  // default discards
}

func (c *DaemonConfig) setDefaults() error {
	switch {
	case c.Name == "":
		return errors.New("daemon has no name")
	case c.Path == "":
		return fmt.Errorf("daemon %s has no executable", c.Name)
	case c.PidFile == "":
		return fmt.Errorf("daemon %s has no pid file", c.Name)
	}
	if c.ReadyTimeout <= 0 {
		c.ReadyTimeout = 20 * time.Second
	}
	if c.StopTimeout <= 0 {
		c.StopTimeout = 5 * time.Second
	}
	if c.Dir == "" {
		c.Dir = "/"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Daemon is a supervised process: started by us (StartDaemon) or found through
// its pid file (FindDaemon). It runs in a session of its own, so that Ctrl-C in
// a terminal reaches only the harness, which then stops its daemons in order.
type Daemon struct {
	cfg  DaemonConfig
	id   proc.ID
	done chan struct{} // closed when the process has ended; nil for a found one
	err  error         // how it ended; valid after done
}

// StartDaemon starts the process, records it in the pid file and waits until it
// is ready. On error the process is gone again, and the end of its log is part
// of the message.
func StartDaemon(ctx context.Context, cfg DaemonConfig) (*Daemon, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	out, err := openLog(cfg.LogFile)
	if err != nil {
		return nil, fmt.Errorf("start %s: open its log: %w", cfg.Name, err)
	}
	defer func() { _ = out.Close() }()

	// Not CommandContext: the daemon outlives the call that starts it.
	cmd := exec.Command(cfg.Path, cfg.Args...)
	cmd.Env, cmd.Dir = cfg.Env, cfg.Dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Name, err)
	}
	d := &Daemon{cfg: cfg, done: make(chan struct{})}
	d.id, err = proc.Of(cmd.Process.Pid)
	go func() {
		d.err = cmd.Wait()
		close(d.done)
	}()
	if err == nil {
		err = d.record()
	}
	if err == nil {
		err = d.awaitReady(ctx)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		<-d.done
		_ = os.Remove(cfg.PidFile)
		return nil, fmt.Errorf("start %s: %w%s", cfg.Name, err, logTail(cfg.LogFile))
	}
	cfg.Logger.Debug("daemon started", "daemon", cfg.Name, "pid", d.id.Pid)
	return d, nil
}

// FindDaemon returns the process that cfg.PidFile records if that very process
// still runs, and os.ErrNotExist otherwise.
func FindDaemon(cfg DaemonConfig) (*Daemon, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(cfg.PidFile)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", cfg.Name, err)
	}
	d := &Daemon{cfg: cfg}
	if err := json.Unmarshal(b, &d.id); err != nil {
		return nil, fmt.Errorf("find %s: %s is damaged (%w): %w", cfg.Name, cfg.PidFile, err, os.ErrNotExist)
	}
	if !d.id.Alive() {
		return nil, fmt.Errorf("find %s: process %d is gone: %w", cfg.Name, d.id.Pid, os.ErrNotExist)
	}
	return d, nil
}

// Pid of the process.
func (d *Daemon) Pid() int { return d.id.Pid }

// Alive reports whether the process still runs.
func (d *Daemon) Alive() bool { return d.id.Alive() }

// Done is closed when the process has ended. It is nil, and so blocks for ever,
// for a daemon that another process started.
func (d *Daemon) Done() <-chan struct{} { return d.done }

// Stop sends TERM, waits, then KILL, and removes the pid file. It is idempotent
// and works with a cancelled ctx: the time is bounded by StopTimeout.
func (d *Daemon) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.StopTimeout+5*time.Second)
	defer cancel()
	for _, step := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGTERM, d.cfg.StopTimeout}, {syscall.SIGKILL, 5 * time.Second}} {
		if err := d.id.Signal(step.sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop %s: %w", d.cfg.Name, err)
		}
		if d.awaitEnd(ctx, step.wait) {
			if err := os.Remove(d.cfg.PidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("stop %s: %w", d.cfg.Name, err)
			}
			return nil
		}
		d.cfg.Logger.Warn("daemon does not end", "daemon", d.cfg.Name, "pid", d.id.Pid, "signal", step.sig.String())
	}
	return fmt.Errorf("stop %s: process %d does not end even after SIGKILL; it may hang in the kernel", d.cfg.Name, d.id.Pid)
}

func (d *Daemon) awaitEnd(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		// A child of ours must also be reaped before its files can be called unused.
		if d.done == nil && !d.id.Alive() {
			return true
		}
		select {
		case <-d.done:
			return true
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

func (d *Daemon) awaitReady(ctx context.Context) error {
	if d.cfg.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.ReadyTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := d.cfg.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-d.done:
			return fmt.Errorf("it ended before it was ready: %w", cmp.Or(d.err, errors.New("exit status 0")))
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s: %w", d.cfg.ReadyTimeout, err)
		case <-tick.C:
		}
	}
}

// record writes the pid file whole or not at all: a reader never sees half of it.
func (d *Daemon) record() error {
	b, err := json.Marshal(d.id)
	if err != nil {
		return fmt.Errorf("record process: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(d.cfg.PidFile), 0o755); err != nil {
		return fmt.Errorf("record process: %w", err)
	}
	tmp := fmt.Sprintf("%s.%d", d.cfg.PidFile, os.Getpid())
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return fmt.Errorf("record process: %w", err)
	}
	if err := os.Rename(tmp, d.cfg.PidFile); err != nil {
		return fmt.Errorf("record process: %w", err)
	}
	return nil
}

func openLog(path string) (*os.File, error) {
	if path == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
}

// logTail returns the last lines of a log as the end of an error message.
func logTail(path string) string {
	if path == "" {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	const keep = 2048
	if st, err := f.Stat(); err == nil && st.Size() > keep {
		_, _ = f.Seek(-keep, io.SeekEnd)
	}
	b, _ := io.ReadAll(io.LimitReader(f, keep))
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) > 8 {
		lines = lines[len(lines)-8:]
	}
	if text := strings.Join(lines, "\n  "); text != "" {
		return fmt.Sprintf("\nthe end of %s:\n  %s", path, text)
	}
	return ""
}
