// Package session opens what a command needs to evaluate: a stack that is up, a
// stack of the command's own, or a Temporal server elsewhere.
//
// It owns the choice between the three and what each means for the artifact
// store. It knows nothing of datasets or reports.
package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"go.temporal.io/sdk/client"

	"harness/artifacts"
	"harness/internal/localstack"
	"harness/internal/runs"
	"harness/internal/temporalx"
	"harness/worker"
	"harness/workflows"
)

// Config is what the flags and the environment say.
type Config struct {
	Home      string
	ToolsDir  string
	Temporal  string // "" means this machine
	Namespace string
	Store     string // "" means the stack's
	// SharedStore: the folder given as Store is one that the workers see, too.
	SharedStore bool
	Logger      *slog.Logger
	Note        func(string) // for people; nil is silent
}

// Defaults fills in the folders from the environment.
func (c *Config) Defaults(getenv func(string) string) {
	if c.Home == "" {
		c.Home = getenv("HARNESS_HOME")
	}
	if c.Home == "" {
		c.Home = "/var/lib/harness"
		if home := getenv("HOME"); os.Geteuid() != 0 && home != "" {
			c.Home = filepath.Join(home, ".local", "share", "harness")
		}
	}
	if c.ToolsDir == "" {
		c.ToolsDir = getenv("HARNESS_TOOLS")
	}
	if c.ToolsDir == "" {
		c.ToolsDir = filepath.Join(c.Home, "tools")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Note == nil {
		c.Note = func(string) {}
	}
}

// LocalStack is the stack of this configuration's home.
func (c Config) LocalStack(mode string) localstack.Config {
	return localstack.Config{
		Home: c.Home, ToolsDir: c.ToolsDir, SearchAttributes: workflows.SearchAttributes(),
		Mode: mode, Logger: c.Logger, Note: c.Note,
	}
}

// StoreURL is where artifacts live when nothing else is said.
func (c Config) StoreURL() string {
	if c.Store != "" {
		return c.Store
	}
	return filepath.Join(c.Home, "artifacts")
}

// OpenStore opens an artifact store. For the local stack's own S3 server the keys
// are the stack's, otherwise the environment's.
func (c Config) OpenStore(ctx context.Context, url string) (artifacts.Store, error) {
	getenv := os.Getenv
	if strings.HasPrefix(url, "s3://") {
		keys, err := localstack.S3Keys(c.LocalStack(""), url)
		if err != nil {
			return nil, err
		}
		getenv = func(name string) string {
			if v, ok := keys[name]; ok {
				return v
			}
			return os.Getenv(name)
		}
	}
	return worker.OpenStore(ctx, url, getenv)
}

// Kind of a session.
type Kind int

// The three kinds.
const (
	Embedded Kind = iota + 1 // stack and worker are this process's own
	Local                    // a stack that `harness up` left running
	Remote                   // --temporal
)

// Session is open until Close.
type Session struct {
	Kind   Kind
	Store  artifacts.Store
	Client client.Client
	UI     string // of Temporal, "" when not known

	slots  int // of the worker on this machine, 0 when it is elsewhere
	stack  *localstack.Stack
	worker *worker.Worker
}

// Slots is how many sandboxes are executed at once; 0 when
// only the workers elsewhere know.
func (s *Session) Slots() int { return s.slots }

// Need says what an embedded session starts.
type Need struct {
	Handlers []string
	Slots    int
}

// Open picks the kind and brings up what is missing.
func Open(ctx context.Context, cfg Config, need Need) (*Session, error) {
	if cfg.Temporal != "" {
		return openRemote(ctx, cfg)
	}
	st, err := localstack.Find(cfg.LocalStack("embedded"))
	if err == nil {
		return openLocal(ctx, cfg, st)
	}
	if !errors.Is(err, localstack.ErrNotRunning) {
		return nil, err
	}
	return openEmbedded(ctx, cfg, need)
}

// Connect opens a session without starting anything: ErrNotRunning when there is
// no stack and no address.
func Connect(ctx context.Context, cfg Config) (*Session, error) {
	if cfg.Temporal != "" {
		return openRemote(ctx, cfg)
	}
	st, err := localstack.Find(cfg.LocalStack("embedded"))
	if err != nil {
		return nil, err
	}
	return openLocal(ctx, cfg, st)
}

func openRemote(ctx context.Context, cfg Config) (*Session, error) {
	if !strings.HasPrefix(cfg.Store, "s3://") && !cfg.SharedStore {
		return nil, fmt.Errorf("with --temporal the workers are elsewhere and need the same store: give --store s3://bucket/prefix, or say --shared-store if the folder %q is one they all see", cfg.StoreURL())
	}
	s := &Session{Kind: Remote}
	var err error
	if s.Store, err = cfg.OpenStore(ctx, cfg.StoreURL()); err != nil {
		return nil, err
	}
	s.Client, err = temporalx.Dial(ctx, cfg.Temporal, cfg.Namespace, "", cfg.Logger)
	return s, err
}

func openLocal(ctx context.Context, cfg Config, st localstack.State) (*Session, error) {
	if !st.Ready {
		return nil, fmt.Errorf("the local stack (process %d) is still starting, or belongs to a `harness eval` that is not ready yet; try again in a few seconds", st.Owner.Pid)
	}
	if cfg.Store != "" && !sameStore(cfg.Store, st.Store) {
		return nil, fmt.Errorf("the local stack that is up keeps its artifacts in %s, not in %s; leave --store out, or `harness down` first", st.Store, cfg.Store)
	}
	s := &Session{Kind: Local, UI: st.TemporalUI, slots: st.Slots}
	var err error
	if s.Store, err = cfg.OpenStore(ctx, st.Store); err != nil {
		return nil, err
	}
	s.Client, err = temporalx.Dial(ctx, st.Temporal, "", "", cfg.Logger)
	return s, err
}

func sameStore(a, b string) bool {
	if strings.HasPrefix(a, "s3://") {
		return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
	}
	abs, err := filepath.Abs(a)
	return err == nil && abs == b
}

func openEmbedded(ctx context.Context, cfg Config, need Need) (_ *Session, err error) {
	s := &Session{Kind: Embedded, slots: need.Slots}
	if s.Store, err = cfg.OpenStore(ctx, cfg.StoreURL()); err != nil {
		return nil, err
	}
	if s.stack, err = localstack.Start(ctx, cfg.LocalStack("embedded")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
		}
	}()
	st := s.stack.State()
	s.UI = st.TemporalUI
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
	return errors.Join(errs...)
}
