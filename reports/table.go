package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

const (
	// createdBy is fixed: two builds of the harness write the same bytes for the same rows.
	createdBy = "harness-reports version 1"
	// contentsKey is where a file records its own contents, see Contents.
	contentsKey = "harness.contents"
	tableKey    = "harness.table"
	schemaKey   = "harness.schema_version"

	schemaVersion = "1"

	// A row group ends at either bound. Both are computed from columns that are
	// not volatile, so that two runs of the same input cut at the same rows.
	groupRows  = 32 << 10
	groupBytes = 16 << 20
)

// table writes rows R to a Parquet file with one row group in memory.
type table[R any] struct {
	name    string
	columns []column[R]
	weigh   func(R) int // bytes of text in a row, volatile columns left out

	file    *os.File
	schema  *arrow.Schema
	rows    *array.RecordBuilder
	writer  *pqarrow.FileWriter
	content *contentHasher

	inGroup, weight int
}

func createTable[R any](path, name string, columns []column[R], weigh func(R) int) (*table[R], error) {
	fields := make([]arrow.Field, len(columns))
	props := []parquet.WriterProperty{
		parquet.WithCreatedBy(createdBy),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithMaxRowGroupLength(groupRows),
	}
	for i, c := range columns {
		fields[i] = c.field()
		if c.distinct {
			props = append(props, parquet.WithDictionaryFor(c.name, false))
		}
	}
	meta := arrow.NewMetadata([]string{tableKey, schemaKey}, []string{name, schemaVersion})
	t := &table[R]{name: name, columns: columns, weigh: weigh, schema: arrow.NewSchema(fields, &meta)}

	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create table %s: %w", name, err)
	}
	t.file = f
	t.writer, err = pqarrow.NewFileWriter(t.schema, keepOpen{f}, parquet.NewWriterProperties(props...),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("create table %s: %w", name, err)
	}
	t.rows = array.NewRecordBuilder(memory.DefaultAllocator, t.schema)
	t.content = newContentHasher(t.schema)
	return t, nil
}

// keepOpen hides Close from the Parquet writer, which would close the file and
// drop the error.
type keepOpen struct{ f *os.File }

func (k keepOpen) Write(p []byte) (int, error) { return k.f.Write(p) }

func (t *table[R]) add(r R) error {
	for i, c := range t.columns {
		c.fill(t.rows.Field(i), r)
	}
	t.inGroup++
	if t.weigh != nil {
		t.weight += t.weigh(r)
	}
	if t.inGroup >= groupRows || t.weight >= groupBytes {
		return t.flush()
	}
	return nil
}

func (t *table[R]) flush() error {
	if t.inGroup == 0 {
		return nil
	}
	t.inGroup, t.weight = 0, 0
	rec := t.rows.NewRecordBatch()
	defer rec.Release()
	t.content.add(rec)
	if err := t.writer.Write(rec); err != nil {
		return fmt.Errorf("write table %s: %w", t.name, err)
	}
	return nil
}

// finish writes what is left and the footer, and returns what the file must hold.
func (t *table[R]) finish() (Contents, error) {
	if err := t.flush(); err != nil {
		return Contents{}, err
	}
	want := t.content.contents()
	raw, err := json.Marshal(want)
	if err == nil {
		err = t.writer.AppendKeyValueMetadata(contentsKey, string(raw))
	}
	if err == nil {
		err = t.writer.Close()
	}
	if err = errors.Join(err, t.close()); err != nil {
		return Contents{}, fmt.Errorf("finish table %s: %w", t.name, err)
	}
	return want, nil
}

// close may be called again after finish.
func (t *table[R]) close() error {
	if t.file == nil {
		return nil
	}
	t.rows.Release()
	err := t.file.Close()
	t.file = nil
	return err
}
