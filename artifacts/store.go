// Package artifacts is where the record of a run lives: a small object-store
// contract with two drivers (dir: a folder on one machine, s3: any S3 server)
// that pass the same suite (storetest).
//
// It owns keys, bytes and their digests. It knows nothing of what is stored.
package artifacts

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Errors that every driver returns, wrapped, for errors.Is.
var (
	// ErrNotFound: no object has that key.
	ErrNotFound = errors.New("artifact not found")
	// ErrExists: a create-only write met an object with that key. Its bytes are untouched.
	ErrExists = errors.New("artifact exists already")
	// ErrBadKey: CheckKey refuses the key, or the driver can't hold it beside an
	// object that is its folder, or below it.
	ErrBadKey = errors.New("bad artifact key")
	// ErrCorrupt: the bytes read are not those that were written.
	ErrCorrupt = errors.New("artifact is corrupt")
)

// Info describes a stored object. SHA256 is the hex digest of its bytes, "" when the driver can't tell without reading.
type Info struct {
	Key      string
	Size     int64
	SHA256   string
	Modified time.Time
}

// PutOptions say how an object is written. The zero value overwrites.
type PutOptions struct {
	// CreateOnly makes the write fail with ErrExists when the key is taken, also
	// under concurrent writers: exactly one of them wins.
	CreateOnly bool
	// ContentType is a hint for people who browse the bucket.
	ContentType string
}

// Store keeps objects under keys. All methods are safe for concurrent use.
// Transient faults are retried inside a driver; what is returned is final for
// this call. An object is visible whole or not at all.
type Store interface {
	// Put stores all of r under key and returns its digest and size. The reader
	// is streamed, never held whole. A failed Put leaves the former object, if any.
	Put(ctx context.Context, key string, r io.Reader, opts PutOptions) (Info, error)
	// Get opens the object; the caller closes it. Reading to the end of a damaged
	// object returns ErrCorrupt where the driver knows the digest.
	Get(ctx context.Context, key string) (io.ReadCloser, Info, error)
	// Stat describes the object without reading it.
	Stat(ctx context.Context, key string) (Info, error)
	// List yields the objects whose key starts with prefix, in key order.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Dirs yields the distinct next path parts below prefix (which ends in "/" or is "") that have objects below them,
	// without the closing slash, in key order ("a.b/" comes before "a/").
	Dirs(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Delete removes the object; a missing one is not an error.
	Delete(ctx context.Context, key string) error
	// URL says where a person finds the object ("/path/of/file", "s3://bucket/key").
	URL(key string) string
}
