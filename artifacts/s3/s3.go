// Package s3 keeps artifacts in a bucket of any S3 server that honours
// conditional writes (Amazon S3, MinIO and others do).
//
// Each object is written by one request and carries the SHA-256 of its bytes, so
// that readers notice damage. The package knows nothing of what is stored.
package s3

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"harness/artifacts"
)

// User metadata of our objects, as the client library spells the names.
const (
	metaSHA256 = "Sha256"
	metaWriter = "Writer"
)

// Store is a bucket, or a folder in one.
type Store struct {
	cfg    Config
	prefix string // "" or "folder/"
	core   minio.Core
}

var _ artifacts.Store = (*Store)(nil)

// Open connects, finds (or makes) the bucket, and proves that the server honours
// conditional writes: one that ignores them would let two writers of a result
// both win, so it is refused.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	client, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", cfg, err)
	}
	s := &Store{cfg: cfg, core: minio.Core{Client: client}}
	if cfg.Prefix != "" {
		s.prefix = cfg.Prefix + "/"
	}
	if err := s.findBucket(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", cfg, err)
	}
	if err := s.probe(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", cfg, err)
	}
	return s, nil
}

func newClient(cfg Config) (*minio.Client, error) {
	u, err := url.Parse(cfg.endpoint())
	if err != nil {
		return nil, err
	}
	secure := u.Scheme == "https"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	if cfg.CAFile != "" && secure {
		pem, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read certificates: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read certificates: %s holds no PEM certificate", cfg.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	creds := credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, cfg.SessionToken)
	if cfg.AccessKey == "" {
		chain := []credentials.Provider{&credentials.FileAWSCredentials{}}
		if cfg.Endpoint == "" {
			chain = append(chain, &credentials.IAM{Client: &http.Client{Transport: transport}})
		}
		creds = credentials.NewChainCredentials(chain)
	}
	lookup := minio.BucketLookupAuto
	switch cfg.Style {
	case "path":
		lookup = minio.BucketLookupPath
	case "virtual":
		lookup = minio.BucketLookupDNS
	}
	return minio.New(u.Host, &minio.Options{
		Creds: creds, Secure: secure, Transport: transport, Region: cfg.Region,
		BucketLookup: lookup, MaxRetries: cfg.retries(),
	})
}

func (s *Store) findBucket(ctx context.Context) error {
	if err := s.locate(ctx); err != nil {
		return fmt.Errorf("ask for the bucket's region: %w", err)
	}
	found, err := s.core.BucketExists(ctx, s.cfg.Bucket)
	if err != nil {
		return fmt.Errorf("look for the bucket: %w", s.fault(ctx, err))
	}
	if found {
		return nil
	}
	if !s.cfg.CreateBucket {
		return fmt.Errorf("bucket %q does not exist: make it, or add create=true to the address", s.cfg.Bucket)
	}
	err = s.core.MakeBucket(ctx, s.cfg.Bucket, minio.MakeBucketOptions{Region: s.cfg.Region})
	if code := minio.ToErrorResponse(err).Code; err != nil && code != minio.BucketAlreadyOwnedByYou && code != "BucketAlreadyExists" {
		return fmt.Errorf("make the bucket: %w", s.fault(ctx, err))
	}
	return nil
}

// locate asks for the bucket's region, which the client library remembers. It is
// the one request that the library does not repeat after a fault.
func (s *Store) locate(ctx context.Context) error {
	if s.cfg.Region != "" {
		return nil
	}
	for try := 0; ; try++ {
		_, err := s.core.GetBucketLocation(ctx, s.cfg.Bucket)
		if err == nil || !isTransient(err) {
			return nil // what else is wrong, the next request tells
		}
		if try == s.cfg.retries() || ctx.Err() != nil {
			return s.fault(ctx, err)
		}
		select {
		case <-time.After(min(time.Duration(100<<min(try, 10))*time.Millisecond, time.Second)):
		case <-ctx.Done():
		}
	}
}

// probe writes an object plainly and then create-only. The second write must be
// refused. The object stays, so that no right to delete is needed.
func (s *Store) probe(ctx context.Context) error {
	key := s.prefix + artifacts.ReservedDir + "/conditional-put"
	text := "proves that this server honours If-None-Match\n" + rand.Text() + "\n"
	put := func(opts minio.PutObjectOptions) error {
		_, err := s.core.Client.PutObject(ctx, s.cfg.Bucket, key, strings.NewReader(text), int64(len(text)), opts)
		return err
	}
	if err := put(minio.PutObjectOptions{}); err != nil {
		return fmt.Errorf("the bucket is not writable: %w", s.fault(ctx, err))
	}
	var once minio.PutObjectOptions
	once.SetMatchETagExcept("*")
	err := put(once)
	switch {
	case err == nil:
		return errors.New("the server ignores conditional writes (If-None-Match: *), so two writers of one result could both win: use a server that honours them, or a folder as store")
	case isTaken(err):
		return nil
	}
	return fmt.Errorf("the server refuses conditional writes (If-None-Match: *), which results need: use a server that has them, or a folder as store: %w", s.fault(ctx, err))
}

// URL returns s3://bucket/prefix/key.
func (s *Store) URL(key string) string { return s.cfg.URL() + "/" + key }

// Stat describes the object, its digest included when this package wrote it.
func (s *Store) Stat(ctx context.Context, key string) (artifacts.Info, error) {
	if err := begin(ctx, key); err != nil {
		return artifacts.Info{}, fmt.Errorf("stat artifact: %w", err)
	}
	oi, err := s.core.StatObject(ctx, s.cfg.Bucket, s.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return artifacts.Info{}, fmt.Errorf("stat artifact %s: %w", s.URL(key), s.fault(ctx, err))
	}
	return info(key, oi), nil
}

// Get opens the object. The read that meets its end returns ErrCorrupt when size
// or digest are not those that were written.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, artifacts.Info, error) {
	if err := begin(ctx, key); err != nil {
		return nil, artifacts.Info{}, fmt.Errorf("get artifact: %w", err)
	}
	body, oi, _, err := s.core.GetObject(ctx, s.cfg.Bucket, s.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, artifacts.Info{}, fmt.Errorf("get artifact %s: %w", s.URL(key), s.fault(ctx, err))
	}
	in := info(key, oi)
	return artifacts.VerifyReader(body, key, in.Size, in.SHA256), in, nil
}

// Delete removes the object.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := begin(ctx, key); err != nil {
		return fmt.Errorf("delete artifact: %w", err)
	}
	err := s.core.RemoveObject(ctx, s.cfg.Bucket, s.prefix+key, minio.RemoveObjectOptions{})
	if err = s.fault(ctx, err); err != nil && !errors.Is(err, artifacts.ErrNotFound) {
		return fmt.Errorf("delete artifact %s: %w", s.URL(key), err)
	}
	return nil
}

// List pages through the bucket, which lists in key order. Objects that other
// programs put there under names that are no keys are left out.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[artifacts.Info, error] {
	return func(yield func(artifacts.Info, error) bool) {
		if err := artifacts.CheckPrefix(prefix); err != nil {
			yield(artifacts.Info{}, fmt.Errorf("list artifacts: %w", err))
			return
		}
		for oi, err := range s.list(ctx, prefix, true) {
			if err != nil {
				yield(artifacts.Info{}, err)
				return
			}
			key := strings.TrimPrefix(oi.Key, s.prefix)
			if artifacts.CheckKey(key) == nil && !yield(info(key, oi), nil) {
				return
			}
		}
	}
}

// Dirs asks the server for common prefixes, so it costs no listing of what is below them.
func (s *Store) Dirs(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := artifacts.CheckDir(prefix); err != nil {
			yield("", fmt.Errorf("list artifact folders: %w", err))
			return
		}
		for oi, err := range s.list(ctx, prefix, false) {
			if err != nil {
				yield("", err)
				return
			}
			folder, isDir := strings.CutSuffix(strings.TrimPrefix(oi.Key, s.prefix), "/")
			if !isDir || artifacts.CheckKey(folder) != nil || folder+"/" == prefix {
				continue
			}
			if !yield(folder[len(prefix):], nil) {
				return
			}
		}
	}
}

func (s *Store) list(ctx context.Context, prefix string, recursive bool) iter.Seq2[minio.ObjectInfo, error] {
	return func(yield func(minio.ObjectInfo, error) bool) {
		// The library ends a cancelled listing without a word, as if it were complete.
		opts := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: recursive}
		for oi := range s.core.ListObjectsIter(ctx, s.cfg.Bucket, opts) {
			err := oi.Err
			if err != nil {
				err = fmt.Errorf("list artifacts in %s: %w", s.URL(prefix), s.fault(ctx, err))
			}
			if !yield(oi, err) || err != nil {
				return
			}
		}
		if ctx.Err() != nil {
			yield(minio.ObjectInfo{}, fmt.Errorf("list artifacts in %s: %w", s.URL(prefix), context.Cause(ctx)))
		}
	}
}

func begin(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return artifacts.CheckKey(key)
}

func info(key string, oi minio.ObjectInfo) artifacts.Info {
	return artifacts.Info{Key: key, Size: oi.Size, SHA256: oi.UserMetadata[metaSHA256], Modified: oi.LastModified.UTC()}
}
