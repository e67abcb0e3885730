package dir

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"harness/artifacts"
)

// placeTries bounds how often a writer makes its folders again because deleters
// prune them between its mkdir and its link.
const placeTries = 1000

// Put writes r to a temporary file, makes it durable and moves it into place.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, opts artifacts.PutOptions) (artifacts.Info, error) {
	if err := begin(ctx, key); err != nil {
		return artifacts.Info{}, fmt.Errorf("put artifact: %w", err)
	}
	if opts.CreateOnly {
		// Saves the copy in the common case; link(2) below decides.
		if fi, err := s.root.Lstat(key); err == nil && !fi.IsDir() {
			return artifacts.Info{}, fmt.Errorf("put artifact: %w: %s", artifacts.ErrExists, key)
		}
	}
	in, err := s.put(ctx, key, r, opts)
	if err != nil {
		return artifacts.Info{}, fmt.Errorf("put artifact %s: %w", key, err)
	}
	return in, nil
}

func (s *Store) put(ctx context.Context, key string, r io.Reader, opts artifacts.PutOptions) (artifacts.Info, error) {
	temp := artifacts.ReservedDir + "/" + rand.Text()
	f, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return artifacts.Info{}, err
	}
	defer func() {
		f.Close()
		s.removeTemp(temp)
	}()

	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(f, hash), artifacts.ContextReader(ctx, r)); err != nil {
		return artifacts.Info{}, err
	}
	if err := f.Sync(); err != nil {
		return artifacts.Info{}, err
	}
	fi, err := f.Stat()
	if err != nil {
		return artifacts.Info{}, err
	}
	if ctx.Err() != nil {
		return artifacts.Info{}, context.Cause(ctx)
	}
	if err := s.place(temp, key, opts.CreateOnly); err != nil {
		return artifacts.Info{}, err
	}
	in := info(key, fi)
	in.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return in, nil
}

// place moves temp to key and syncs the folder.
func (s *Store) place(temp, key string, createOnly bool) error {
	move := s.root.Rename
	if createOnly {
		move = s.root.Link
	}
	var err error
	for range placeTries {
		if err = s.mkdirAll(path.Dir(key)); err == nil {
			err = move(temp, key)
		}
		switch {
		case err == nil:
			if err = s.syncDir(path.Dir(key)); errors.Is(err, fs.ErrNotExist) {
				return nil // deleted again by someone else
			}
			return err
		case errors.Is(err, fs.ErrNotExist):
			continue // a deleter pruned the folder
		case isDirInTheWay(err) && s.rmdir(key) == nil:
			continue // it was an empty left-over
		}
		break
	}
	if fi, lerr := s.root.Lstat(key); lerr == nil && fi.IsDir() {
		return fmt.Errorf("%w: other keys have it as a folder", artifacts.ErrBadKey)
	}
	if createOnly && errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s", artifacts.ErrExists, key)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: a part of it is an object, not a folder", artifacts.ErrBadKey)
	}
	return err
}

// mkdirAll makes the folder and syncs every parent that got a new entry.
func (s *Store) mkdirAll(folder string) error {
	if folder == "." {
		return nil
	}
	if fi, err := s.root.Lstat(folder); err == nil && fi.IsDir() {
		return nil
	}
	made := ""
	for part := range strings.SplitSeq(folder, "/") {
		next := path.Join(made, part)
		err := s.root.Mkdir(next, 0o755)
		switch {
		case err == nil:
			if err := s.syncDir(path.Dir(next)); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrExist):
			return err
		}
		made = next
	}
	if fi, err := s.root.Lstat(folder); err != nil {
		return err
	} else if !fi.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: folder, Err: syscall.ENOTDIR}
	}
	return nil
}

func (s *Store) syncDir(folder string) error {
	d, err := s.root.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func isDirInTheWay(err error) bool {
	return errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EEXIST) || errors.Is(err, syscall.ENOTEMPTY)
}
