package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"harness/activities"
	"harness/artifacts"
	"harness/internal/temporalx"
	"harness/sandbox"
	"harness/sandbox/containerd"
	"harness/sandbox/janitor"
	"harness/workflows"
)

// Config of a worker process. Temporal, Store and Home are required.
type Config struct {
	Temporal  string // host:port
	Namespace string // "" means default
	Store     artifacts.Store

	// Home is the harness's data folder; ToolsDir has the pinned runtimes in bin/.
	Home     string
	ToolsDir string
	// Containerd is the socket of the containerd that runs the sandboxes; "" makes
	// a worker that only orchestrates and grades.
	Containerd string
	// Handlers are the runtimes offered, e.g. runsc, runc.
	Handlers []string
	// Class names the queue of sandbox work that is taken.
	Class string
	// Slots is how many sandboxes run at once.
	Slots int

	Name   string // on the trials table; "" means the host's name
	Logger *slog.Logger
}

// Validate names what is missing.
func (c Config) Validate() error {
	var errs []error
	if c.Temporal == "" {
		errs = append(errs, errors.New("no Temporal address"))
	}
	if c.Store == nil {
		errs = append(errs, errors.New("no artifact store"))
	}
	if c.Home == "" {
		errs = append(errs, errors.New("no data folder"))
	}
	if c.Containerd != "" && (len(c.Handlers) == 0 || c.Slots < 1 || c.Class == "") {
		errs = append(errs, errors.New("a worker with sandboxes needs handlers, a class and at least one slot"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("worker configuration: %w", err)
	}
	return nil
}

const (
	// stopTimeout is longer than the clean-up of a sandbox.
	stopTimeout  = 20 * time.Second
	janitorEvery = time.Minute
	// heartbeatThrottle: answers to heartbeats are how an activity learns that it was
	// cancelled; the library would hold them back for most of the timeout.
	heartbeatThrottle = 5 * time.Second
)

// Worker polls until it is stopped.
type Worker struct {
	cfg      Config
	client   client.Client
	runtimes map[string]*containerd.Runtime
	workers  []sdkworker.Worker
	stopping chan struct{}
	janitor  context.CancelFunc
	done     sync.WaitGroup
}

// Start opens what cfg names and begins to poll. On error nothing stays open.
func Start(ctx context.Context, cfg Config) (_ *Worker, err error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Name == "" {
		cfg.Name, _ = os.Hostname()
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	w := &Worker{cfg: cfg, stopping: make(chan struct{}), runtimes: map[string]*containerd.Runtime{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	w.client, err = temporalx.Dial(ctx, cfg.Temporal, cfg.Namespace, fmt.Sprintf("harness@%s/%d", cfg.Name, os.Getpid()), cfg.Logger)
	if err != nil {
		return nil, err
	}
	if err := temporalx.EnsureSearchAttributes(ctx, w.client, cfg.Namespace, workflows.SearchAttributes()); err != nil {
		return nil, err
	}
	if err := w.openRuntimes(ctx); err != nil {
		return nil, err
	}
	if err := ClearSpool(cfg.Home); err != nil {
		return nil, err
	}
	acts, err := activities.New(activities.Config{
		Store: cfg.Store, Runtimes: w.contracts(), Worker: cfg.Name,
		SpoolDir: spoolDir(cfg.Home), Stopping: w.stopping, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	return w, w.poll(acts)
}

func (w *Worker) openRuntimes(ctx context.Context) error {
	if w.cfg.Containerd == "" {
		return nil
	}
	for _, h := range w.cfg.Handlers {
		rt, err := OpenRuntime(ctx, w.cfg, h)
		if err != nil {
			return err
		}
		w.runtimes[h] = rt
	}
	// What a worker that was killed left on this host goes before new work comes.
	for _, rt := range w.contracts() {
		n, err := rt.Remove(ctx, sandbox.Match{Orphan: true})
		if err != nil {
			return fmt.Errorf("remove the sandboxes of a dead worker: %w", err)
		}
		if n > 0 {
			w.cfg.Logger.Info("removed sandboxes of a dead worker", "count", n)
		}
	}
	jctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.janitor = cancel
	for _, rt := range w.contracts() {
		w.done.Add(1)
		go func() {
			defer w.done.Done()
			janitor.Loop(jctx, rt, janitor.Options{Every: janitorEvery, Logger: w.cfg.Logger})
		}()
	}
	return nil
}

// OpenRuntime opens one handler of cfg's containerd.
func OpenRuntime(ctx context.Context, cfg Config, handler string) (*containerd.Runtime, error) {
	return containerd.Open(ctx, containerd.Config{
		Socket: cfg.Containerd, ToolsDir: cfg.ToolsDir, StateDir: filepath.Join(cfg.Home, "sandboxes"),
		Handler: handler, Worker: cfg.Name, Logger: cfg.Logger,
	})
}

func (w *Worker) contracts() map[string]sandbox.Runtime {
	out := map[string]sandbox.Runtime{}
	for name, rt := range w.runtimes {
		out[name] = rt
	}
	return out
}

// poll starts one worker a queue: workflows and grading, and sandboxes.
func (w *Worker) poll(acts *activities.Activities) error {
	flows := sdkworker.New(w.client, workflows.QueueHarness, sdkworker.Options{
		WorkerStopTimeout:                  stopTimeout,
		MaxConcurrentActivityExecutionSize: 4,
		// Grading runs as local activities; each may hold megabytes of a log's results.
		MaxConcurrentLocalActivityExecutionSize: 8,
		MaxHeartbeatThrottleInterval:            heartbeatThrottle,
	})
	flows.RegisterWorkflowWithOptions(workflows.Run, workflow.RegisterOptions{Name: "Run"})
	flows.RegisterWorkflowWithOptions(workflows.Shard, workflow.RegisterOptions{Name: "Shard"})
	flows.RegisterWorkflowWithOptions(workflows.Task, workflow.RegisterOptions{Name: "Task"})
	flows.RegisterActivity(acts)
	w.workers = append(w.workers, flows)
	if w.cfg.Containerd != "" {
		boxes := sdkworker.New(w.client, workflows.SandboxQueue(w.cfg.Class), sdkworker.Options{
			WorkerStopTimeout:                  stopTimeout,
			MaxConcurrentActivityExecutionSize: w.cfg.Slots,
			MaxConcurrentActivityTaskPollers:   2,
			MaxHeartbeatThrottleInterval:       heartbeatThrottle,
			DisableWorkflowWorker:              true,
		})
		boxes.RegisterActivity(acts)
		w.workers = append(w.workers, boxes)
	}
	for _, sw := range w.workers {
		if err := sw.Start(); err != nil {
			return fmt.Errorf("start polling Temporal: %w", err)
		}
	}
	return nil
}

// Stop ends the sandboxes within seconds, then stops polling and closes all.
// Trials that were running are done again by whoever takes them next.
func (w *Worker) Stop() error {
	close(w.stopping)
	return w.close()
}

func (w *Worker) close() error {
	var stopped sync.WaitGroup
	for _, sw := range w.workers {
		stopped.Go(sw.Stop)
	}
	stopped.Wait()
	if w.janitor != nil {
		w.janitor()
	}
	w.done.Wait()
	var errs []error
	for _, rt := range w.runtimes {
		errs = append(errs, rt.CloseClient())
	}
	if w.client != nil {
		w.client.Close()
	}
	errs = append(errs, os.RemoveAll(spoolDir(w.cfg.Home)))
	return errors.Join(errs...)
}

// Client is the worker's connection to Temporal.
func (w *Worker) Client() client.Client { return w.client }
