package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"harness/eval"
	"harness/sandbox"
)

// Wheelhouse is where steps find the files of the lock.
const Wheelhouse = "/wheelhouse"

// gitCommit makes the one commit of an image. Everything in it is fixed, so
// that equal trees give equal commits; the index is written without the file
// system's own numbers, and nothing but the commit's closure is kept.
const gitCommit = `cd "$1"
rm -rf .git
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=harness GIT_AUTHOR_EMAIL=harness@localhost GIT_COMMITTER_NAME=harness GIT_COMMITTER_EMAIL=harness@localhost
export GIT_AUTHOR_DATE="$SOURCE_DATE_EPOCH +0000" GIT_COMMITTER_DATE="$SOURCE_DATE_EPOCH +0000"
git init -q -b main --template=
mkdir -p .git/info
printf '%s\n' '__pycache__/' '*.pyc' >.git/info/exclude
git config core.logAllRefUpdates false
git config gc.auto 0
git add -A -f -- . ':(exclude,glob)**/__pycache__/**'
git commit -q -m 'Base of the task'
git -c pack.threads=1 -c pack.window=0 repack -q -a -d
rm -f .git/COMMIT_EDITMSG .git/index
git read-tree HEAD
`

// layer runs the recipe's steps in a sandbox on top of the parent's image and
// writes the outputs as a layer into w.
func (b *Builder) layer(ctx context.Context, r *Recipe, parent Built, w io.Writer) (err error) {
	if b.Runtime == nil {
		return errors.New("its steps need a sandbox, and no runtime is set up: run `harness sandbox doctor`")
	}
	locked, err := b.fetch(ctx, r)
	if err != nil {
		return err
	}
	limits := r.limits()
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(limits.WallSeconds)*time.Second,
		fmt.Errorf("the build took longer than %d seconds: raise limits.timeout_seconds of the recipe", limits.WallSeconds))
	defer cancel()

	id := buildID()
	b.log().Info("building in a sandbox", "image", r.Name, "sandbox_id", id, "from", parent.Ref, "files", len(locked), "steps", len(r.Steps))
	box, err := b.Runtime.Create(ctx, sandbox.Spec{
		ID: id, Owner: id, Trial: "image/" + r.Name, ImageDigest: parent.Digest,
		Env: r.buildEnv(), WorkDir: "/", Limits: limits, Network: eval.NetworkNone,
		Lease: time.Duration(limits.WallSeconds+600) * time.Second,
	})
	if err != nil {
		return fmt.Errorf("start the build's sandbox: %w", err)
	}
	defer func() {
		final, closeErr := box.Close(context.WithoutCancel(ctx))
		if err != nil && final.OOMKilled {
			err = fmt.Errorf("%w: the sandbox ran out of its %d MiB of memory: raise limits.memory_mib", err, limits.MemoryBytes/eval.MiB)
		} else if err != nil && final.DiskFull {
			err = fmt.Errorf("%w: the sandbox ran out of its %d MiB of disk: raise limits.disk_mib", err, limits.DiskBytes/eval.MiB)
		}
		err = errors.Join(err, closeErr)
	}()
	s := buildSandbox{box: box, builder: b, recipe: r}
	if err := s.copyIn(ctx, locked); err != nil {
		return err
	}
	for i, step := range r.Steps {
		started := time.Now()
		if err := s.bash(ctx, fmt.Sprintf("step %d of %d", i+1, len(r.Steps)), step); err != nil {
			return err
		}
		b.log().Info("build step done", "image", r.Name, "step", i+1, "seconds", time.Since(started).Seconds())
	}
	if r.Commit != nil {
		if err := s.bash(ctx, "git commit of "+r.Commit.Dir, gitCommit, r.Commit.Dir); err != nil {
			return err
		}
	}
	return s.export(ctx, w)
}

func (b *Builder) fetch(ctx context.Context, r *Recipe) ([]string, error) {
	if r.Lock == nil {
		return nil, nil
	}
	if b.Fetcher == nil {
		return nil, fmt.Errorf("it needs %d files from the package index, and no fetcher is set up", len(r.Lock.Files))
	}
	paths := make([]string, len(r.Lock.Files))
	for i, f := range r.Lock.Files {
		var err error
		if paths[i], err = b.Fetcher.Fetch(ctx, f); err != nil {
			return nil, fmt.Errorf("fetch: %w", err)
		}
	}
	return paths, nil
}

// buildEnv makes tools repeat themselves: fixed time and hash seed, no
// byte code beside sources but where a step asks for it, no network tried.
func (r *Recipe) buildEnv() []string {
	return append(r.env(),
		"SOURCE_DATE_EPOCH="+strconv.FormatInt(Epoch.Unix(), 10), "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1",
		"LC_ALL=C.UTF-8", "TZ=UTC", "HOME=/root", "GOFLAGS=-trimpath", "GOPROXY=off", "npm_config_offline=true",
		"PIP_NO_INDEX=1", "PIP_FIND_LINKS="+Wheelhouse, "PIP_NO_CACHE_DIR=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_ROOT_USER_ACTION=ignore",
	)
}

type buildSandbox struct {
	box     sandbox.Sandbox
	builder *Builder
	recipe  *Recipe
}

// copyIn places the locked files and streams the recipe's own.
func (s *buildSandbox) copyIn(ctx context.Context, locked []string) error {
	for i, p := range locked {
		f := s.recipe.Lock.Files[i]
		if err := s.copyFile(ctx, p, path.Join(Wheelhouse, f.Name), f.Size); err != nil {
			return fmt.Errorf("copy %s into the sandbox: %w", f.Name, err)
		}
	}
	for i, set := range s.recipe.Files {
		if err := s.stream(ctx, set); err != nil {
			return fmt.Errorf("copy files[%d] into the sandbox: %w", i, err)
		}
	}
	return nil
}

func (s *buildSandbox) copyFile(ctx context.Context, from, to string, size int64) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.box.CopyIn(ctx, to, 0o444, size, f)
}

// stream sends a FileSet as one tar stream.
func (s *buildSandbox) stream(ctx context.Context, set FileSet) error {
	pr, pw := io.Pipe()
	defer pr.Close()
	go func() {
		tw := tar.NewWriter(pw)
		err := s.recipe.walkFiles(set, func(e fileEntry) error { return writeEntry(tw, e) })
		if err == nil {
			err = tw.Close()
		}
		pw.CloseWithError(err)
	}()
	return s.exec(ctx, "unpack", pr, nil, "tar", "-x", "-p", "--no-same-owner", "-C", "/", "-f", "-")
}

func writeEntry(tw *tar.Writer, e fileEntry) error {
	h := &tar.Header{Name: e.to[1:], Mode: e.tarMode(), ModTime: Epoch, Format: tar.FormatPAX}
	switch {
	case e.mode.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
	case e.link != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
	default:
		h.Typeflag, h.Size = tar.TypeReg, e.size
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	f, err := os.Open(e.local)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(tw, f, e.size)
	return err
}

func (s *buildSandbox) bash(ctx context.Context, what, script string, args ...string) error {
	return s.exec(ctx, what, nil, nil, append([]string{"bash", "-euo", "pipefail", "-c", script, "bash"}, args...)...)
}

// exec runs one process of the build. Its last words go into the error.
func (s *buildSandbox) exec(ctx context.Context, what string, stdin io.Reader, stdout io.Writer, args ...string) error {
	var said tail
	p := sandbox.Process{Args: args, Stdin: stdin, Stdout: stdout, Stderr: &said}
	if stdout == nil {
		p.Stdout = &said
	}
	exit, err := s.box.Exec(ctx, p)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%s: %w", what, cause)
	}
	switch {
	case exit.Died:
		return fmt.Errorf("%s: the sandbox died: %s", what, said.text())
	case exit.Code != 0:
		return fmt.Errorf("%s failed with exit code %d: %s", what, exit.Code, said.text())
	case stdout != nil && exit.Dropped > 0:
		return fmt.Errorf("%s: the output is larger than allowed, or could not be stored (%d bytes were lost)", what, exit.Dropped)
	}
	return nil
}

// export streams the outputs out and rewrites them as a layer. The stream rests
// in a file in between: a process in a sandbox never waits for its reader.
func (s *buildSandbox) export(ctx context.Context, w io.Writer) error {
	spool, err := os.CreateTemp(s.builder.CacheDir, ".spool-*")
	if err != nil {
		return fmt.Errorf("export outputs: %w", err)
	}
	defer os.Remove(spool.Name())
	defer spool.Close()

	args := []string{"tar", "-c", "--sort=name", "--format=gnu", "--numeric-owner", "-C", "/", "-f", "-", "--"}
	for _, o := range s.recipe.Outputs {
		args = append(args, o[1:])
	}
	capped := &cappedWriter{w: spool, left: maxLayerBytes + maxLayerEntries*2048}
	if err := s.exec(ctx, "export outputs", nil, capped, args...); err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("export outputs: %w", err)
	}
	stats, err := rewriteLayer(ctx, w, spool, layerPolicy{roots: s.recipe.Outputs, maxEntries: maxLayerEntries, maxBytes: maxLayerBytes})
	if err != nil {
		return fmt.Errorf("export outputs: %w", err)
	}
	s.builder.log().Info("outputs exported", "image", s.recipe.Name, "entries", stats.Entries, "bytes", stats.Bytes)
	return nil
}

type cappedWriter struct {
	w    io.Writer
	left int64
}

func (c *cappedWriter) Write(p []byte) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		return 0, sandbox.ErrTooLarge
	}
	return c.w.Write(p)
}

func buildID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return "build-" + hex.EncodeToString(b[:])
}

// tail keeps the end of what a command says.
type tail struct{ b bytes.Buffer }

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.b.Write(p)
	if t.b.Len() > 16*tailBytes {
		t.b.Next(t.b.Len() - tailBytes)
	}
	return len(p), nil
}

// text is printable: what it says was written by who knows whom.
func (t *tail) text() string {
	b := t.b.Bytes()
	if len(b) > tailBytes {
		b = b[len(b)-tailBytes:]
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, string(b)))
}
