package localstack

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// S3Config says where the local S3 server (MinIO) lives. It listens on loopback only.
type S3Config struct {
	Dir       string
	ToolsDir  string
	Port      int
	AccessKey string
	SecretKey string
	Logger    *slog.Logger
}

// Endpoint is the address for clients.
func (c S3Config) Endpoint() string { return "http://" + loopback(c.Port) }

func (c S3Config) daemon() DaemonConfig {
	return DaemonConfig{
		Name: "minio", Path: filepath.Join(c.ToolsDir, "bin", "minio"),
		Args: []string{"server", "--quiet", "--address", loopback(c.Port), "--console-address", "127.0.0.1:0", filepath.Join(c.Dir, "data")},
		Env: append(os.Environ(),
			"MINIO_ROOT_USER="+c.AccessKey, "MINIO_ROOT_PASSWORD="+c.SecretKey, "MINIO_UPDATE=off", "MINIO_BROWSER=off"),
		Dir: c.Dir, LogFile: filepath.Join(c.Dir, "minio.log"), PidFile: filepath.Join(c.Dir, "minio.pid"),
		ReadyTimeout: 30 * time.Second, Logger: c.Logger,
		Ready: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Endpoint()+"/minio/health/ready", nil)
			if err != nil {
				return err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("not ready: %s", resp.Status)
			}
			return nil
		},
	}
}

// StartS3 starts the server of cfg.Dir and waits until it answers.
func StartS3(ctx context.Context, cfg S3Config) (*Daemon, error) {
	if err := os.MkdirAll(filepath.Join(cfg.Dir, "data"), 0o700); err != nil {
		return nil, fmt.Errorf("start minio: %w", err)
	}
	dc := cfg.daemon()
	if _, err := os.Stat(dc.Path); err != nil {
		return nil, fmt.Errorf("start minio: %w; run `deploy/setup.sh test` to install it", err)
	}
	return StartDaemon(ctx, dc)
}
