package worker

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"harness/artifacts"
	"harness/artifacts/dir"
	"harness/artifacts/s3"
)

// OpenStore opens the artifact store at url: "s3://bucket/prefix" or a folder.
// Keys of an S3 server come from getenv.
func OpenStore(ctx context.Context, url string, getenv func(string) string) (artifacts.Store, error) {
	if url == "" {
		return nil, fmt.Errorf("open artifact store: no address; give --store s3://bucket/prefix or a folder")
	}
	if strings.HasPrefix(url, "s3://") {
		cfg, err := s3.FromURL(url, getenv)
		if err != nil {
			return nil, fmt.Errorf("open artifact store: %w", err)
		}
		return s3.Open(ctx, cfg)
	}
	if scheme, _, ok := strings.Cut(url, "://"); ok {
		return nil, fmt.Errorf("open artifact store: %q is not supported; use s3://bucket/prefix or a folder", scheme+"://")
	}
	abs, err := filepath.Abs(url)
	if err != nil {
		return nil, fmt.Errorf("open artifact store: %w", err)
	}
	return dir.Open(abs)
}
