package localstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// How long a lock without a living owner is looked at again.
const (
	ownerTries = 25
	ownerPause = 20 * time.Millisecond
)

// takeOwnership takes the owner's lock. Find holds it, too, for a moment, which is
// no reason to believe in an owner.
func takeOwnership(cfg Config) (f *os.File, err error) {
	for range ownerTries {
		f, err = ownerLock(cfg, unix.LOCK_EX)
		var running *RunningError
		if !errors.As(err, &running) || running.State.Owner.Alive() {
			break
		}
		time.Sleep(ownerPause)
	}
	return f, err
}

// ownerLock is held for as long as the owner lives; the kernel gives it back
// when it dies, so a stale pid file can't be believed.
func ownerLock(cfg Config, how int) (*os.File, error) {
	f, err := os.OpenFile(cfg.lockPath(), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the local stack: %w", err)
	}
	err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock the local stack: %w", err)
	}
	st, err := readState(cfg)
	if err != nil || !st.Owner.Alive() {
		st = State{} // the owner is just starting and has written none yet
	}
	return nil, &RunningError{State: st}
}

// Find returns the state of the stack whose owner lives, or ErrNotRunning.
func Find(cfg Config) (State, error) {
	if _, err := os.Stat(cfg.lockPath()); errors.Is(err, fs.ErrNotExist) {
		return State{}, ErrNotRunning
	}
	for n := 0; ; n++ {
		// Shared, so that two who look at once do not take each other for an owner.
		lock, err := ownerLock(cfg, unix.LOCK_SH)
		if err == nil {
			return State{}, errors.Join(ErrNotRunning, lock.Close())
		}
		var running *RunningError
		switch {
		case !errors.As(err, &running):
			return State{}, err
		case running.State.Owner.Pid != 0 || n == ownerTries:
			return running.State, nil
		}
		// It is just starting, or was killed: threads that are still dying keep the
		// lock a little longer than the process seems to live.
		time.Sleep(ownerPause)
	}
}

// Down asks the owner of the stack to end it, or ends what a killed owner left.
// It returns ErrNotRunning when there was nothing.
func Down(ctx context.Context, cfg Config) error {
	st, err := Find(cfg)
	if err == nil {
		return stopOwner(ctx, cfg, st)
	}
	if !errors.Is(err, ErrNotRunning) {
		return err
	}
	if !Left(cfg) {
		return ErrNotRunning
	}
	// A half-dead stack is taken over and then stopped in order: that is the one path
	// that knows how to leave nothing. Containerd has to run for it, Temporal not.
	cfg.ContainerdOnly, cfg.S3 = true, false
	s, err := Start(ctx, cfg)
	if err != nil {
		return fmt.Errorf("take over what a killed stack left: %w", err)
	}
	return s.Stop(ctx)
}

// Left reports whether a killed owner left parts of a stack. Ask it only when
// Find says ErrNotRunning.
func Left(cfg Config) bool {
	_, err := os.Stat(cfg.stateFile())
	return err == nil || len(leftDaemons(cfg)) > 0 || containerdRuns(cfg)
}

func containerdRuns(cfg Config) bool {
	_, err := FindDaemon(DaemonConfig{Name: "containerd", Path: "containerd", PidFile: containerdPidFile(cfg.containerdDir())})
	return err == nil
}

func stopOwner(ctx context.Context, cfg Config, st State) error {
	if st.Owner.Pid == 0 {
		return errors.New("the local stack is just being started by another process; try again")
	}
	if err := st.Owner.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the local stack: %w", err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		// It gives up the lock shortly before it ends.
		if _, err := Find(cfg); errors.Is(err, ErrNotRunning) && !st.Owner.Alive() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stop the local stack: process %d does not end: %w", st.Owner.Pid, ctx.Err())
		case <-tick.C:
		}
	}
}

// leftDaemons finds what a killed owner left running besides containerd, which
// StartContainerd takes over by itself.
func leftDaemons(cfg Config) []*Daemon {
	var out []*Daemon
	for _, dc := range []DaemonConfig{
		TemporalConfig{Dir: filepath.Join(cfg.dir(), "temporal"), ToolsDir: cfg.ToolsDir, Logger: cfg.Logger}.daemon(),
		S3Config{Dir: filepath.Join(cfg.dir(), "s3"), ToolsDir: cfg.ToolsDir, Logger: cfg.Logger}.daemon(),
	} {
		if d, err := FindDaemon(dc); err == nil {
			out = append(out, d)
		}
	}
	return out
}

func stopLeftDaemons(ctx context.Context, cfg Config) error {
	for _, d := range leftDaemons(cfg) {
		if err := d.Stop(ctx); err != nil {
			return fmt.Errorf("end what a killed stack left: %w", err)
		}
	}
	return nil
}

func readState(cfg Config) (State, error) {
	var st State
	b, err := os.ReadFile(cfg.stateFile())
	if err != nil {
		return st, fmt.Errorf("read the state of the local stack: %w", err)
	}
	if err := json.Unmarshal(b, &st); err != nil {
		return st, fmt.Errorf("read the state of the local stack: %s is damaged: %w", cfg.stateFile(), err)
	}
	return st, nil
}
