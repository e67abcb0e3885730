// Package dir keeps artifacts in a folder: one file an object, the key its path.
//
// Files are written beside and moved into place, so readers and crashes see whole
// objects only. Several processes of one machine may share the folder; over a
// network file system that holds as far as its link(2) and rename(2) are atomic.
// The package knows nothing of what is stored.
package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"harness/artifacts"
)

// staleAfter is how long a temporary file is left alone after its last write.
const staleAfter = 24 * time.Hour

// Store is a folder of artifacts. It never follows a symbolic link out of it.
type Store struct {
	path string   // absolute, for people
	root *os.Root // every access goes through it
}

var _ artifacts.Store = (*Store)(nil)

// Open makes the folder when it is absent, checks that its file system can hold
// a store, and removes temporary files that dead writers left a day ago or more.
func Open(folder string) (*Store, error) {
	if folder == "" {
		return nil, errors.New("open artifact folder: no path was given")
	}
	abs, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("open artifact folder %s: %w", folder, err)
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return nil, fmt.Errorf("open artifact folder: %w", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open artifact folder: %w", err)
	}
	s := &Store{path: abs, root: root}
	if err := s.prepare(); err != nil {
		root.Close()
		return nil, err
	}
	return s, nil
}

// Close releases the folder. Objects stay.
func (s *Store) Close() error { return s.root.Close() }

// URL returns the absolute path of the object's file.
func (s *Store) URL(key string) string { return filepath.Join(s.path, filepath.FromSlash(key)) }

// Stat describes the object. The digest is not known without reading.
func (s *Store) Stat(ctx context.Context, key string) (artifacts.Info, error) {
	if err := begin(ctx, key); err != nil {
		return artifacts.Info{}, fmt.Errorf("stat artifact: %w", err)
	}
	fi, err := s.lstat(key)
	if err != nil {
		return artifacts.Info{}, fmt.Errorf("stat artifact: %w", err)
	}
	return info(key, fi), nil
}

// Get opens the object. A writer that replaces it meanwhile does not disturb the reader.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, artifacts.Info, error) {
	if err := begin(ctx, key); err != nil {
		return nil, artifacts.Info{}, fmt.Errorf("get artifact: %w", err)
	}
	// The look before the open keeps it from blocking on a named pipe.
	if _, err := s.lstat(key); err != nil {
		return nil, artifacts.Info{}, fmt.Errorf("get artifact: %w", err)
	}
	f, err := s.root.Open(key)
	if err != nil {
		return nil, artifacts.Info{}, fmt.Errorf("get artifact: %w", notFound(key, err))
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, artifacts.Info{}, fmt.Errorf("get artifact %s: %w", key, err)
	}
	return &reader{Reader: artifacts.ContextReader(ctx, f), Closer: f}, info(key, fi), nil
}

type reader struct {
	io.Reader
	io.Closer
}

// Delete removes the object and the folders that it leaves empty.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := begin(ctx, key); err != nil {
		return fmt.Errorf("delete artifact: %w", err)
	}
	if _, err := s.lstat(key); errors.Is(err, artifacts.ErrNotFound) {
		return nil
	} else if err != nil {
		return fmt.Errorf("delete artifact: %w", err)
	}
	if err := s.root.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete artifact: %w", err)
	}
	if err := s.syncDir(path.Dir(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete artifact %s: %w", key, err)
	}
	s.prune(path.Dir(key))
	return nil
}

// lstat finds a regular file. A folder is not an object; anything else under a
// key was put there by someone else and is not served.
func (s *Store) lstat(key string) (fs.FileInfo, error) {
	fi, err := s.root.Lstat(key)
	switch {
	case err != nil:
		return nil, notFound(key, err)
	case fi.IsDir():
		return nil, fmt.Errorf("%w: %s is a folder", artifacts.ErrNotFound, key)
	case !fi.Mode().IsRegular():
		return nil, fmt.Errorf("%s in %s is not a regular file (%s): remove it", key, s.path, fi.Mode().Type())
	}
	return fi, nil
}

func begin(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return artifacts.CheckKey(key)
}

func info(key string, fi fs.FileInfo) artifacts.Info {
	return artifacts.Info{Key: key, Size: fi.Size(), Modified: fi.ModTime().UTC()}
}

// notFound gives "no such file" and "below a file" their word in the contract.
func notFound(key string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: %s", artifacts.ErrNotFound, key)
	}
	return err
}
