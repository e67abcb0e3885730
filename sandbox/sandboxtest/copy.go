package sandboxtest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"harness/sandbox"
)

var copyTests = []test{
	{"copy in and out", []sandbox.Capability{sandbox.CapCopy}, testCopy},
	{"copies that fail", []sandbox.Capability{sandbox.CapCopy}, testCopyFaults},
	{"copies and hostile tools", []sandbox.Capability{sandbox.CapCopy, sandbox.CapExec}, testCopyHostile},
}

func testCopy(t *testing.T, e *env) {
	b := e.create(t)
	big := make([]byte, 20<<20)
	rnd := rand.NewChaCha8([32]byte{1})
	_, _ = rnd.Read(big)
	for _, c := range []struct {
		name, path string
		data       []byte
		mode       fs.FileMode
	}{
		{"text", "/new/folder/text", []byte("hello\n"), 0o644},
		{"bytes", "/new/bytes", []byte("\x00\xff\r\n'\"$(reboot)"), 0o755},
		{"empty", "/new/empty", nil, 0o600},
		{"20 MiB", "/new/big", big, 0o644},
		{"odd name", "/new/-rf '$(x)'\n;", []byte("x"), 0o644},
		{"overwrite", "/new/folder/text", []byte("bye"), 0o644},
	} {
		if err := b.CopyIn(t.Context(), c.path, c.mode, int64(len(c.data)), bytes.NewReader(c.data)); err != nil {
			t.Errorf("%s: in: %v", c.name, err)
			continue
		}
		var out bytes.Buffer
		n, err := b.CopyOut(t.Context(), c.path, &out, int64(len(c.data))) // exactly at the limit
		if err != nil || n != int64(len(c.data)) || !bytes.Equal(out.Bytes(), c.data) {
			t.Errorf("%s: out: %d of %d bytes, equal %v, %v", c.name, n, len(c.data), bytes.Equal(out.Bytes(), c.data), err)
		}
	}
	// The reader is not read beyond the size.
	r := strings.NewReader("abcdef")
	if err := b.CopyIn(t.Context(), "/new/part", 0o644, 3, r); err != nil || r.Len() != 3 {
		t.Errorf("size 3 of 6: %v, %d left", err, r.Len())
	}
}

func testCopyFaults(t *testing.T, e *env) {
	b := e.create(t)
	ctx := t.Context()
	if err := b.CopyIn(ctx, "/d/file", 0o644, 100, strings.NewReader(strings.Repeat("x", 100))); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken source")
	for name, c := range map[string]struct {
		got  error
		want error
	}{
		"missing":               {out(b, t, "/none", 10), fs.ErrNotExist},
		"missing is inside":     {out(b, t, "/none", 10), sandbox.ErrInside},
		"folder":                {out(b, t, "/d", 10), sandbox.ErrInside},
		"one byte too large":    {out(b, t, "/d/file", 99), sandbox.ErrTooLarge},
		"limit zero":            {out(b, t, "/d/file", 0), sandbox.ErrTooLarge},
		"relative path":         {out(b, t, "d/file", 10), sandbox.ErrInvalidSpec},
		"path with dots":        {out(b, t, "/d/../d/file", 10), sandbox.ErrInvalidSpec},
		"into a folder":         {b.CopyIn(ctx, "/d", 0o644, 1, strings.NewReader("x")), sandbox.ErrInside},
		"below a file":          {b.CopyIn(ctx, "/d/file/x", 0o644, 1, strings.NewReader("x")), sandbox.ErrInside},
		"source too short":      {b.CopyIn(ctx, "/d/short", 0o644, 5, strings.NewReader("x")), io.ErrUnexpectedEOF},
		"source breaks":         {b.CopyIn(ctx, "/d/broken", 0o644, 5, io.MultiReader(strings.NewReader("x"), bad{broken})), broken},
		"negative size":         {b.CopyIn(ctx, "/d/neg", 0o644, -1, strings.NewReader("x")), sandbox.ErrInvalidSpec},
		"in with relative path": {b.CopyIn(ctx, "x", 0o644, 1, strings.NewReader("x")), sandbox.ErrInvalidSpec},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if _, err := b.CopyOut(ctx, "/d/file", &limited{n: 3}, 1000); err == nil || errors.Is(err, sandbox.ErrInside) {
		t.Errorf("writer that fails: %v", err)
	}
	// None of it has done harm.
	if err := out(b, t, "/d/file", 100); err != nil {
		t.Error(err)
	}
}

type bad struct{ err error }

func (b bad) Read([]byte) (int, error) { return 0, b.err }

func out(b sandbox.Sandbox, t *testing.T, path string, limit int64) error {
	_, err := b.CopyOut(t.Context(), path, io.Discard, limit)
	return err
}

func testCopyHostile(t *testing.T, e *env) {
	b := e.create(t)
	must(t, b, `mkdir /h; mkfifo /h/fifo; ln -s /etc/passwd /h/link; ln -s loop /h/loop; truncate -s 1T /h/sparse 2>/dev/null || truncate -s 200M /h/sparse`)
	for _, path := range []string{"/h/fifo", "/h/loop", "/dev/zero"} {
		if err := out(b, t, path, 1000); !errors.Is(err, sandbox.ErrInside) {
			t.Errorf("copy of %s: %v", path, err)
		}
	}
	if err := out(b, t, "/h/sparse", 1<<20); !errors.Is(err, sandbox.ErrTooLarge) {
		t.Errorf("copy of a huge sparse file: %v", err)
	}
	// A tool that ignores its limit.
	must(t, b, `printf '#!/bin/sh\nexec head.real -c 50000000 /dev/zero\n' >/h/head; cp "$(command -v head)" /usr/local/bin/head.real; cp /h/head /usr/local/bin/head; chmod 755 /usr/local/bin/head`)
	if err := out(b, t, "/etc/passwd", 1<<20); !errors.Is(err, sandbox.ErrTooLarge) {
		t.Errorf("copy with a lying tool: %v", err)
	}
	// No shell at all any more.
	must(t, b, `rm -f /bin/sh`)
	if err := out(b, t, "/etc/passwd", 1<<20); !errors.Is(err, sandbox.ErrInside) {
		t.Errorf("copy without a shell: %v", err)
	}
	if f := end(t, b); f.Died {
		t.Errorf("final %+v", f)
	}
}
