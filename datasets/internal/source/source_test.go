package source_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"harness/datasets/internal/source"
)

func TestParseName(t *testing.T) {
	for in, want := range map[string]source.Name{
		"a/b/tasks.jsonl":  {Stem: "tasks", Format: source.JSONL},
		"T.X.JSON.GZ":      {Stem: "T.X", Format: source.JSON, Compression: "gz"},
		"p.parquet.zst":    {Stem: "p", Format: source.Parquet, Compression: "zst"},
		"notes.txt":        {Stem: "notes"},
		"README":           {Stem: "README"},
		"predictions.zst":  {Stem: "predictions", Compression: "zst"},
		"dir.json/file.py": {Stem: "file"},
	} {
		if got := source.ParseName(in); got != want {
			t.Errorf("%s: %+v, want %+v", in, got, want)
		}
	}
}

func TestOpenBoundsWhatIsUnpacked(t *testing.T) {
	text := bytes.Repeat([]byte("x"), 1<<20)
	var gz, zs bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{g, z} {
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"a.json": text, "a.json.gz": gz.Bytes(), "a.json.zst": zs.Bytes()} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for limit, ok := range map[int64]bool{1 << 20: true, 1<<20 - 1: false} {
			r, err := source.Open(path, limit)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if ok && (err != nil || !bytes.Equal(got, text)) || !ok && !errors.As(err, new(*source.TooBigError)) {
				t.Errorf("%s, limit %d: %d bytes, %v", name, limit, len(got), err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	f, err := source.OpenAt(filepath.Join(dir, "a.json.zst"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<21)); err != nil || !bytes.Equal(got, text) {
		t.Errorf("random access: %d bytes, %v", len(got), err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := source.OpenAt(filepath.Join(dir, "a.json.gz"), 100); !errors.As(err, new(*source.TooBigError)) {
		t.Errorf("random access beyond the limit: %v", err)
	}
	if _, err := source.Open(dir, 100); err == nil {
		t.Error("a directory was opened")
	}
	pipe := filepath.Join(dir, "pipe.json") // which nobody writes to
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Open(pipe, 100); !errors.As(err, new(*source.IrregularError)) {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := source.OpenAt(pipe, 100); !errors.As(err, new(*source.IrregularError)) {
		t.Errorf("random access to a pipe: %v", err)
	}
	bad := filepath.Join(dir, "bad.json.gz")
	if err := os.WriteFile(bad, []byte("not gzip"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Open(bad, 100); err == nil {
		t.Error("a file that is not gzip was opened")
	}
}
