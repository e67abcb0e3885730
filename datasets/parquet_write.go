package datasets

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"harness/eval"
)

// parquetRowGroup keeps a group of typical rows (20 kB each) around 10 MB.
const parquetRowGroup = 512

// taskSchema is the schema of every Parquet file of tasks that is written:
// required text is not null, an optional field without a value is null, and
// objects are JSON in a string.
func taskSchema() *arrow.Schema {
	cols := make([]arrow.Field, numFields)
	for i, f := range fields {
		cols[i] = arrow.Field{Name: f.name, Type: arrow.BinaryTypes.String, Nullable: !f.required}
		if f.shape == shapeList {
			cols[i].Type = arrow.ListOfNonNullable(arrow.BinaryTypes.String)
		}
	}
	return arrow.NewSchema(cols, nil)
}

// writeParquet writes ds.Tasks with the digest, name and split of ds in the
// file's metadata. Equal input gives equal bytes.
func writeParquet(w io.Writer, ds *Dataset) error {
	schema := taskSchema()
	props := parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithDictionaryDefault(false),
		// Statistics would copy the longest patch into the footer.
		parquet.WithStats(false),
		parquet.WithCreatedBy("harness"),
		parquet.WithVersion(parquet.V2_LATEST),
	)
	// A wrapper, since the Parquet writer closes what can be closed.
	fw, err := pqarrow.NewFileWriter(schema, struct{ io.Writer }{w}, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	meta := [][2]string{{metaDigest, ds.Digest}, {metaName, ds.Name}, {metaSplit, ds.Split}}
	if ds.Source != "" {
		meta = append(meta, [2]string{metaSource, ds.Source})
	}
	for _, kv := range meta {
		if err := fw.AppendKeyValueMetadata(kv[0], kv[1]); err != nil {
			return fmt.Errorf("write parquet: %w", err)
		}
	}
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	for start := 0; start < len(ds.Tasks); start += parquetRowGroup {
		for i := range ds.Tasks[start:min(start+parquetRowGroup, len(ds.Tasks))] {
			t := ds.Tasks[start+i]
			normalise(&t)
			if err := appendTask(b, &t); err != nil {
				return err
			}
		}
		rec := b.NewRecordBatch()
		err := fw.Write(rec)
		rec.Release()
		if err != nil {
			return fmt.Errorf("write parquet: %w", err)
		}
	}
	if err := fw.Close(); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}

func appendTask(b *array.RecordBuilder, t *eval.Task) error {
	for i := range fields {
		f := &fields[i]
		switch f.shape {
		case shapeText:
			appendText(b.Field(i), *f.text(t), f.required)
		case shapeList:
			lb := b.Field(i).(*array.ListBuilder)
			lb.Append(true)
			for _, s := range *f.list(t) {
				lb.ValueBuilder().(*array.StringBuilder).Append(s)
			}
		case shapeObject:
			raw, err := marshalObject(f, t)
			if err != nil {
				return fmt.Errorf("write parquet: %w", err)
			}
			appendText(b.Field(i), raw, false)
		}
	}
	return nil
}

func appendText(b array.Builder, s string, required bool) {
	if s == "" && !required {
		b.AppendNull()
		return
	}
	b.(*array.StringBuilder).Append(s)
}
