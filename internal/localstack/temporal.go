package localstack

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// TemporalConfig says where a Temporal dev server lives and where it listens.
type TemporalConfig struct {
	Dir      string // database, log, pid file
	ToolsDir string
	Port     int // gRPC
	UIPort   int
	HTTPPort int
	Metrics  int
	// SearchAttributes are keyword attributes that exist from the start.
	SearchAttributes []string
	// Dynamic are further settings of the server, "key=value".
	Dynamic []string
	Logger  *slog.Logger
}

// Address of the gRPC frontend.
func (c TemporalConfig) Address() string { return loopback(c.Port) }

// UI is the address of the web UI.
func (c TemporalConfig) UI() string { return "http://" + loopback(c.UIPort) }

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func (c TemporalConfig) daemon() DaemonConfig {
	args := []string{
		"server", "start-dev", "--ip", "127.0.0.1",
		"--port", strconv.Itoa(c.Port), "--ui-port", strconv.Itoa(c.UIPort),
		"--http-port", strconv.Itoa(c.HTTPPort), "--metrics-port", strconv.Itoa(c.Metrics),
		"--db-filename", filepath.Join(c.Dir, "temporal.db"),
		// The server keeps one connection; without WAL each of its writes waits for the disk twice.
		"--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL",
		"--log-level", "warn",
		// Priorities and fairness between runs, which this server has switched off.
		"--dynamic-config-value", "matching.useNewMatcher=true",
		"--dynamic-config-value", "matching.enableFairness=true",
		// No usage reports to anybody.
		"--disable-config-file", "--disable-config-env",
	}
	for _, name := range c.SearchAttributes {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	for _, d := range c.Dynamic {
		args = append(args, "--dynamic-config-value", d)
	}
	return DaemonConfig{
		Name: "temporal", Path: filepath.Join(c.ToolsDir, "bin", "temporal"), Args: args, Dir: c.Dir,
		LogFile: filepath.Join(c.Dir, "temporal.log"), PidFile: filepath.Join(c.Dir, "temporal.pid"),
		Ready:        func(ctx context.Context) error { return pingTemporal(ctx, c.Address()) },
		ReadyTimeout: 60 * time.Second,
		Logger:       c.Logger,
	}
}

// StartTemporal starts the dev server of cfg.Dir and waits until it answers.
func StartTemporal(ctx context.Context, cfg TemporalConfig) (*Daemon, error) {
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("start temporal: %w", err)
	}
	dc := cfg.daemon()
	if _, err := os.Stat(dc.Path); err != nil {
		return nil, fmt.Errorf("start temporal: %w; run deploy/setup.sh to install the pinned tools", err)
	}
	return StartDaemon(ctx, dc)
}

func pingTemporal(ctx context.Context, address string) error {
	// The bare dial fails at once where the client library would back off.
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	if err := conn.Close(); err != nil {
		return err
	}
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.NewLazyClient(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err = c.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}
