// Package source opens the files that datasets and predictions come in: by
// name it tells format and compression, and it bounds what a compressed file
// may unpack to. It knows nothing of the records inside.
package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Format is how records are laid out in a file.
type Format string

// The formats, by file name extension.
const (
	JSONL   Format = "jsonl"
	JSON    Format = "json"
	CSV     Format = "csv"
	Parquet Format = "parquet"
	Arrow   Format = "arrow" // a stream of record batches, as Hugging Face's save_to_disk writes it
)

// MaxBytes is the default for how much a file may hold once unpacked.
const MaxBytes int64 = 8 << 30

// Name is a file name taken apart.
type Name struct {
	Stem        string // without directory and extensions
	Format      Format // "" when the extension is none of ours
	Compression string // "", "gz" or "zst"
}

// ParseName reads format and compression from the extensions of path.
func ParseName(path string) Name {
	var n Name
	base := filepath.Base(path)
	switch ext := strings.ToLower(filepath.Ext(base)); ext {
	case ".gz", ".zst":
		n.Compression = ext[1:]
		base = base[:len(base)-len(ext)]
	}
	ext := filepath.Ext(base)
	switch strings.ToLower(ext) {
	case ".jsonl", ".ndjson":
		n.Format = JSONL
	case ".json":
		n.Format = JSON
	case ".csv":
		n.Format = CSV
	case ".parquet":
		n.Format = Parquet
	case ".arrow":
		n.Format = Arrow
	}
	n.Stem = strings.TrimSuffix(base, ext)
	return n
}

// TooBigError stands for a file that holds more than allowed.
type TooBigError struct{ Max int64 }

func (e *TooBigError) Error() string {
	return fmt.Sprintf("it holds more than %d bytes once unpacked", e.Max)
}

// Open opens path for reading, unpacked as its name says. Reading more than
// limit bytes is a *TooBigError, a file that is no such thing a *KindError.
func Open(path string, limit int64) (io.ReadCloser, error) {
	f, _, err := Regular(Host{}, path)
	if err != nil {
		return nil, err
	}
	n := ParseName(path)
	s := &stream{limit: limit, left: limit, closers: []func() error{f.Close}}
	if err := s.unpack(f, n); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	// A name that tells no format promises nothing.
	if n.Format == "" {
		return s, nil
	}
	inside, err := peek(s.r, n.Format.promise())
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.r = inside
	return s, nil
}

// unpack makes s read what f holds, as n says.
func (s *stream) unpack(f *os.File, n Name) error {
	switch n.Compression {
	case "gz":
		in, err := peek(f, kindGzip)
		if err != nil {
			return err
		}
		z, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("unpack gzip: %w", err)
		}
		s.r, s.closers = z, append(s.closers, z.Close)
	case "zst":
		in, err := peek(f, kindZstd)
		if err != nil {
			return err
		}
		// 256 MiB of window covers `zstd --long=28`; the format allows terabytes.
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxWindow(256<<20))
		if err != nil {
			return fmt.Errorf("unpack zstd: %w", err)
		}
		s.r, s.closers = z, append(s.closers, func() error { z.Close(); return nil })
	default:
		s.r = f
	}
	return nil
}

// peek returns r again once its first bytes are those of the kind. Errors of
// reading are left to who reads on.
func peek(r io.Reader, want string) (*bufio.Reader, error) {
	br := bufio.NewReaderSize(r, 256<<10)
	head, _ := br.Peek(sniffBytes)
	return br, check(head, want)
}

// OpenAt opens path for random access. A compressed file is unpacked into a
// temporary file that is gone once closed.
func OpenAt(path string, limit int64) (*os.File, error) {
	n := ParseName(path)
	if n.Compression == "" {
		f, _, err := Regular(Host{}, path)
		if err != nil {
			return nil, err
		}
		head := make([]byte, sniffBytes)
		got, err := f.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, errors.Join(err, f.Close())
		}
		if err := check(head[:got], n.Format.promise()); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	r, err := Open(path, limit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	tmp, err := os.CreateTemp("", "harness-dataset-*")
	if err != nil {
		return nil, fmt.Errorf("make room for unpacking: %w", err)
	}
	// Unlinked at once: the space is freed with the last close, however we end.
	if err := os.Remove(tmp.Name()); err != nil {
		return nil, errors.Join(err, tmp.Close())
	}
	if _, err := io.Copy(tmp, r); err != nil {
		return nil, errors.Join(fmt.Errorf("unpack: %w", err), tmp.Close())
	}
	return tmp, nil
}

type stream struct {
	r       io.Reader
	limit   int64
	left    int64
	closers []func() error // in the order of opening
}

func (s *stream) Read(p []byte) (int, error) {
	if s.left < 0 {
		return 0, &TooBigError{Max: s.limit}
	}
	// One byte more than allowed tells "exactly full" from "too big".
	if int64(len(p)) > s.left+1 {
		p = p[:s.left+1]
	}
	n, err := s.r.Read(p)
	if s.left -= int64(n); s.left < 0 {
		return n - 1, &TooBigError{Max: s.limit}
	}
	return n, err
}

func (s *stream) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}
