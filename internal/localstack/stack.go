package localstack

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"harness/internal/proc"
)

// Config says where a stack lives and what belongs to it.
type Config struct {
	Home     string // data folder of the harness; the stack is in Home/stack
	ToolsDir string
	// SearchAttributes are keywords that Temporal knows from the start.
	SearchAttributes []string
	// S3 asks for an S3 server, too.
	S3 bool
	// ContainerdOnly leaves Temporal out: what builds or looks at images needs none.
	ContainerdOnly bool
	// Mode and Version are told to other processes by State.
	Mode    string // a Mode constant
	Version string // of the owner's build
	Logger  *slog.Logger
	// Sweep removes all sandboxes of the containerd at socket, and what else a killed
	// owner left in Home. It is called before containerd is stopped: mounts and records
	// of sandboxes would outlive it. Nil leaves them.
	Sweep func(ctx context.Context, socket string) error
	// Note is called with a line for people about each thing that is started. Nil is silent.
	Note func(string)
}

// What an owner has its stack for.
const (
	ModeUp        = "up"        // stays until it is ended
	ModeEmbedded  = "embedded"  // ends with the run that its owner carries out
	ModeSandboxes = "sandboxes" // containerd only, ends with the images or sandboxes that its owner handles
	ModeWorker    = "worker"    // containerd only, for a worker of a Temporal server elsewhere
)

// State is what is known of a stack, as stored in state.json while it is up.
type State struct {
	Owner      proc.ID   `json:"owner"`
	Mode       string    `json:"mode"`
	Version    string    `json:"version"`
	StartedAt  time.Time `json:"started_at"`
	Temporal   string    `json:"temporal"`    // host:port, "" without one
	TemporalUI string    `json:"temporal_ui"` // URL
	Containerd string    `json:"containerd"`  // socket
	S3Endpoint string    `json:"s3_endpoint,omitempty"`
	Ready      bool      `json:"ready"`           // its worker polls
	Store      string    `json:"store,omitempty"` // where that worker keeps artifacts
	Slots      int       `json:"slots,omitempty"` // sandboxes at once
}

// ErrNotRunning: nobody owns a stack in that home.
var ErrNotRunning = errors.New("the local stack is not up")

// RunningError says that another living process owns the stack.
type RunningError struct{ State State }

func (e *RunningError) Error() string {
	return fmt.Sprintf("the local stack is up already (process %d, %s)", e.State.Owner.Pid, e.State.Mode)
}

// Stack is a running stack that this process owns.
type Stack struct {
	cfg   Config
	lock  *os.File
	ports ports

	mu         sync.Mutex
	state      State
	temporal   *Daemon
	s3         *Daemon
	containerd *Containerd

	stopping context.CancelFunc
	watchers sync.WaitGroup
}

func (c Config) dir() string           { return filepath.Join(c.Home, "stack") }
func (c Config) stateFile() string     { return filepath.Join(c.dir(), "state.json") }
func (c Config) lockPath() string      { return filepath.Join(c.dir(), "owner.lock") }
func (c Config) containerdDir() string { return filepath.Join(c.Home, "containerd") }

// SecretFile holds the local S3 server's key pair as "access:secret".
func (c Config) SecretFile() string { return filepath.Join(c.dir(), "s3.key") }

func (c Config) note(format string, args ...any) {
	if c.Note != nil {
		c.Note(fmt.Sprintf(format, args...))
	}
}

// Start brings up the stack and becomes its owner. *RunningError says that
// another process owns it. What a killed owner left running is replaced.
func Start(ctx context.Context, cfg Config) (_ *Stack, err error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(cfg.dir(), 0o755); err != nil {
		return nil, fmt.Errorf("start the local stack: %w", err)
	}
	lock, err := takeOwnership(cfg)
	if err != nil {
		return nil, err
	}
	s := &Stack{cfg: cfg, lock: lock}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if err := stopLeftDaemons(ctx, cfg); err != nil {
		return nil, err
	}
	if s.ports, err = choosePorts(filepath.Join(cfg.dir(), "ports.json")); err != nil {
		return nil, err
	}
	if err := s.startAll(ctx); err != nil {
		return nil, err
	}
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.stopping = cancel
	s.supervise(watch)
	return s, s.save(func(*State) {})
}

func (s *Stack) startAll(ctx context.Context) error {
	start := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, 3)
	run := func(i int, f func() error) {
		wg.Add(1)
		go func() { defer wg.Done(); errs[i] = f() }()
	}
	if !s.cfg.ContainerdOnly {
		run(0, func() (err error) {
			s.temporal, err = StartTemporal(ctx, s.temporalConfig())
			return err
		})
	}
	run(1, func() (err error) {
		s.containerd, err = StartContainerd(ctx, s.containerdConfig())
		return err
	})
	if s.cfg.S3 {
		run(2, func() error {
			c, err := s.s3Config()
			if err != nil {
				return err
			}
			s.s3, err = StartS3(ctx, c)
			return err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.state = State{
		Owner: proc.Self(), Mode: s.cfg.Mode, Version: s.cfg.Version, StartedAt: start.UTC(),
		Containerd: s.containerd.Socket(),
	}
	if s.s3 != nil {
		s.state.S3Endpoint = "http://" + loopback(s.ports.S3)
	}
	if s.temporal == nil {
		return nil
	}
	s.state.Temporal, s.state.TemporalUI = s.temporalConfig().Address(), s.temporalConfig().UI()
	s.cfg.note("started Temporal (web UI %s) and a private containerd in %.1f s", s.state.TemporalUI, time.Since(start).Seconds())
	return nil
}

func (s *Stack) temporalConfig() TemporalConfig {
	return TemporalConfig{
		Dir: filepath.Join(s.cfg.dir(), "temporal"), ToolsDir: s.cfg.ToolsDir,
		Port: s.ports.Temporal, UIPort: s.ports.TemporalUI, HTTPPort: s.ports.TemporalHTTP, Metrics: s.ports.TemporalMetrics,
		SearchAttributes: s.cfg.SearchAttributes, Logger: s.cfg.Logger,
	}
}

func (s *Stack) containerdConfig() ContainerdConfig {
	return ContainerdConfig{Dir: s.cfg.containerdDir(), ToolsDir: s.cfg.ToolsDir, Logger: s.cfg.Logger}
}

func (s *Stack) s3Config() (S3Config, error) {
	access, secret, err := s3Keys(s.cfg)
	return S3Config{
		Dir: filepath.Join(s.cfg.dir(), "s3"), ToolsDir: s.cfg.ToolsDir, Port: s.ports.S3,
		AccessKey: access, SecretKey: secret, Logger: s.cfg.Logger,
	}, err
}

// s3Keys returns the key pair of the local S3 server, made on first use.
func s3Keys(cfg Config) (access, secret string, err error) {
	b, err := os.ReadFile(cfg.SecretFile())
	if errors.Is(err, fs.ErrNotExist) {
		var r [20]byte
		_, _ = rand.Read(r[:]) // never fails (crypto/rand)
		b = []byte("harness:" + hex.EncodeToString(r[:]))
		err = writeWhole(cfg.SecretFile(), b)
	}
	if err != nil {
		return "", "", fmt.Errorf("keys of the local S3 server: %w", err)
	}
	for i, c := range b {
		if c == ':' {
			return string(b[:i]), string(b[i+1:]), nil
		}
	}
	return "", "", fmt.Errorf("keys of the local S3 server: %s is damaged; remove it", cfg.SecretFile())
}

// S3Keys returns the key pair of the local S3 server, by the names under which
// clients look for one, if url is an address of that server; else nothing.
func S3Keys(cfg Config, url string) (map[string]string, error) {
	st, err := readState(cfg)
	if err != nil || st.S3Endpoint == "" || !strings.Contains(url, "endpoint="+st.S3Endpoint) {
		return nil, nil // no stack with an S3 server, or another address
	}
	access, secret, err := s3Keys(cfg)
	return map[string]string{"AWS_ACCESS_KEY_ID": access, "AWS_SECRET_ACCESS_KEY": secret}, err
}

// superviseEvery is how often parts are looked at. Parts that an earlier owner
// started are no children of this process, so they can only be looked at.
const superviseEvery = 300 * time.Millisecond

// supervise starts a part again that ended although nobody asked it to.
func (s *Stack) supervise(ctx context.Context) {
	if s.temporal != nil {
		s.watch(ctx, "temporal", func() bool { return s.temporal.Alive() }, func() error {
			d, err := StartTemporal(ctx, s.temporalConfig())
			return s.replaced(err, func() { s.temporal = d })
		})
	}
	s.watch(ctx, "containerd", func() bool { return s.containerd.Alive() }, func() error {
		c, err := StartContainerd(ctx, s.containerdConfig())
		return s.replaced(err, func() { s.containerd = c })
	})
	if s.s3 == nil {
		return
	}
	s.watch(ctx, "minio", func() bool { return s.s3.Alive() }, func() error {
		c, err := s.s3Config()
		if err != nil {
			return err
		}
		d, err := StartS3(ctx, c)
		return s.replaced(err, func() { s.s3 = d })
	})
}

func (s *Stack) watch(ctx context.Context, name string, alive func() bool, restart func() error) {
	s.watchers.Add(1)
	go func() {
		defer s.watchers.Done()
		tick := time.NewTicker(superviseEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			s.mu.Lock()
			ok := alive()
			s.mu.Unlock()
			if ok {
				continue
			}
			s.cfg.Logger.Warn("a part of the local stack ended, starting it again", "part", name)
			if err := restart(); err != nil && ctx.Err() == nil {
				s.cfg.Logger.Warn("could not start a part of the local stack", "part", name, "error", err)
			}
		}
	}()
}

func (s *Stack) replaced(err error, set func()) error {
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	set()
	return nil
}

// State describes the stack.
func (s *Stack) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// SetReady records that the stack's worker polls, where it keeps artifacts and how
// many sandboxes it runs at once, for other processes to see.
func (s *Stack) SetReady(store string, slots int) error {
	return s.save(func(st *State) { st.Ready, st.Store, st.Slots = true, store, slots })
}

func (s *Stack) save(change func(*State)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
	b, err := json.MarshalIndent(s.state, "", " ")
	if err != nil {
		return err
	}
	if err := writeWhole(s.cfg.stateFile(), b); err != nil {
		return fmt.Errorf("record the local stack: %w", err)
	}
	return nil
}

// Stop ends all parts and gives up ownership. It works with a cancelled ctx.
func (s *Stack) Stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if s.stopping != nil {
		s.stopping()
		s.watchers.Wait()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	if s.containerd != nil {
		errs = append(errs, s.sweep(ctx), s.containerd.Stop(ctx))
	}
	for _, d := range []*Daemon{s.temporal, s.s3} {
		if d != nil {
			errs = append(errs, d.Stop(ctx))
		}
	}
	if err := os.Remove(s.cfg.stateFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	errs = append(errs, s.lock.Close())
	return errors.Join(errs...)
}

const sweepTimeout = time.Minute

// sweep needs a containerd that answers: one that has just been killed is started
// once more for it.
func (s *Stack) sweep(ctx context.Context) error {
	if s.cfg.Sweep == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	if !s.containerd.Alive() {
		c, err := StartContainerd(ctx, s.containerdConfig())
		if err != nil {
			return err
		}
		s.containerd = c
	}
	return s.cfg.Sweep(ctx, s.containerd.Socket())
}
