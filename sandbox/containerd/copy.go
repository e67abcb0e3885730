package containerd

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"harness/sandbox"
)

// The image has a POSIX shell and coreutils (or busybox), no more. Paths are
// arguments, never part of a script.
const (
	copyInScript = `umask 077 && mkdir -p -- "$1" && { [ ! -d "$2" ] || { echo "is a directory" >&2; exit 45; }; } && cat >"$2" && chmod "$3" "$2"`
	// 44: not there; 45: not a regular file.
	copyOutScript = `[ -e "$1" ] || exit 44; [ -f "$1" ] || exit 45; exec head -c "$2" <"$1"`
)

// CopyIn implements sandbox.Sandbox.
func (s *Sandbox) CopyIn(ctx context.Context, name string, mode fs.FileMode, size int64, r io.Reader) error {
	fail := func(err error) error {
		return fmt.Errorf("copy %q into sandbox %s: %w", clip(name, 200), s.id, err)
	}
	if err := sandbox.ValidPath(name); err != nil {
		return fail(err)
	}
	if size < 0 {
		return fail(fmt.Errorf("%w: size %d", sandbox.ErrInvalidSpec, size))
	}
	src := &countReader{r: io.LimitReader(r, size)}
	var stderr headBuffer
	exit, in, err := s.exec(ctx, sandbox.Process{
		Args:  []string{"/bin/sh", "-c", copyInScript, "sh", path.Dir(name), name, strconv.FormatUint(uint64(mode.Perm()), 8)},
		Stdin: src, Stderr: &stderr, WorkDir: "/",
	})
	if err != nil {
		return fail(err)
	}
	if exit.TimedOut {
		return fail(context.Cause(ctx))
	}
	if err := copyExit(exit, &stderr); err != nil {
		return fail(err)
	}
	sent, err := in.result(ctx)
	switch {
	case err != nil:
		return fail(fmt.Errorf("read the source: %w", err))
	case src.n != size:
		return fail(fmt.Errorf("read the source: %w: %d of %d bytes", io.ErrUnexpectedEOF, src.n, size))
	case sent != size:
		return fail(fmt.Errorf("%w: it took %d of %d bytes", sandbox.ErrInside, sent, size))
	}
	return nil
}

// CopyOut implements sandbox.Sandbox.
func (s *Sandbox) CopyOut(ctx context.Context, name string, w io.Writer, limit int64) (int64, error) {
	fail := func(err error) error {
		return fmt.Errorf("copy %q out of sandbox %s: %w", clip(name, 200), s.id, err)
	}
	if err := sandbox.ValidPath(name); err != nil {
		return 0, fail(err)
	}
	if limit < 0 {
		return 0, fail(fmt.Errorf("%w: limit %d", sandbox.ErrInvalidSpec, limit))
	}
	// The tool inside is asked for one byte more than allowed; that it obeys is
	// not relied upon.
	out := &capWriter{w: w, left: limit}
	var stderr headBuffer
	exit, _, err := s.exec(ctx, sandbox.Process{
		Args:   []string{"/bin/sh", "-c", copyOutScript, "sh", name, strconv.FormatInt(limit+1, 10)},
		Stdout: out, Stderr: &stderr, WorkDir: "/",
	})
	switch {
	case err != nil:
		return out.n, fail(err)
	case exit.TimedOut:
		return out.n, fail(context.Cause(ctx))
	case out.over:
		return out.n, fail(fmt.Errorf("%w: more than %d bytes", sandbox.ErrTooLarge, limit))
	case out.err != nil:
		return out.n, fail(fmt.Errorf("write the copy: %w", out.err))
	case exit.Code == 44 && !exit.Died:
		return 0, fail(fmt.Errorf("%w: %w", sandbox.ErrInside, fs.ErrNotExist))
	case exit.Code == 45 && !exit.Died:
		return 0, fail(fmt.Errorf("%w: not a regular file", sandbox.ErrInside))
	}
	if err := copyExit(exit, &stderr); err != nil {
		return out.n, fail(err)
	}
	if exit.Dropped > 0 {
		return out.n, fail(fmt.Errorf("write the copy: %d bytes were not taken in time", exit.Dropped))
	}
	return out.n, nil
}

func copyExit(exit sandbox.Exit, stderr *headBuffer) error {
	switch {
	case exit.Died:
		return fmt.Errorf("%w: the sandbox ended meanwhile", sandbox.ErrInside)
	case exit.Code != 0:
		return fmt.Errorf("%w: exit status %d: %q", sandbox.ErrInside, exit.Code, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// headBuffer keeps the first bytes of a message and swallows the rest.
type headBuffer struct{ b []byte }

func (h *headBuffer) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), 400-len(h.b))]...)
	return len(p), nil
}

func (h *headBuffer) String() string { return string(h.b) }

// capWriter passes on at most left bytes and remembers whether there were more.
type capWriter struct {
	w       io.Writer
	left, n int64
	over    bool
	err     error
}

func (c *capWriter) Write(p []byte) (int, error) {
	take := p[:min(int64(len(p)), c.left)]
	if len(take) < len(p) {
		c.over = true
	}
	if c.err == nil && len(take) > 0 {
		var n int
		n, c.err = c.w.Write(take)
		c.n += int64(n)
		c.left -= int64(n)
	}
	return len(p), nil // the process inside is never stopped by us
}
