package dir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"harness/artifacts"
)

// prepare makes the folder for temporary files, proves that the file system has
// hard links (create-only writes need them), and clears what dead writers left.
func (s *Store) prepare() error {
	if err := s.root.Mkdir(artifacts.ReservedDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("prepare artifact folder %s: %w", s.path, err)
	}
	a := artifacts.ReservedDir + "/" + rand.Text()
	b := a + "-link"
	f, err := s.root.OpenFile(a, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("prepare artifact folder %s: it is not writable: %w", s.path, err)
	}
	f.Close()
	defer s.removeTemp(a)
	if err := s.root.Link(a, b); err != nil {
		return fmt.Errorf("prepare artifact folder %s: its file system has no hard links, which create-only writes need; use a folder on another one: %w", s.path, err)
	}
	defer s.removeTemp(b)
	return s.removeStale(time.Now().Add(-staleAfter))
}

// removeStale deletes temporary files last written before the given time.
func (s *Store) removeStale(before time.Time) error {
	d, err := s.root.Open(artifacts.ReservedDir)
	if err != nil {
		return fmt.Errorf("clean artifact folder %s: %w", s.path, err)
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(1000)
		for _, e := range entries {
			if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() && fi.ModTime().Before(before) {
				s.removeTemp(artifacts.ReservedDir + "/" + e.Name())
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("clean artifact folder %s: %w", s.path, err)
		}
	}
}

// removeTemp forgets faults: the file is gone already, or it goes as stale later.
func (s *Store) removeTemp(name string) { _ = s.root.Remove(name) }

// prune removes empty folders from folder upwards. It stops at the first that is
// in use; writers make theirs again when one is taken from under them.
func (s *Store) prune(folder string) {
	for ; folder != "."; folder = path.Dir(folder) {
		if s.rmdir(folder) != nil {
			return
		}
	}
}

// rmdir removes an empty folder and nothing else: os.Root.Remove would also
// remove an object that has just taken the name.
func (s *Store) rmdir(name string) error {
	parent, err := s.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer parent.Close()
	return unix.Unlinkat(int(parent.Fd()), path.Base(name), unix.AT_REMOVEDIR)
}
