package main

import (
	"context"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// readOutcomes maps instance ids to the outcome of their trial, from a run's
// trials.parquet: the demo reads what any other user of the tables would.
func readOutcomes(ctx context.Context, path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	table, err := pqarrow.ReadTable(ctx, f, parquet.NewReaderProperties(memory.DefaultAllocator), pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, fmt.Errorf("%s: not a readable Parquet file: %w", path, err)
	}
	defer table.Release()
	ids, err := column(table, path, "instance_id")
	if err != nil {
		return nil, err
	}
	outcomes, err := column(table, path, "outcome")
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(ids))
	for i, id := range ids {
		if before, twice := out[id]; twice {
			return nil, fmt.Errorf("%s: %s has two trials (%s, %s); the demo runs one attempt and one round", path, id, before, outcomes[i])
		}
		out[id] = outcomes[i]
	}
	return out, nil
}

// column returns the values of a column as text.
func column(table arrow.Table, path, name string) ([]string, error) {
	at := table.Schema().FieldIndices(name)
	if len(at) != 1 {
		return nil, fmt.Errorf("%s: no column %q", path, name)
	}
	var out []string
	for _, chunk := range table.Column(at[0]).Data().Chunks() {
		out = append(out, texts(chunk)...)
	}
	return out, nil
}

func texts(a arrow.Array) []string {
	out := make([]string, a.Len())
	for i := range out {
		switch v := a.(type) {
		case *array.String:
			out[i] = v.Value(i)
		default:
			out[i] = a.ValueStr(i)
		}
	}
	return out
}
