package datasets_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// asParquet writes a row as other writers do: lists as lists, objects as structs.
func asParquet(t *testing.T, row map[string]any) []byte {
	t.Helper()
	line, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	if err := json.Unmarshal(line, &plain); err != nil {
		t.Fatal(err)
	}
	schema := arrow.NewSchema(arrowFields(plain), nil)
	rec, _, err := array.RecordFromJSON(memory.NewGoAllocator(), schema, bytes.NewReader(append(append([]byte("["), line...), ']')))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func arrowFields(object map[string]any) []arrow.Field {
	var out []arrow.Field
	for _, name := range slices.Sorted(maps.Keys(object)) {
		out = append(out, arrow.Field{Name: name, Type: arrowType(object[name]), Nullable: true})
	}
	return out
}

func arrowType(v any) arrow.DataType {
	switch v := v.(type) {
	case float64:
		return arrow.PrimitiveTypes.Int64
	case []any:
		if len(v) > 0 {
			return arrow.ListOf(arrowType(v[0]))
		}
		return arrow.ListOf(arrow.BinaryTypes.String)
	case map[string]any:
		return arrow.StructOf(arrowFields(v)...)
	}
	return arrow.BinaryTypes.String
}
