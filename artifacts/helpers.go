package artifacts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"harness/eval"
)

// ErrTooLarge is what reading an object that is larger than its reader wants to hold returns.
var ErrTooLarge = errors.New("artifact is larger than allowed")

// PutBytes stores data under key and returns the reference that finds it again.
func PutBytes(ctx context.Context, s Store, key string, data []byte, opts PutOptions) (eval.Ref, error) {
	info, err := s.Put(ctx, key, bytes.NewReader(data), opts)
	if err != nil {
		return eval.Ref{}, err
	}
	return eval.Ref{Key: key, SHA256: info.SHA256, Size: info.Size}, nil
}

// PutStream stores all of r under key and returns the reference that finds it again.
func PutStream(ctx context.Context, s Store, key string, r io.Reader, opts PutOptions) (eval.Ref, error) {
	info, err := s.Put(ctx, key, r, opts)
	if err != nil {
		return eval.Ref{}, err
	}
	return eval.Ref{Key: key, SHA256: info.SHA256, Size: info.Size}, nil
}

// GetBytes reads the object whole. More than limit bytes is an error that wraps ErrTooLarge.
func GetBytes(ctx context.Context, s Store, key string, limit int64) ([]byte, error) {
	rc, info, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	if info.Size > limit {
		return nil, fmt.Errorf("get %s: %w: it has %d bytes, at most %d are read", key, ErrTooLarge, info.Size, limit)
	}
	return readAll(rc, key, info.Size, limit)
}

// PutCAS stores data under the key of its digest. Bytes that are there already
// are left; a stored object of the wrong size is replaced, since the key says
// what belongs there.
func PutCAS(ctx context.Context, s Store, data []byte) (eval.Ref, error) {
	sum := sha256.Sum256(data)
	ref := eval.Ref{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	ref.Key = eval.CASKey(ref.SHA256)

	opts := PutOptions{CreateOnly: true}
	info, err := s.Stat(ctx, ref.Key)
	switch {
	case err == nil && info.Size == ref.Size && (info.SHA256 == "" || info.SHA256 == ref.SHA256):
		return ref, nil
	case err == nil:
		opts.CreateOnly = false
	case !errors.Is(err, ErrNotFound):
		return eval.Ref{}, err
	}
	if _, err := s.Put(ctx, ref.Key, bytes.NewReader(data), opts); err != nil && !errors.Is(err, ErrExists) {
		return eval.Ref{}, err
	}
	return ref, nil
}

// GetRef reads the bytes that ref names and checks them: another size or digest
// is an error that wraps ErrCorrupt; more than limit bytes, one that wraps ErrTooLarge.
func GetRef(ctx context.Context, s Store, ref eval.Ref, limit int64) ([]byte, error) {
	if ref.Size > limit {
		return nil, fmt.Errorf("get %s: %w: it has %d bytes, at most %d are read", ref.Key, ErrTooLarge, ref.Size, limit)
	}
	rc, err := OpenRef(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	return readAll(rc, ref.Key, ref.Size, limit)
}

// OpenRef streams the bytes that ref names. The read that meets their end, or
// passes ref.Size, returns ErrCorrupt when they are not those that were written.
func OpenRef(ctx context.Context, s Store, ref eval.Ref) (io.ReadCloser, error) {
	if ref.SHA256 == "" {
		return nil, fmt.Errorf("get %s: its reference has no sha256, so its bytes can't be checked", ref.Key)
	}
	rc, info, err := s.Get(ctx, ref.Key)
	if err != nil {
		return nil, err
	}
	if info.Size != ref.Size {
		rc.Close()
		return nil, fmt.Errorf("get %s: %w: it has %d bytes, its reference says %d", ref.Key, ErrCorrupt, info.Size, ref.Size)
	}
	return VerifyReader(rc, ref.Key, ref.Size, ref.SHA256), nil
}

// VerifyReader passes rc on and returns an error that wraps ErrCorrupt in place of
// io.EOF unless exactly size bytes with the hex digest sha256hex were read; an
// empty digest is not checked.
func VerifyReader(rc io.ReadCloser, key string, size int64, sha256hex string) io.ReadCloser {
	return &verifyReader{rc: rc, key: key, size: size, want: sha256hex, hash: sha256.New()}
}

type verifyReader struct {
	rc   io.ReadCloser
	key  string
	size int64
	want string
	hash hash.Hash
	n    int64
	err  error
}

func (v *verifyReader) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.rc.Read(p)
	v.hash.Write(p[:n])
	v.n += int64(n)
	end := errors.Is(err, io.EOF)
	if v.n > v.size || end && v.n != v.size {
		err = fmt.Errorf("get %s: %w: read %d bytes, %d were written", v.key, ErrCorrupt, v.n, v.size)
	} else if end && v.want != "" {
		if got := hex.EncodeToString(v.hash.Sum(nil)); got != v.want {
			err = fmt.Errorf("get %s: %w: its sha256 is %s, %s was written", v.key, ErrCorrupt, got, v.want)
		}
	}
	v.err = err
	return n, err
}

func (v *verifyReader) Close() error { return v.rc.Close() }

// readAll trusts size only as a hint below limit.
func readAll(r io.Reader, key string, size, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	if size >= 0 && size <= limit {
		buf.Grow(int(size) + bytes.MinRead)
	}
	// The reader is drained to its end, since that is where damage is told.
	n, err := io.Copy(&buf, io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	if n > limit {
		return nil, fmt.Errorf("read %s: %w: more than %d bytes", key, ErrTooLarge, limit)
	}
	return buf.Bytes(), nil
}
