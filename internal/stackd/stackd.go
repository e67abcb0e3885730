// Package stackd is `harness up` and `harness worker` behind their flags: the
// process that owns the local stack with its worker, and how it is started in
// the background.
package stackd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"

	"harness/eval"
	"harness/internal/localstack"
	"harness/internal/session"
	"harness/worker"
)

// Handlers are the runtimes that a local worker offers.
var Handlers = []string{"runsc", "runc"}

// Options of Up and Serve.
type Options struct {
	Session session.Config
	S3      bool
	Slots   int // 0: from Limits
	Limits  eval.Limits
}

func (o Options) slots() int {
	if o.Slots > 0 {
		return o.Slots
	}
	return worker.Slots(o.Limits)
}

const (
	localBucket = "harness"
	upTimeout   = 2 * time.Minute
)

// Up starts the stack as a process of its own and waits until its worker polls.
// *localstack.RunningError says that it is up already.
func Up(ctx context.Context, o Options) (localstack.State, error) {
	cfg := o.Session.LocalStack("up")
	if st, err := localstack.Find(cfg); err == nil {
		if st.Ready {
			return st, &localstack.RunningError{State: st}
		}
		return waitReady(ctx, cfg, nil)
	}
	self, err := os.Executable()
	if err != nil {
		return localstack.State{}, fmt.Errorf("start the local stack: %w", err)
	}
	logFile := filepath.Join(cfg.Home, "stack", "harness.log")
	if err := os.MkdirAll(filepath.Dir(logFile), 0o755); err != nil {
		return localstack.State{}, fmt.Errorf("start the local stack: %w", err)
	}
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return localstack.State{}, fmt.Errorf("start the local stack: %w", err)
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
		return localstack.State{}, fmt.Errorf("start the local stack: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	st, err := waitReady(ctx, cfg, ended)
	if err != nil {
		return st, fmt.Errorf("start the local stack: %w; its log is %s%s", err, logFile, tail(logFile))
	}
	return st, nil
}

func waitReady(ctx context.Context, cfg localstack.Config, ended <-chan error) (localstack.State, error) {
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if st, err := localstack.Find(cfg); err == nil && st.Ready {
			return st, nil
		}
		select {
		case err := <-ended:
			return localstack.State{}, fmt.Errorf("it ended at once (%v)", err)
		case <-ctx.Done():
			return localstack.State{}, fmt.Errorf("it is not ready: %w", ctx.Err())
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

// Serve owns the stack until ctx ends.
func Serve(ctx context.Context, o Options) (err error) {
	sc := o.Session.LocalStack("up")
	sc.S3 = o.S3
	stack, err := localstack.Start(ctx, sc)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Stop(context.WithoutCancel(ctx))) }()
	if o.S3 {
		o.Session.Store = fmt.Sprintf("s3://%s?endpoint=%s&create=true", localBucket, stack.State().S3Endpoint)
	}
	store, err := o.Session.OpenStore(ctx, o.Session.StoreURL())
	if err != nil {
		return err
	}
	w, err := session.StartWorker(ctx, o.Session, stack, store, session.Need{Handlers: Handlers, Slots: o.slots()})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return w.Stop()
}

// WorkerOptions of ServeWorker.
type WorkerOptions struct {
	Session    session.Config
	Containerd string
	Handlers   []string
	Class      string
	Name       string
	Slots      int
	Limits     eval.Limits
}

// ServeWorker serves a Temporal server elsewhere until ctx ends.
func ServeWorker(ctx context.Context, o WorkerOptions) (err error) {
	store, err := o.Session.OpenStore(ctx, o.Session.StoreURL())
	if err != nil {
		return err
	}
	if o.Slots == 0 {
		o.Slots = worker.Slots(o.Limits)
	}
	if o.Containerd == "" {
		cd, err := localstack.StartContainerd(ctx, localstack.ContainerdConfig{
			Dir: filepath.Join(o.Session.Home, "containerd"), ToolsDir: o.Session.ToolsDir, Logger: o.Session.Logger,
		})
		if err != nil {
			return err
		}
		if !cd.Adopted() {
			defer func() { err = errors.Join(err, cd.Stop(context.WithoutCancel(ctx))) }()
		}
		o.Containerd = cd.Socket()
	}
	w, err := worker.Start(ctx, worker.Config{
		Temporal: o.Session.Temporal, Namespace: o.Session.Namespace, Store: store,
		Home: o.Session.Home, ToolsDir: o.Session.ToolsDir, Containerd: o.Containerd,
		Handlers: o.Handlers, Class: o.Class, Slots: o.Slots, Name: o.Name, Logger: o.Session.Logger,
	})
	if err != nil {
		return err
	}
	o.Session.Note(fmt.Sprintf("worker serves %s with %d sandboxes at once; Ctrl-C ends it", o.Session.Temporal, o.Slots))
	<-ctx.Done()
	return w.Stop()
}

// Print shows a stack to a person.
func Print(w io.Writer, st localstack.State) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	rows := [][2]string{
		{"process", fmt.Sprintf("%d (%s, since %s)", st.Owner.Pid, st.Mode, st.StartedAt.Local().Format(time.DateTime))},
		{"temporal", st.Temporal}, {"web UI", st.TemporalUI}, {"containerd", st.Containerd},
		{"artifacts", st.Store}, {"slots", strconv.Itoa(st.Slots)},
	}
	if st.S3Endpoint != "" {
		rows = append(rows, [2]string{"s3", st.S3Endpoint})
	}
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\n", r[0], r[1])
	}
	return t.Flush()
}
