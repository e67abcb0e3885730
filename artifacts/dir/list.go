package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"harness/artifacts"
)

// List walks the folder in key order. One folder's names are held at a time per
// level; objects that come or go meanwhile may or may not be seen.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[artifacts.Info, error] {
	return func(yield func(artifacts.Info, error) bool) {
		if err := artifacts.CheckPrefix(prefix); err != nil {
			yield(artifacts.Info{}, fmt.Errorf("list artifacts: %w", err))
			return
		}
		folder, name := ".", prefix
		if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
			folder, name = prefix[:i], prefix[i+1:]
		}
		s.walk(ctx, folder, name, yield)
	}
}

// walk yields the objects below folder whose next path part starts with name.
// It returns false when the caller wants no more, or after an error.
func (s *Store) walk(ctx context.Context, folder, name string, yield func(artifacts.Info, error) bool) bool {
	entries, err := s.readDir(ctx, folder)
	if err != nil {
		yield(artifacts.Info{}, fmt.Errorf("list artifacts in %s: %w", s.URL(folder), err))
		return false
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), name) {
			continue
		}
		key := path.Join(folder, e.Name())
		switch {
		case e.IsDir():
			if !s.walk(ctx, key, "", yield) {
				return false
			}
		case e.Type().IsRegular() && artifacts.CheckKey(key) == nil:
			fi, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				yield(artifacts.Info{}, fmt.Errorf("list artifacts: %w", err))
				return false
			}
			if !yield(info(key, fi), nil) {
				return false
			}
		}
	}
	return true
}

// Dirs yields the folders below prefix that hold at least one object.
func (s *Store) Dirs(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := artifacts.CheckDir(prefix); err != nil {
			yield("", fmt.Errorf("list artifact folders: %w", err))
			return
		}
		folder := path.Clean(prefix) // "" becomes "."
		entries, err := s.readDir(ctx, folder)
		if err != nil {
			yield("", fmt.Errorf("list artifact folders in %s: %w", s.URL(folder), err))
			return
		}
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			found := false
			var failed error
			s.walk(ctx, path.Join(folder, e.Name()), "", func(_ artifacts.Info, err error) bool {
				found, failed = err == nil, err
				return false
			})
			if failed != nil {
				yield("", failed)
				return
			}
			if found && !yield(e.Name(), nil) {
				return
			}
		}
	}
}

// readDir returns the entries of a folder in key order, in which a folder's name
// ends in "/". A folder that is not there has none; temporary files are left out.
func (s *Store) readDir(ctx context.Context, folder string) ([]fs.DirEntry, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	d, err := s.root.OpenFile(folder, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if folder == "." {
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == artifacts.ReservedDir })
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	return entries, nil
}

func sortName(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}
