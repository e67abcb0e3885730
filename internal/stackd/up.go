package stackd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"harness/internal/buildinfo"
	"harness/internal/localstack"
	"harness/internal/runs"
	"harness/internal/session"
	"harness/internal/temporalx"
)

const (
	upTimeout   = 2 * time.Minute
	downTimeout = time.Minute
)

// Up starts the stack as a process of its own and waits until its worker polls.
// *localstack.RunningError says that it is up already; one of another version on
// which no run goes on is replaced.
func Up(ctx context.Context, o Options) (localstack.State, error) {
	cfg := o.Session.LocalStack(localstack.ModeUp)
	st, err := localstack.Find(cfg)
	if err == nil && st.Owner.Pid == 0 {
		// A process is just starting one; it says soon which.
		if st, err = settled(ctx, cfg); err != nil {
			return st, err
		}
	}
	switch {
	case errors.Is(err, localstack.ErrNotRunning):
		if localstack.Left(cfg) {
			o.Session.Note("a former stack was killed; taking over what it left")
		}
		return o.spawn(ctx, cfg)
	case err != nil:
		return st, err
	case st.Mode != localstack.ModeUp:
		return st, fmt.Errorf("process %d has this machine's sandboxes to itself (%s); run `harness up` when it has ended", st.Owner.Pid, st.Mode)
	}
	if st, err = waitReady(ctx, cfg, nil); err != nil {
		return st, err
	}
	if err := o.checkRunning(st); err != nil {
		return st, err
	}
	if st.Version == buildinfo.Version() {
		return st, &localstack.RunningError{State: st}
	}
	busy, err := activeRuns(ctx, o.Session, st)
	if err != nil || len(busy) > 0 {
		o.Session.Note(fmt.Sprintf("note: the stack that is up is of version %s, this command of %s; it is busy with %d runs and stays as it is", st.Version, buildinfo.Version(), len(busy)))
		return st, &localstack.RunningError{State: st}
	}
	o.Session.Note(fmt.Sprintf("the stack that is up is of version %s; replacing it by one of %s", st.Version, buildinfo.Version()))
	if err := Down(ctx, o.Session); err != nil {
		return st, err
	}
	return o.spawn(ctx, cfg)
}

// checkRunning compares what is asked for with a stack that is up.
func (o Options) checkRunning(st localstack.State) error {
	for _, want := range []struct {
		differs bool
		what    string
	}{
		{o.S3 && st.S3Endpoint == "", "has no S3 server"},
		{o.Session.Store != "" && !o.Session.SameStore(st.Store), "keeps its artifacts in " + st.Store},
		{o.Slots > 0 && o.Slots != st.Slots, fmt.Sprintf("has %d slots", st.Slots)},
	} {
		if want.differs {
			return &session.MismatchError{Reason: fmt.Sprintf("the local stack that is up %s; `harness down` first, or leave out the flag", want.what)}
		}
	}
	return nil
}

func activeRuns(ctx context.Context, cfg session.Config, st localstack.State) ([]string, error) {
	c, err := temporalx.Dial(ctx, st.Temporal, "", "", cfg.Logger)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return runs.Active(ctx, c)
}

// spawn starts `harness up --foreground` in the background.
func (o Options) spawn(ctx context.Context, cfg localstack.Config) (localstack.State, error) {
	fail := func(err error) (localstack.State, error) {
		return localstack.State{}, fmt.Errorf("start the local stack: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	logFile := filepath.Join(cfg.Home, "stack", "harness.log")
	if err := os.MkdirAll(filepath.Dir(logFile), 0o755); err != nil {
		return fail(err)
	}
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return fail(err)
	}
	defer log.Close()
	args := []string{"up", "--foreground", "-v", "--home", cfg.Home, "--slots", strconv.Itoa(o.slots())}
	if o.S3 {
		args = append(args, "--s3")
	}
	if o.Session.Store != "" {
		args = append(args, "--store", o.Session.Store)
	}
	// Not CommandContext: it outlives this command.
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "HARNESS_TOOLS="+o.Session.ToolsDir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	st, err := waitReady(ctx, cfg, ended)
	if err == nil {
		return st, nil
	}
	if ctx.Err() != nil {
		// Given up: what was begun is ended, too.
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		select {
		case err := <-ended:
			o.Session.Logger.Info("the stack was given up", "error", err)
		case <-time.After(downTimeout):
		}
		return fail(ctx.Err())
	}
	return fail(fmt.Errorf("%w; its log is %s%s", err, logFile, tail(logFile)))
}

// settled waits until the owner of a stack has said who it is.
func settled(ctx context.Context, cfg localstack.Config) (localstack.State, error) {
	return wait(ctx, cfg, nil, func(st localstack.State, err error) bool { return err != nil || st.Owner.Pid != 0 })
}

func waitReady(ctx context.Context, cfg localstack.Config, ended <-chan error) (localstack.State, error) {
	return wait(ctx, cfg, ended, func(st localstack.State, err error) bool { return err == nil && st.Ready })
}

func wait(ctx context.Context, cfg localstack.Config, ended <-chan error, done func(localstack.State, error) bool) (localstack.State, error) {
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if st, err := localstack.Find(cfg); done(st, err) {
			return st, err
		}
		select {
		case err := <-ended:
			return localstack.State{}, fmt.Errorf("it ended at once: %w", cmp.Or(err, errors.New("exit status 0")))
		case <-ctx.Done():
			return localstack.State{}, fmt.Errorf("the local stack is not ready: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return ""
	}
	return ", which ends:\n" + string(b[max(0, len(b)-1500):])
}

// Down ends the stack that Up started, or what a killed one left. It returns
// localstack.ErrNotRunning when there was nothing, and leaves alone what another
// command has for itself.
func Down(ctx context.Context, cfg session.Config) error {
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	lc := cfg.LocalStack(localstack.ModeUp)
	if st, err := localstack.Find(lc); err == nil && st.Owner.Pid != 0 && st.Mode != localstack.ModeUp {
		return fmt.Errorf("the local stack is not up; process %d has one for itself (%s), which ends with it. To end that, interrupt the process: kill -INT %d", st.Owner.Pid, st.Mode, st.Owner.Pid)
	}
	return localstack.Down(ctx, lc)
}
