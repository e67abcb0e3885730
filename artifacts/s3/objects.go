package s3

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"

	"harness/artifacts"
)

// Objects reads objects that other programs put into a bucket. It asks for no
// right but to list and read, and writes nothing.
type Objects struct {
	store Store
}

// Object is one of them.
type Object struct {
	Key  string // relative to the address; "" for the object of that very name
	Size int64
	ETag string // changes when the object does
}

// OpenObjects reads an address like FromURL. Its path may be the key of an object
// or a folder.
func OpenObjects(ctx context.Context, raw string, getenv func(string) string) (*Objects, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("read S3 address: %w", err)
	}
	// The path is no store's prefix, so it may be as long as a key.
	key := strings.Trim(u.Path, "/")
	u.Path, u.RawPath = "", ""
	cfg, err := FromURL(u.String(), getenv)
	if err != nil {
		return nil, err
	}
	if key != "" {
		if err := artifacts.CheckKey(key); err != nil {
			return nil, fmt.Errorf("read S3 address: %w", err)
		}
	}
	cfg.Prefix = key
	client, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", cfg, err)
	}
	o := &Objects{store: Store{cfg: cfg, core: minio.Core{Client: client}}}
	if err := o.store.locate(ctx); err != nil {
		return nil, fmt.Errorf("open %s: ask for the bucket's region: %w", cfg, err)
	}
	return o, nil
}

// URL names the address for people, without parameters.
func (o *Objects) URL() string { return o.store.cfg.URL() }

// Server is the address of the server.
func (o *Objects) Server() string { return o.store.cfg.endpoint() }

// List returns the object of the address's name, else those below it as a folder,
// in key order and at most limit+1 of them. None is artifacts.ErrNotFound.
func (o *Objects) List(ctx context.Context, limit int) ([]Object, error) {
	cfg := o.store.cfg
	if cfg.Prefix != "" {
		oi, err := o.store.core.StatObject(ctx, cfg.Bucket, cfg.Prefix, minio.StatObjectOptions{})
		if err == nil {
			return []Object{{Size: oi.Size, ETag: oi.ETag}}, nil
		}
		if code := minio.ToErrorResponse(err).Code; code != minio.NoSuchKey {
			return nil, fmt.Errorf("look at %s: %w", o.URL(), o.store.fault(ctx, err))
		}
	}
	folder := ""
	if cfg.Prefix != "" {
		folder = cfg.Prefix + "/"
	}
	var out []Object
	for oi, err := range o.store.list(ctx, folder, true) {
		if err != nil {
			return nil, err
		}
		if key := strings.TrimPrefix(oi.Key, folder); key != "" {
			out = append(out, Object{Key: key, Size: oi.Size, ETag: oi.ETag})
		}
		if len(out) > limit {
			break
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("look at %s: %w: there is no such object, and none below it", o.URL(), artifacts.ErrNotFound)
	}
	return out, nil
}

// Open reads an object of the list from offset on. It fails when the object has
// changed since.
func (o *Objects) Open(ctx context.Context, obj Object, offset int64) (io.ReadCloser, error) {
	cfg := o.store.cfg
	key := strings.Trim(cfg.Prefix+"/"+obj.Key, "/")
	var opts minio.GetObjectOptions
	if offset > 0 {
		if err := opts.SetRange(offset, 0); err != nil {
			return nil, fmt.Errorf("read %s: %w", o.URL(), err)
		}
	}
	if obj.ETag != "" {
		if err := opts.SetMatchETag(obj.ETag); err != nil {
			return nil, fmt.Errorf("read %s: %w", o.URL(), err)
		}
	}
	body, _, _, err := o.store.core.GetObject(ctx, cfg.Bucket, key, opts)
	switch {
	case isTaken(err): // the precondition failed
		return nil, fmt.Errorf("read s3://%s/%s: the object has changed since it was listed; start again", cfg.Bucket, key)
	case err != nil:
		return nil, fmt.Errorf("read s3://%s/%s: %w", cfg.Bucket, key, o.store.fault(ctx, err))
	}
	return body, nil
}
