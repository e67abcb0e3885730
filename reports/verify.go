package reports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// ErrDamaged is wrapped by every error that says that a Parquet file does not
// hold what was written to it.
var ErrDamaged = errors.New("table is damaged")

// readBatch bounds the rows in memory while a table is read.
const readBatch = 8 << 10

// Verify reads the whole Parquet file and compares it with the record of its
// contents that it carries: rows, nulls and a digest of the values of each
// column. An error that wraps ErrDamaged names what differs.
func Verify(path string) error {
	t, err := openTable(path)
	if err != nil {
		return err
	}
	defer t.close()
	return t.verifySelf(context.Background())
}

func (t *tableReader) verifySelf(ctx context.Context) error {
	raw := t.reader.MetaData().KeyValueMetadata().FindValue(contentsKey)
	if raw == nil {
		return fmt.Errorf("verify %s: it has no %q record, so it was not written by the harness", t.path, contentsKey)
	}
	var want Contents
	if err := json.Unmarshal([]byte(*raw), &want); err != nil {
		return fmt.Errorf("verify %s: %w: its %q record can't be read: %w", t.path, ErrDamaged, contentsKey, err)
	}
	return t.verify(ctx, want)
}

// verifyAgainst is Verify against what the writer remembers instead of what the file says.
func verifyAgainst(ctx context.Context, path string, want Contents) error {
	t, err := openTable(path)
	if err != nil {
		return err
	}
	defer t.close()
	return t.verify(ctx, want)
}

// tableReader is an open Parquet file of ours.
type tableReader struct {
	path   string
	file   *os.File
	reader *file.Reader
	arrow  *pqarrow.FileReader
	schema *arrow.Schema
}

func openTable(path string) (*tableReader, error) { return openTableAs(path, path) }

// openTableAs opens the file at path that errors call by another name.
func openTableAs(path, name string) (t *tableReader, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open table: %w", err)
	}
	defer func() {
		// The Parquet library panics over some kinds of damage.
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("%v", p)
		}
		if err != nil {
			f.Close()
			err = fmt.Errorf("open table %s: %w: %w", name, ErrDamaged, err)
		}
	}()
	r, err := file.NewParquetReader(f)
	if err != nil {
		return nil, err
	}
	a, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{BatchSize: readBatch}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	s, err := a.Schema()
	if err != nil {
		return nil, err
	}
	return &tableReader{path: name, file: f, reader: r, arrow: a, schema: s}, nil
}

func (t *tableReader) close() { t.file.Close() }

func (t *tableReader) verify(ctx context.Context, want Contents) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		if err != nil {
			err = fmt.Errorf("verify %s: %w: %w", t.path, ErrDamaged, err)
		}
	}()
	if got := t.reader.NumRows(); got != want.Rows {
		return fmt.Errorf("the footer counts %d rows, %d were written", got, want.Rows)
	}
	h := newContentHasher(t.schema)
	if want.Rows > 0 {
		batches, err := t.arrow.GetRecordReader(ctx, nil, nil)
		if err != nil {
			return err
		}
		defer batches.Release()
		for batches.Next() {
			h.add(batches.RecordBatch())
		}
		if err := batches.Err(); err != nil {
			return err
		}
	}
	if h.err != nil {
		return h.err
	}
	got := h.contents()
	if got.Rows != want.Rows {
		return fmt.Errorf("%d rows can be read, %d were written", got.Rows, want.Rows)
	}
	if len(got.Columns) != len(want.Columns) {
		return fmt.Errorf("it has %d columns, %d were written", len(got.Columns), len(want.Columns))
	}
	for i, w := range want.Columns {
		switch g := got.Columns[i]; {
		case g.Name != w.Name:
			return fmt.Errorf("column %d is %q, %q was written", i, g.Name, w.Name)
		case g.Nulls != w.Nulls:
			return fmt.Errorf("column %s has %d nulls, %d were written", w.Name, g.Nulls, w.Nulls)
		case g.SHA256 != w.SHA256:
			return fmt.Errorf("the values of column %s are not those that were written", w.Name)
		}
	}
	return nil
}
