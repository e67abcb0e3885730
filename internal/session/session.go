// Package session opens what a command needs to evaluate: a stack that is up, a
// stack of the command's own, or a Temporal server elsewhere.
//
// It owns the choice between the three and what each means for the artifact
// store. It knows nothing of datasets or reports.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.temporal.io/sdk/client"

	"harness/artifacts"
	"harness/internal/buildinfo"
	"harness/internal/localstack"
	"harness/internal/runs"
	"harness/internal/temporalx"
	"harness/worker"
	"harness/workflows"
)

// Kind of a session.
type Kind int

// The three kinds.
const (
	Embedded Kind = iota + 1 // stack and worker are this process's own
	Local                    // a stack of another process of this machine
	Remote                   // --temporal
)

// LocalHandlers are the runtimes that the worker of `harness up` offers.
var LocalHandlers = []string{"runsc", "runc"}

// Session is open until Close.
type Session struct {
	Kind   Kind
	Store  artifacts.Store
	Client client.Client
	UI     string // of Temporal, "" when not known

	slots      int    // of the worker on this machine, 0 when it is elsewhere
	containerd string // socket of this machine's, "" when it is elsewhere
	cfg        Config
	log        *os.File // nil when logs go elsewhere
	stack      *localstack.Stack
	worker     *worker.Worker
}

// Slots is how many sandboxes are executed at once; 0 when
// only the workers elsewhere know.
func (s *Session) Slots() int { return s.slots }

// Gone reports whether the stack that the session uses was taken down by
// somebody else.
func (s *Session) Gone() bool {
	if s.Kind != Local {
		return false
	}
	_, err := localstack.Find(s.cfg.LocalStack(""))
	return errors.Is(err, localstack.ErrNotRunning)
}

// Need says what an embedded session starts.
type Need struct {
	Handlers []string
	Slots    int
}

// MismatchError says that what is asked for does not fit what is up: the caller
// has to ask for something else.
type MismatchError struct{ Reason string }

func (e *MismatchError) Error() string { return e.Reason }

func mismatch(format string, args ...any) error {
	return &MismatchError{fmt.Sprintf(format, args...)}
}

// Open picks the kind and brings up what is missing. While another command has
// this machine's sandboxes to itself it waits.
func Open(ctx context.Context, cfg Config, need Need) (*Session, error) {
	if cfg.Temporal != "" {
		return openRemote(ctx, cfg)
	}
	var s *Session
	err := turn(ctx, cfg, func(st localstack.State) bool { return st.Mode == localstack.ModeUp && st.Ready },
		func(st localstack.State) (err error) {
			s, err = openLocal(ctx, cfg, st, need.Handlers)
			return err
		},
		func() (err error) {
			s, err = openEmbedded(ctx, cfg, need)
			return err
		})
	return s, err
}

// Connect opens a session without starting anything: ErrNotRunning when there is
// no stack with a Temporal and no address.
func Connect(ctx context.Context, cfg Config) (*Session, error) {
	if cfg.Temporal != "" {
		return openRemote(ctx, cfg)
	}
	st, err := localstack.Find(cfg.LocalStack(""))
	switch {
	case err != nil:
		return nil, err
	case st.Temporal == "":
		return nil, localstack.ErrNotRunning
	case !st.Ready:
		return nil, fmt.Errorf("the local stack (%s) is not ready yet; try again in a few seconds", holder(st))
	}
	return openLocal(ctx, cfg, st, nil)
}

func openRemote(ctx context.Context, cfg Config) (*Session, error) {
	if err := cfg.CheckShared(); err != nil {
		return nil, err
	}
	s := &Session{Kind: Remote, cfg: cfg}
	var err error
	if s.Store, err = cfg.OpenStore(ctx, cfg.StoreURL()); err != nil {
		return nil, err
	}
	s.Client, err = temporalx.Dial(ctx, cfg.Temporal, cfg.Namespace, "", cfg.Logger)
	return s, err
}

// Check says before anything is stored or started what Open would refuse.
func Check(cfg Config, handlers []string) error {
	if cfg.Temporal != "" {
		return cfg.CheckShared()
	}
	if st, err := localstack.Find(cfg.LocalStack("")); err == nil && st.Mode == localstack.ModeUp && st.Ready {
		return checkLocal(cfg, st, handlers)
	}
	return nil
}

func checkLocal(cfg Config, st localstack.State, handlers []string) error {
	if cfg.Store != "" && !cfg.SameStore(st.Store) {
		return mismatch("the local stack that is up keeps its artifacts in %s, not in %s; leave --store out, or `harness down` first", st.Store, cfg.Store)
	}
	for _, h := range handlers {
		if !slices.Contains(LocalHandlers, h) {
			return mismatch("the local stack that is up offers the runtimes %s, not %s; `harness down` first, then the run brings up its own", strings.Join(LocalHandlers, " and "), h)
		}
	}
	return nil
}

func openLocal(ctx context.Context, cfg Config, st localstack.State, handlers []string) (*Session, error) {
	if err := checkLocal(cfg, st, handlers); err != nil {
		return nil, err
	}
	if mine := buildinfo.Version(); st.Version != mine {
		cfg.Note(fmt.Sprintf("note: the local stack that is up is of version %s, this command of %s. The stack's own build does the work; `harness down && harness up` brings up this one", cmp.Or(st.Version, "(unknown)"), mine))
	}
	s := &Session{Kind: Local, UI: st.TemporalUI, slots: st.Slots, containerd: st.Containerd, cfg: cfg}
	var err error
	if s.Store, err = cfg.OpenStore(ctx, st.Store); err != nil {
		return nil, err
	}
	s.Client, err = temporalx.Dial(ctx, st.Temporal, "", "", cfg.Logger)
	return s, err
}

func openEmbedded(ctx context.Context, cfg Config, need Need) (_ *Session, err error) {
	s := &Session{Kind: Embedded, slots: need.Slots, cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
		}
	}()
	if s.Store, err = cfg.OpenStore(ctx, cfg.StoreURL()); err != nil {
		return nil, err
	}
	if cfg.LogToFile {
		if s.log, err = cfg.openRunLog(); err != nil {
			return nil, err
		}
		cfg.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	}
	if s.stack, err = localstack.Start(ctx, cfg.LocalStack(localstack.ModeEmbedded)); err != nil {
		return nil, err
	}
	if s.log != nil {
		// Now, and not before, the file is this process's own.
		if err := s.log.Truncate(0); err != nil {
			return nil, fmt.Errorf("start the log: %w", err)
		}
	}
	st := s.stack.State()
	s.UI, s.containerd = st.TemporalUI, st.Containerd
	// A run whose process was killed would be taken up by this worker, too. It is
	// ended here: its results are stored, and `harness resume` goes on with it.
	if err := endInterrupted(ctx, cfg, st); err != nil {
		return nil, err
	}
	if s.worker, err = StartWorker(ctx, cfg, s.stack, s.Store, need); err != nil {
		return nil, err
	}
	s.Client = s.worker.Client()
	return s, nil
}

func endInterrupted(ctx context.Context, cfg Config, st localstack.State) error {
	c, err := temporalx.Dial(ctx, st.Temporal, "", "", cfg.Logger)
	if err != nil {
		return err
	}
	defer c.Close()
	ids, err := runs.Active(ctx, c)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := runs.Terminate(ctx, c, id, "the process that ran it was killed"); err != nil {
			return err
		}
		cfg.Note(fmt.Sprintf("run %s had been interrupted; `harness resume %s` goes on with it", id, id))
	}
	return nil
}

// StartWorker starts the worker of a local stack and records that it polls.
func StartWorker(ctx context.Context, cfg Config, stack *localstack.Stack, store artifacts.Store, need Need) (*worker.Worker, error) {
	st := stack.State()
	w, err := worker.Start(ctx, worker.Config{
		Temporal: st.Temporal, Store: store, Home: cfg.Home, ToolsDir: cfg.ToolsDir,
		Containerd: st.Containerd, Handlers: need.Handlers, Class: workflows.DefaultClass, Slots: need.Slots,
		Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	abs := cfg.StoreURL()
	if !strings.HasPrefix(abs, "s3://") {
		if abs, err = filepath.Abs(abs); err != nil {
			return nil, errors.Join(err, w.Stop())
		}
	}
	if err := stack.SetReady(abs, need.Slots); err != nil {
		return nil, errors.Join(err, w.Stop())
	}
	return w, nil
}

// Close stops what this session started: its sandboxes, then its stack. It works
// with a cancelled ctx.
func (s *Session) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	if s.worker != nil {
		errs = append(errs, s.worker.Stop())
	} else if s.Client != nil {
		s.Client.Close()
	}
	if s.stack != nil {
		errs = append(errs, s.stack.Stop(ctx))
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	return errors.Join(errs...)
}
