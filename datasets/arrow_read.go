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

	"harness/datasets/internal/arrowcheck"
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
	head := min(limit, maxArrowHead)
	stream := arrowcheck.NewReader(f, head, limit)
	// ipc.NewReader would leave the limits aside.
	in, err := ipc.NewReaderFromMessageReader(ipc.NewMessageReader(stream, ipc.WithBodySizeLimit(limit), ipc.WithMetadataSizeLimit(head)))
	if err != nil {
		return fmt.Errorf("read arrow: %w", err)
	}
	defer in.Release()
	var r row
	w := arrowWriter{limit: l.opts.MaxRecordBytes, left: l.opts.MaxBytes}
	for in.Next() {
		batch := in.RecordBatch()
		for i := range int(batch.NumRows()) {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := w.row(batch, i)
			if w.left < 0 {
				return &source.TooBigError{Max: l.opts.MaxBytes}
			}
			if err := l.record(&r, w.to, 0, err); err != nil {
				return err
			}
		}
	}
	if err := in.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read arrow: %w", err)
	}
	// The library takes the end of a file for the end of a stream.
	if !stream.Whole() {
		return errors.New("read arrow: the file does not end with the end of its stream: it was cut off")
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

// arrowWriter writes rows as JSON objects.
type arrowWriter struct {
	to    []byte // the row
	limit int    // most bytes of a row
	left  int64  // bytes that rows may still have: columns can name the same value often
}

func (w *arrowWriter) row(rec arrow.RecordBatch, i int) error {
	w.to = append(w.to[:0], '{')
	defer func() { w.left -= int64(len(w.to)) }()
	for j := range int(rec.NumCols()) {
		if j > 0 {
			w.to = append(w.to, ',')
		}
		w.to = append(appendJSONText(w.to, rec.ColumnName(j)), ':')
		if err := w.value(rec.Column(j), i); err != nil {
			return fmt.Errorf("%w: column %s: %w", errBadRecord, rec.ColumnName(j), err)
		}
	}
	w.to = append(w.to, '}')
	if len(w.to) > w.limit {
		return fmt.Errorf("%w: %w", errBadRecord, w.tooLong())
	}
	return nil
}

// value writes one value. Text keeps its bytes.
func (w *arrowWriter) value(col arrow.Array, i int) error {
	if len(w.to) > w.limit {
		return w.tooLong()
	}
	if _, null := col.(*array.Null); null || col.IsNull(i) {
		w.to = append(w.to, "null"...)
		return nil
	}
	switch a := col.(type) {
	case *array.Dictionary:
		return w.value(a.Dictionary(), a.GetValueIndex(i))
	case array.StringLike:
		return writeText(w, a.Value(i))
	case interface{ Value(int) []byte }: // the binary types
		return writeText(w, a.Value(i))
	case array.ListLike:
		w.to = append(w.to, '[')
		start, end := a.ValueOffsets(i)
		for k := start; k < end; k++ {
			if k > start {
				w.to = append(w.to, ',')
			}
			if err := w.value(a.ListValues(), int(k)); err != nil {
				return err
			}
		}
		w.to = append(w.to, ']')
		return nil
	case *array.Struct:
		w.to = append(w.to, '{')
		for k := range a.NumField() {
			if k > 0 {
				w.to = append(w.to, ',')
			}
			w.to = append(appendJSONText(w.to, a.DataType().(*arrow.StructType).Field(k).Name), ':')
			if err := w.value(a.Field(k), i); err != nil {
				return err
			}
		}
		w.to = append(w.to, '}')
		return nil
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit
		w.to = appendJSONText(w.to, a.Value(i).ToTime(unit).UTC().Format(time.RFC3339Nano))
		return nil
	}
	raw, err := json.Marshal(col.GetOneForMarshal(i))
	if err != nil {
		return fmt.Errorf("a value of type %s: %w", col.DataType(), err)
	}
	w.to = append(w.to, raw...)
	return nil
}

func writeText[T string | []byte](w *arrowWriter, s T) error {
	if len(s) > w.limit {
		return w.tooLong()
	}
	w.to = appendJSONText(w.to, s)
	return nil
}

func (w *arrowWriter) tooLong() error { return fmt.Errorf("the row is longer than %d bytes", w.limit) }
