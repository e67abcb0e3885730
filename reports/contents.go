package reports

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Contents describes the values of a Parquet file, independent of how they are
// packed. It is written into the file's own metadata under "harness.contents".
type Contents struct {
	Rows    int64           `json:"rows"`
	Columns []ColumnContent `json:"columns"`
}

// ColumnContent holds the count of nulls and a digest over all values in row
// order. Equal digests mean equal columns.
type ColumnContent struct {
	Name   string `json:"name"`
	Nulls  int64  `json:"nulls"`
	SHA256 string `json:"sha256"`
}

// contentHasher computes Contents from record batches.
type contentHasher struct {
	rows    int64
	columns []*columnHasher
	err     error
}

type columnHasher struct {
	name  string
	nulls int64
	sum   hash.Hash
	buf   []byte
}

func newContentHasher(schema *arrow.Schema) *contentHasher {
	h := &contentHasher{}
	for _, f := range schema.Fields() {
		h.columns = append(h.columns, &columnHasher{name: f.Name, sum: sha256.New(), buf: fmt.Appendln(nil, f.Type)})
	}
	return h
}

func (h *contentHasher) add(rec arrow.RecordBatch) {
	h.rows += rec.NumRows()
	for i, c := range h.columns {
		col := rec.Column(i)
		c.nulls += int64(col.NullN())
		for row := range col.Len() {
			var err error
			if c.buf, err = appendValue(c.buf, col, row); err != nil && h.err == nil {
				h.err = fmt.Errorf("column %s, row %d of a batch: %w", c.name, row, err)
			}
			if len(c.buf) > 4<<10 { // hashing a few bytes at a time is slow
				c.flush()
			}
		}
	}
}

func (c *columnHasher) flush() {
	c.sum.Write(c.buf)
	c.buf = c.buf[:0]
}

func (h *contentHasher) contents() Contents {
	out := Contents{Rows: h.rows, Columns: []ColumnContent{}}
	for _, c := range h.columns {
		c.flush()
		out.Columns = append(out.Columns, ColumnContent{c.name, c.nulls, hex.EncodeToString(c.sum.Sum(nil))})
	}
	return out
}

// appendValue appends a 0 byte for null, else a 1 byte and the value, text and
// lists with their length in front. It also finds what must never be in a file:
// invalid UTF-8, NaN and infinities.
func appendValue(b []byte, a arrow.Array, i int) ([]byte, error) {
	if a.IsNull(i) {
		return append(b, 0), nil
	}
	b = append(b, 1)
	u64 := binary.LittleEndian.AppendUint64
	switch a := a.(type) {
	case *array.String:
		s := a.Value(i)
		if !utf8.ValidString(s) {
			return b, errors.New("not valid UTF-8")
		}
		return append(u64(b, uint64(len(s))), s...), nil
	case *array.Int32:
		return u64(b, uint64(a.Value(i))), nil
	case *array.Int64:
		return u64(b, uint64(a.Value(i))), nil
	case *array.Float64:
		if !isFinite(a.Value(i)) {
			return b, errors.New("not a finite number")
		}
		return u64(b, math.Float64bits(a.Value(i))), nil
	case *array.Boolean:
		if a.Value(i) {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case *array.Timestamp:
		return u64(b, uint64(a.Value(i))), nil
	case *array.List:
		start, end := a.ValueOffsets(i)
		b = u64(b, uint64(end-start))
		for k := start; k < end; k++ {
			var err error
			if b, err = appendValue(b, a.ListValues(), int(k)); err != nil {
				return b, err
			}
		}
		return b, nil
	}
	return b, fmt.Errorf("type %s is in none of the tables", a.DataType())
}
