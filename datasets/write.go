package datasets

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"harness/datasets/internal/source"
	"harness/eval"
)

// WriteJSONL writes the canonical JSON of each task on a line of its own.
func WriteJSONL(w io.Writer, tasks []eval.Task) error {
	bw := bufio.NewWriterSize(w, 256<<10)
	d := newDigester()
	for i := range tasks {
		line, err := d.add(&tasks[i])
		if err != nil {
			return err
		}
		if _, err := bw.Write(line); err != nil {
			return fmt.Errorf("write tasks: %w", err)
		}
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("write tasks: %w", err)
	}
	return nil
}

// WriteParquet writes the tasks of ds in the one schema that all our Parquet
// files of tasks have, with name, split, source and digest in the file's metadata. The
// digest is computed here; ds.Digest is not relied on.
func WriteParquet(w io.Writer, ds *Dataset) error {
	digest, err := Digest(ds.Tasks)
	if err != nil {
		return err
	}
	return writeParquet(w, &Dataset{Name: ds.Name, Split: ds.Split, Source: ds.Source, Digest: digest, Tasks: ds.Tasks})
}

// CheckFileName refuses names of files that WriteFile has no form for.
func CheckFileName(path string) error {
	n := source.ParseName(path)
	if n.Format != source.JSONL && n.Format != source.Parquet || n.Format == source.Parquet && n.Compression != "" {
		return fmt.Errorf("write dataset %s: name the file .jsonl, .jsonl.gz, .jsonl.zst or .parquet", path)
	}
	return nil
}

// WriteFile stores ds as path says: .jsonl (also .gz, .zst) or .parquet. The
// file is written beside its place, opened again and compared by digest, and
// only then takes the name, so a file of that name is always whole; one that
// was there is replaced.
func WriteFile(ctx context.Context, path string, ds *Dataset) (err error) {
	if err := CheckFileName(path); err != nil {
		return err
	}
	n := source.ParseName(path)
	defer func() {
		if err != nil {
			err = fmt.Errorf("write dataset %s: %w", path, err)
		}
	}()
	if len(ds.Tasks) == 0 {
		return errors.New("there are no tasks to write")
	}
	// The temporary name keeps the extensions: the check reads the file by them.
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*-"+filepath.Base(path))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tmp.Close(), os.Remove(tmp.Name()))
		}
	}()
	if err := writeTo(tmp, n, ds); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	back, err := Load(ctx, tmp.Name(), Options{})
	if err != nil {
		return fmt.Errorf("check what was written: %w", err)
	}
	want, err := Digest(ds.Tasks)
	if err != nil {
		return err
	}
	if back.Digest != want || len(back.Tasks) != len(ds.Tasks) {
		return fmt.Errorf("check what was written: %w: %d tasks with digest %.12s, %d with %.12s were given", ErrDigest, len(back.Tasks), back.Digest, len(ds.Tasks), want)
	}
	if err := tmp.Chmod(0o644); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return tmp.Close()
}

func writeTo(w io.Writer, n source.Name, ds *Dataset) error {
	if n.Format == source.Parquet {
		return WriteParquet(w, ds)
	}
	var z io.WriteCloser
	switch n.Compression {
	case "gz":
		z = gzip.NewWriter(w)
	case "zst":
		var err error
		if z, err = zstd.NewWriter(w); err != nil {
			return err
		}
	default:
		return WriteJSONL(w, ds.Tasks)
	}
	return errors.Join(WriteJSONL(z, ds.Tasks), z.Close())
}
