package reports

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
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
	out   *bufio.Writer // hashing a few bytes at a time is slow
}

func newContentHasher(schema *arrow.Schema) *contentHasher {
	h := &contentHasher{}
	for _, f := range schema.Fields() {
		sum := sha256.New()
		c := &columnHasher{name: f.Name, sum: sum, out: bufio.NewWriterSize(sum, 4<<10)}
		fmt.Fprintf(c.out, "%s\n", f.Type)
		h.columns = append(h.columns, c)
	}
	return h
}

func (h *contentHasher) add(rec arrow.RecordBatch) {
	h.rows += rec.NumRows()
	for i, c := range h.columns {
		col := rec.Column(i)
		c.nulls += int64(col.NullN())
		if err := hashArray(c.out, col, 0, col.Len()); err != nil && h.err == nil {
			h.err = fmt.Errorf("column %s: %w", c.name, err)
		}
	}
}

func (h *contentHasher) contents() Contents {
	out := Contents{Rows: h.rows, Columns: []ColumnContent{}}
	for _, c := range h.columns {
		c.out.Flush() // a hash takes every write
		out.Columns = append(out.Columns, ColumnContent{c.name, c.nulls, hex.EncodeToString(c.sum.Sum(nil))})
	}
	return out
}

// hashArray writes values from..to: a 0 byte for null, else a 1 byte and the
// value, text and lists with their length in front. It also finds what must
// never be in a file: invalid UTF-8, NaN and infinities.
func hashArray(w *bufio.Writer, a arrow.Array, from, to int) error {
	var num [8]byte
	u64 := func(v uint64) {
		binary.LittleEndian.PutUint64(num[:], v)
		w.Write(num[:])
	}
	var bad error
	for i := from; i < to; i++ {
		if a.IsNull(i) {
			w.WriteByte(0)
			continue
		}
		w.WriteByte(1)
		switch a := a.(type) {
		case *array.String:
			s := a.Value(i)
			if !utf8.ValidString(s) {
				bad = fmt.Errorf("row %d is not valid UTF-8", i)
			}
			u64(uint64(len(s)))
			io.WriteString(w, s)
		case *array.Int32:
			u64(uint64(a.Value(i)))
		case *array.Int64:
			u64(uint64(a.Value(i)))
		case *array.Float64:
			if !isFinite(a.Value(i)) {
				bad = fmt.Errorf("row %d is not a finite number", i)
			}
			u64(math.Float64bits(a.Value(i)))
		case *array.Boolean:
			if a.Value(i) {
				w.WriteByte(1)
			} else {
				w.WriteByte(0)
			}
		case *array.Timestamp:
			u64(uint64(a.Value(i)))
		case *array.List:
			start, end := a.ValueOffsets(i)
			u64(uint64(end - start))
			if err := hashArray(w, a.ListValues(), int(start), int(end)); err != nil {
				bad = fmt.Errorf("row %d: %w", i, err)
			}
		default:
			return fmt.Errorf("type %s is in none of the tables", a.DataType())
		}
	}
	return bad
}
