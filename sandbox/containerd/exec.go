package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/protobuf/types/known/anypb"

	"harness/sandbox"
)

const (
	exitNotFound  = 127 // as shells say "no such command"
	exitNotUsable = 126
	// deathWatch is how long an exit waits for the news that the whole sandbox
	// has ended, when the process's own end looks like it.
	deathWatch = 500 * time.Millisecond
	deleteExec = 20 * time.Second
	// reconnect is how long a restart of containerd may take under a running
	// process: shims, processes and pipes live on without it.
	reconnect = 30 * time.Second
)

// Exec implements sandbox.Sandbox.
func (s *Sandbox) Exec(ctx context.Context, p sandbox.Process) (sandbox.Exit, error) {
	if err := p.Validate(); err != nil {
		return sandbox.Exit{}, fmt.Errorf("exec in sandbox %s: %w", s.id, err)
	}
	if sameWriter(p.Stdout, p.Stderr) {
		// Two pipes lose the order of what went through them. A shell inside makes
		// one out of both and then becomes the command.
		p.Args = append([]string{"/bin/sh", "-c", `exec "$@" 2>&1`, "sh"}, p.Args...)
		p.Stderr = nil
	}
	exit, _, err := s.exec(ctx, p)
	return exit, err
}

// exec runs one process: pipes, Exec, Wait, Start, exit, drain, Delete. In this
// order no exit is missed, no output lost, and nothing of the process is left in
// the shim.
func (s *Sandbox) exec(ctx context.Context, p sandbox.Process) (_ sandbox.Exit, in *feed, err error) {
	if err := ctx.Err(); err != nil {
		return s.interrupted(ctx, sandbox.Exit{}, nil)
	}
	if died, err := s.state(); err != nil || died {
		now := time.Now()
		return sandbox.Exit{Code: 128 + int(syscall.SIGKILL), Died: died, Started: now, Ended: now}, nil, err
	}
	id := fmt.Sprintf("e%d", s.execs.Add(1))
	pipes, err := newStdio(s.pipeDir(id), p.Stdin, p.Stdout, p.Stderr)
	if err != nil {
		return sandbox.Exit{}, nil, fmt.Errorf("exec in sandbox %s: %w", s.id, err)
	}
	exit := sandbox.Exit{Started: time.Now()}
	if err := s.launch(ctx, id, p, pipes); err != nil {
		pipes.abort()
		return s.notStarted(ctx, exit, err)
	}
	// From here on the shim knows the process.
	waitCtx, stopWaiting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWaiting()
	ended := s.wait(waitCtx, id)
	startCtx, cancel := s.r.call(ctx, 2*time.Minute)
	_, err = s.r.tasks.Start(startCtx, &tasks.StartRequest{ContainerID: s.id, ExecID: id})
	cancel()
	if err != nil {
		pipes.abort()
		s.forget(ctx, id, nil)
		return s.notStarted(ctx, exit, native(err))
	}
	pipes.started(func() { s.closeStdin(ctx, id) })

	end, err := s.awaitExit(ctx, ended)
	exit.Code, exit.Ended = end.code, end.at
	exit.Dropped = pipes.finish()
	s.forget(ctx, id, pipes)
	if err != nil {
		return s.interrupted(ctx, exit, pipes.stdin)
	}
	if exit.Died, err = s.diedUnder(end); exit.Died {
		exit.Code = 128 + int(syscall.SIGKILL) // what the runtime's client process said of it is noise
	}
	return exit, pipes.stdin, err
}

// launch registers the process with the shim; nothing runs yet.
func (s *Sandbox) launch(ctx context.Context, id string, p sandbox.Process, pipes *stdio) error {
	ps := s.process
	ps.Args = p.Args
	ps.Env = mergeEnv(append(slices.Clone(ps.Env), p.Env...))
	if p.WorkDir != "" {
		ps.Cwd = p.WorkDir
	}
	any, err := typeurl.MarshalAny(&ps)
	if err != nil {
		return err
	}
	ctx, cancel := s.r.call(ctx, callTimeout)
	defer cancel()
	_, err = s.r.tasks.Exec(ctx, &tasks.ExecProcessRequest{
		ContainerID: s.id, ExecID: id, Spec: &anypb.Any{TypeUrl: any.GetTypeUrl(), Value: any.GetValue()},
		Stdin: pipes.stdinPath, Stdout: pipes.stdoutPath, Stderr: pipes.stderr,
	})
	return native(err)
}

// end is the exit of one process as containerd tells it.
type end struct {
	code int
	at   time.Time
	err  error // containerd could not tell
}

func (s *Sandbox) wait(ctx context.Context, id string) <-chan end {
	ch := make(chan end, 1)
	ctx, cancel := s.r.call(ctx, 1<<62) // as long as the process lives; the caller cancels
	go func() {
		defer cancel()
		var gone time.Time // since when containerd has not answered
		for {
			asked := time.Now()
			res, err := s.r.tasks.Wait(ctx, &tasks.WaitRequest{ContainerID: s.id, ExecID: id})
			if err == nil {
				ch <- end{code: int(res.ExitStatus), at: res.ExitedAt.AsTime()}
				return
			}
			if gone.IsZero() || time.Since(asked) > time.Second {
				gone = time.Now()
			}
			err = native(err)
			if ctx.Err() != nil || !lostConnection(err) || s.init.Ending() || time.Since(gone) > reconnect {
				ch <- end{code: 128 + int(syscall.SIGKILL), at: time.Now(), err: err}
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	return ch
}

// awaitExit returns when the process has ended, the sandbox has, or ctx has; in
// the last case everything inside is dead when it returns.
func (s *Sandbox) awaitExit(ctx context.Context, ended <-chan end) (end, error) {
	select {
	case e := <-ended:
		return e, nil
	case <-s.dead:
	case <-ctx.Done():
		if err := s.kill(ctx); err != nil {
			s.r.cfg.Logger.Error("sandbox does not die", "sandbox_id", s.id, "error", err)
		}
	}
	killed := end{code: 128 + int(syscall.SIGKILL), at: time.Now()}
	t := time.NewTimer(deathWatch)
	defer t.Stop()
	select {
	case e := <-ended:
		// What the runtime's client process says after its sandbox went is noise.
		killed.at = e.at
	case <-t.C:
	}
	return killed, ctx.Err()
}

// diedUnder decides whether the sandbox ended under a process that has ended.
func (s *Sandbox) diedUnder(e end) (died bool, err error) {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	// A kernel that goes down kills the processes inside first: an end by SIGKILL can
	// be the first sign of it, seen while the sandbox's own process still looks alive.
	killed := e.code == 128+int(syscall.SIGKILL)
	if e.err == nil && !ended && !killed && !s.init.Ending() {
		return false, nil
	}
	t := time.NewTimer(deathWatch)
	defer t.Stop()
	select {
	case <-s.dead:
		return s.state()
	case <-t.C:
	}
	if _, err := s.state(); err != nil {
		return false, err
	}
	if e.err != nil {
		return false, fmt.Errorf("exec in sandbox %s: %w: %w", s.id, sandbox.ErrLost, e.err)
	}
	return false, nil
}

// interrupted is the answer when ctx ended before the process did.
func (s *Sandbox) interrupted(ctx context.Context, exit sandbox.Exit, in *feed) (sandbox.Exit, *feed, error) {
	cause := context.Cause(ctx)
	if exit.Started.IsZero() {
		exit = sandbox.Exit{Code: 128 + int(syscall.SIGKILL), Started: time.Now(), Ended: time.Now()}
	}
	if errors.Is(cause, sandbox.ErrDeadline) || errors.Is(cause, context.DeadlineExceeded) {
		exit.TimedOut = true
		s.mu.Lock()
		s.timedOut = true
		s.mu.Unlock()
		return exit, in, nil
	}
	return exit, in, fmt.Errorf("exec in sandbox %s: %w", s.id, cause)
}

// notStarted tells a command that can't be run from a sandbox that is gone.
func (s *Sandbox) notStarted(ctx context.Context, exit sandbox.Exit, err error) (sandbox.Exit, *feed, error) {
	exit.Ended = time.Now()
	if over(ctx, err) {
		// Whether the process came to life is not known: end it all.
		if kerr := s.kill(ctx); kerr != nil {
			s.r.cfg.Logger.Error("sandbox does not die", "sandbox_id", s.id, "error", kerr)
		}
		exit.Code = 128 + int(syscall.SIGKILL)
		return s.interrupted(ctx, exit, nil)
	}
	if code, ok := commandFault(err); ok && s.init.Alive() {
		exit.Code = code
		return exit, nil, nil
	}
	if died, serr := s.diedUnder(end{err: err}); died || errors.Is(serr, sandbox.ErrClosed) {
		exit.Code, exit.Died = 128+int(syscall.SIGKILL), died
		return exit, nil, serr
	}
	return exit, nil, fmt.Errorf("exec in sandbox %s: %w: %w", s.id, sandbox.ErrLost, err)
}

// commandFault reads from the runtime's message why it could not run the
// command. The words are those of runc, runsc and the C library; a sandbox that
// can't fork any more (its own doing) is 126 too.
func commandFault(err error) (int, bool) {
	msg := strings.ToLower(err.Error())
	// The shim says so of the runtime's own failures, not of its own pipes and files.
	if lostConnection(err) || !strings.Contains(msg, "oci runtime exec failed") {
		return 0, false
	}
	for _, c := range []struct {
		text string
		code int
	}{
		{"executable file not found", exitNotFound},
		{"no such file or directory", exitNotFound},
		{"permission denied", exitNotUsable},
		{"is a directory", exitNotUsable},
		{"not a directory", exitNotUsable},
		{"exec format error", exitNotUsable},
		{"resource temporarily unavailable", exitNotUsable},
		{"cannot allocate memory", exitNotUsable},
		{"argument list too long", exitNotUsable},
		{"too many levels of symbolic links", exitNotUsable},
	} {
		if strings.Contains(msg, c.text) {
			return c.code, true
		}
	}
	return 0, false
}

func lostConnection(err error) bool {
	return errdefs.IsUnavailable(err) || errdefs.IsDeadlineExceeded(err) || errors.Is(err, context.DeadlineExceeded)
}

func (s *Sandbox) closeStdin(ctx context.Context, id string) {
	ctx, cancel := s.r.cleanup(ctx, callTimeout)
	defer cancel()
	// Fails when the process has ended meanwhile, which is as good.
	_, _ = s.r.tasks.CloseIO(ctx, &tasks.CloseIORequest{ContainerID: s.id, ExecID: id, Stdin: true})
}

// forget removes an ended process from the shim, off the caller's path: the
// shim waits up to 10 s for other processes that hold its pipes open. Close
// waits for it.
func (s *Sandbox) forget(ctx context.Context, id string, pipes *stdio) {
	ctx, cancel := s.r.cleanup(ctx, deleteExec)
	s.running.Go(func() {
		defer cancel()
		_, err := s.r.tasks.DeleteProcess(ctx, &tasks.DeleteProcessRequest{ContainerID: s.id, ExecID: id})
		if err = native(err); err != nil && !errdefs.IsNotFound(err) && s.init.Alive() {
			s.r.cfg.Logger.Warn("process stays known to its shim", "sandbox_id", s.id, "exec_id", id, "error", err)
		}
		if pipes != nil {
			pipes.remove()
		}
	})
}

// countReader counts what was read of r.
type countReader struct {
	r io.Reader
	n int64
}

func (c *countReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}
