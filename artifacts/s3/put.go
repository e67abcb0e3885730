package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/minio/minio-go/v7"

	"harness/artifacts"
)

const (
	// inMemory is how much of an object is held while its size is not known; what is larger goes to a temporary file.
	inMemory = 1 << 20
	// maxSinglePut is the largest body of one request on Amazon S3.
	maxSinglePut = 5 << 30
	// multipartFrom is where an upload is cut into parts, so that a fault repeats a part only.
	multipartFrom = 256 << 20
	// conflictTries bounds how often a create-only write meets another that is under way.
	conflictTries = 8
)

// Put reads r to its end first, since size and digest go into the request that
// writes the object. Create-only objects are one request of at most 5 GiB.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, opts artifacts.PutOptions) (artifacts.Info, error) {
	if err := begin(ctx, key); err != nil {
		return artifacts.Info{}, fmt.Errorf("put artifact: %w", err)
	}
	b, err := s.spool(ctx, r)
	if err != nil {
		return artifacts.Info{}, fmt.Errorf("put artifact %s: %w", s.URL(key), err)
	}
	defer b.close()
	in, err := s.put(ctx, key, b, opts)
	if err != nil {
		return artifacts.Info{}, fmt.Errorf("put artifact %s: %w", s.URL(key), err)
	}
	return in, nil
}

func (s *Store) put(ctx context.Context, key string, b *body, opts artifacts.PutOptions) (artifacts.Info, error) {
	writer := rand.Text()
	po := minio.PutObjectOptions{
		UserMetadata:     map[string]string{metaSHA256: b.sha256, metaWriter: writer},
		ContentType:      opts.ContentType,
		SendContentMd5:   true, // the server checks what arrives
		DisableMultipart: opts.CreateOnly || b.size < multipartFrom,
		NumThreads:       2,
	}
	if opts.CreateOnly {
		if b.size > maxSinglePut {
			return artifacts.Info{}, fmt.Errorf("it has %d bytes, a create-only object at most %d", b.size, int64(maxSinglePut))
		}
		po.SetMatchETagExcept("*")
	}
	var err error
	for try := range conflictTries {
		var up minio.UploadInfo
		up, err = s.core.Client.PutObject(ctx, s.cfg.Bucket, s.prefix+key, b.reader(), b.size, po)
		if err == nil {
			modified := up.LastModified
			if modified.IsZero() {
				modified = time.Now() // servers need not tell
			}
			return artifacts.Info{Key: key, Size: b.size, SHA256: b.sha256, Modified: modified.UTC()}, nil
		}
		if !isConflict(err) {
			break
		}
		select {
		case <-time.After(time.Duration(50<<try) * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if opts.CreateOnly && isTaken(err) {
		return s.taken(ctx, key, writer)
	}
	return artifacts.Info{}, s.fault(ctx, err)
}

// taken tells a lost race from our own write whose answer was lost: the library
// repeats such a request and the repetition finds the key taken, by us.
func (s *Store) taken(ctx context.Context, key, writer string) (artifacts.Info, error) {
	oi, err := s.core.StatObject(ctx, s.cfg.Bucket, s.prefix+key, minio.StatObjectOptions{})
	switch err = s.fault(ctx, err); {
	case err == nil && oi.UserMetadata[metaWriter] == writer:
		return info(key, oi), nil
	case err == nil, errors.Is(err, artifacts.ErrNotFound): // deleted since
		return artifacts.Info{}, artifacts.ErrExists
	}
	return artifacts.Info{}, err
}

// body is an object to write: its bytes can be read again for a retry.
type body struct {
	at     io.ReaderAt
	size   int64
	sha256 string
	close  func()
}

func (b *body) reader() *io.SectionReader { return io.NewSectionReader(b.at, 0, b.size) }

// spool reads r to its end into memory or, when it is larger, into a temporary
// file that has no name any more, so that not even a crash leaves it behind.
func (s *Store) spool(ctx context.Context, r io.Reader) (*body, error) {
	hash := sha256.New()
	r = io.TeeReader(artifacts.ContextReader(ctx, r), hash)
	var head bytes.Buffer
	n, err := io.Copy(&head, io.LimitReader(r, inMemory))
	if err != nil {
		return nil, err
	}
	b := &body{at: bytes.NewReader(head.Bytes()), size: n, close: func() {}}
	if n == inMemory {
		f, err := os.CreateTemp(s.cfg.SpoolDir, "harness-upload-")
		if err != nil {
			return nil, fmt.Errorf("make a temporary file: %w", err)
		}
		b.at, b.close = f, func() { f.Close() }
		if err := os.Remove(f.Name()); err != nil {
			b.close()
			return nil, fmt.Errorf("hide a temporary file: %w", err)
		}
		if b.size, err = io.Copy(f, io.MultiReader(&head, r)); err != nil {
			b.close()
			return nil, err
		}
	}
	b.sha256 = hex.EncodeToString(hash.Sum(nil))
	return b, nil
}
