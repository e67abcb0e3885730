package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"harness/datasets/internal/source"
)

// maxArrowBatch bounds one batch of rows (save_to_disk writes up to 1,000 in one),
// maxArrowHead what describes it.
const (
	maxArrowBatch int64 = 1 << 30
	maxArrowHead  int64 = 16 << 20
)

// readArrow reads a stream of record batches. Each row is taken as the JSON
// object that it stands for.
func (l *loader) readArrow(ctx context.Context) (err error) {
	// The Arrow library panics on some damaged files.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read arrow: the file is damaged: %v", r)
		}
	}()
	f, err := source.Open(l.ds.Path, l.opts.MaxBytes)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	limit, err := l.arrowLimit()
	if err != nil {
		return err
	}
	tail := &tailReader{r: f}
	in, err := ipc.NewReader(tail, ipc.WithBodySizeLimit(limit), ipc.WithMetadataSizeLimit(min(limit, maxArrowHead)))
	if err != nil {
		return fmt.Errorf("read arrow: %w", err)
	}
	defer in.Release()
	var r row
	var rec []byte
	for in.Next() {
		batch := in.RecordBatch()
		for i := range int(batch.NumRows()) {
			if err := ctx.Err(); err != nil {
				return err
			}
			rec, err = arrowRow(rec[:0], batch, i)
			if err == nil && len(rec) > l.opts.MaxRecordBytes {
				err = fmt.Errorf("%w: the row is longer than %d bytes", errBadRecord, l.opts.MaxRecordBytes)
			}
			if err := l.record(&r, rec, 0, err); err != nil {
				return err
			}
		}
	}
	if err := in.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read arrow: %w", err)
	}
	// The library takes the end of a file for the end of a stream.
	if string(tail.last) != arrowEnd {
		return fmt.Errorf("read arrow: the file does not end with the end of its stream: it was cut off")
	}
	return nil
}

// arrowLimit is the most that a part of the stream can hold. The library makes room
// for as much as the file says before it reads, so a file says no more than it has.
func (l *loader) arrowLimit() (int64, error) {
	limit := min(maxArrowBatch, l.opts.MaxBytes)
	if source.ParseName(l.ds.Path).Compression != "" {
		return limit, nil
	}
	info, err := os.Stat(l.ds.Path)
	if err != nil {
		return 0, err
	}
	return min(limit, info.Size()), nil
}

// arrowEnd is the mark at the end of a stream.
const arrowEnd = "\xff\xff\xff\xff\x00\x00\x00\x00"

// tailReader remembers the last bytes that were read.
type tailReader struct {
	r    io.Reader
	last []byte
}

func (t *tailReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	got := p[:n]
	got = got[max(0, n-len(arrowEnd)):]
	t.last = append(t.last, got...)
	t.last = append(t.last[:0], t.last[max(0, len(t.last)-len(arrowEnd)):]...)
	return n, err
}

// arrowRow writes row i as a JSON object.
func arrowRow(to []byte, rec arrow.RecordBatch, i int) ([]byte, error) {
	to = append(to, '{')
	for j := range int(rec.NumCols()) {
		if j > 0 {
			to = append(to, ',')
		}
		to = append(appendJSONText(to, rec.ColumnName(j)), ':')
		var err error
		if to, err = arrowJSON(to, rec.Column(j), i); err != nil {
			return to, fmt.Errorf("%w: column %s: %w", errBadRecord, rec.ColumnName(j), err)
		}
	}
	return append(to, '}'), nil
}

// arrowJSON writes one value as JSON. Text keeps its bytes.
func arrowJSON(to []byte, col arrow.Array, i int) ([]byte, error) {
	if _, null := col.(*array.Null); null || col.IsNull(i) {
		return append(to, "null"...), nil
	}
	switch a := col.(type) {
	case *array.Dictionary:
		return arrowJSON(to, a.Dictionary(), a.GetValueIndex(i))
	case array.StringLike:
		return appendJSONText(to, a.Value(i)), nil
	case interface{ Value(int) []byte }: // the binary types
		return appendJSONText(to, a.Value(i)), nil
	case array.ListLike:
		to = append(to, '[')
		start, end := a.ValueOffsets(i)
		for k := start; k < end; k++ {
			if k > start {
				to = append(to, ',')
			}
			var err error
			if to, err = arrowJSON(to, a.ListValues(), int(k)); err != nil {
				return to, err
			}
		}
		return append(to, ']'), nil
	case *array.Struct:
		to = append(to, '{')
		for k := range a.NumField() {
			if k > 0 {
				to = append(to, ',')
			}
			to = append(appendJSONText(to, a.DataType().(*arrow.StructType).Field(k).Name), ':')
			var err error
			if to, err = arrowJSON(to, a.Field(k), i); err != nil {
				return to, err
			}
		}
		return append(to, '}'), nil
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit
		return appendJSONText(to, a.Value(i).ToTime(unit).UTC().Format(time.RFC3339Nano)), nil
	}
	raw, err := json.Marshal(col.GetOneForMarshal(i))
	if err != nil {
		return to, fmt.Errorf("a value of type %s: %w", col.DataType(), err)
	}
	return append(to, raw...), nil
}
