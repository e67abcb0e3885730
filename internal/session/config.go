package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"harness/artifacts"
	"harness/internal/buildinfo"
	"harness/internal/localstack"
	"harness/sandbox"
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
	// LogToFile: a stack and worker of this process log to RunLog instead of Logger.
	LogToFile bool
	Note      func(string) // for people; nil is silent
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
		Mode: mode, Version: buildinfo.Version(), Logger: c.Logger, Note: c.Note, Sweep: c.sweep,
	}
}

// sweep leaves nothing of any sandbox in the containerd at socket, nor of dead
// workers in the data folder. Every handler sees the sandboxes of all.
func (c Config) sweep(ctx context.Context, socket string) error {
	rt, err := worker.OpenRuntime(ctx, worker.Config{Home: c.Home, ToolsDir: c.ToolsDir, Containerd: socket, Logger: c.Logger}, LocalHandlers[0])
	if err != nil {
		return err
	}
	n, err := rt.Remove(ctx, sandbox.Match{})
	if n > 0 {
		c.Logger.Info("removed the sandboxes of a stack that ends", "count", n)
	}
	return errors.Join(err, rt.CloseClient(), worker.ClearSpool(c.Home))
}

// StoreURL is where artifacts live when nothing else is said.
func (c Config) StoreURL() string {
	if c.Store != "" {
		return c.Store
	}
	return filepath.Join(c.Home, "artifacts")
}

// RunLog is where a run with a stack of its own logs.
func (c Config) RunLog() string { return filepath.Join(c.Home, "stack", "run.log") }

func (c Config) openRunLog() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(c.RunLog()), 0o755); err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	f, err := os.OpenFile(c.RunLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return f, nil
}

// OpenStore opens an artifact store. For the local stack's own S3 server the keys
// are the stack's, otherwise the environment's.
func (c Config) OpenStore(ctx context.Context, url string) (artifacts.Store, error) {
	getenv, err := c.getenvFor(url)
	if err != nil {
		return nil, err
	}
	return worker.OpenStore(ctx, url, getenv)
}

// SameStore reports whether url is the store that was asked for.
func (c Config) SameStore(url string) bool {
	if strings.HasPrefix(c.Store, "s3://") {
		return strings.TrimSuffix(c.Store, "/") == strings.TrimSuffix(url, "/")
	}
	abs, err := filepath.Abs(c.Store)
	return err == nil && abs == url
}

// CheckShared refuses a folder of this machine as the store of a Temporal server
// elsewhere, unless it is said to be shared.
func (c Config) CheckShared() error {
	if strings.HasPrefix(c.Store, "s3://") || c.SharedStore {
		return nil
	}
	return mismatch("with --temporal others need the same store: give --store s3://bucket/prefix, or say --shared-store if the folder %q is one that all see", c.StoreURL())
}
