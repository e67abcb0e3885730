// Package stackd is `harness up` and `harness worker` behind their flags: the
// process that owns the local stack with its worker, and how it is started in
// the background.
package stackd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"harness/eval"
	"harness/internal/localstack"
	"harness/internal/session"
	"harness/worker"
)

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

// Validate refuses what could never work.
func (o Options) Validate() error {
	switch {
	case o.Slots < 0:
		return fmt.Errorf("--slots %d: at least 1 sandbox must fit", o.Slots)
	case o.S3 && o.Session.Store != "":
		return errors.New("--s3 keeps artifacts in the stack's own S3 server, --store elsewhere; give one of them")
	}
	return o.Limits.Validate()
}

// localBucket is where runs are kept in the stack's own S3 server.
const localBucket = "harness"

// Serve owns the stack until ctx ends.
func Serve(ctx context.Context, o Options) (err error) {
	sc := o.Session.LocalStack(localstack.ModeUp)
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
	w, err := session.StartWorker(ctx, o.Session, stack, store, session.Need{Handlers: session.LocalHandlers, Slots: o.slots()})
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

// Validate refuses what could never work.
func (o WorkerOptions) Validate() error {
	switch {
	case o.Session.Temporal == "":
		return errors.New("no Temporal server; give --temporal ADDRESS (on one machine `harness up` brings a worker)")
	case o.Slots < 0:
		return fmt.Errorf("--slots %d: at least 1 sandbox must fit", o.Slots)
	case len(o.Handlers) == 0:
		return errors.New("no runtime to offer; give --runtime, or leave it out")
	}
	return errors.Join(o.Session.CheckShared(), o.Limits.Validate())
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
		own := o.Session.LocalStack(localstack.ModeWorker)
		own.ContainerdOnly = true
		stack, err := localstack.Start(ctx, own)
		var running *localstack.RunningError
		if errors.As(err, &running) {
			return fmt.Errorf("the sandboxes of %s belong to another process: %w; give this worker a folder of its own with --home, or a containerd with --containerd", o.Session.Home, err)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stack.Stop(ctx)) }()
		o.Containerd = stack.State().Containerd
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
		{"version", st.Version}, {"temporal", st.Temporal}, {"web UI", st.TemporalUI}, {"containerd", st.Containerd},
		{"s3", st.S3Endpoint}, {"artifacts", st.Store},
	}
	if st.Slots > 0 {
		rows = append(rows, [2]string{"slots", fmt.Sprintf("%d (sandboxes at once)", st.Slots)})
	}
	for _, r := range rows {
		if r[1] != "" {
			fmt.Fprintf(t, "%s\t%s\n", r[0], r[1])
		}
	}
	return t.Flush()
}
