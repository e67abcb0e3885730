package datasets_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"harness/datasets"
	"harness/eval"
	"harness/internal/checkout"
)

func TestWriteFile(t *testing.T) {
	// Not normalised: made by hand, as an importer does.
	tasks := []eval.Task{
		{InstanceID: "octo__a-1", Repo: "octo/a", LogParser: "parse_log_gotest", Frozen: &eval.Frozen{Runtime: "runsc", Missing: []string{"ü"}}},
		{InstanceID: "octo__a-2", Repo: "octo/a", Patch: "p\x00\r\n", FailToPass: []string{"a", ""}},
	}
	ds := &datasets.Dataset{Name: "octo", Split: "test", Tasks: tasks}
	want, err := datasets.Digest(tasks)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"t.jsonl", "t.jsonl.gz", "t.jsonl.zst", "t.parquet"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		for range 2 { // the second time replaces
			if err := datasets.WriteFile(t.Context(), path, ds); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		back, err := datasets.Load(t.Context(), path, datasets.Options{})
		if err != nil || back.Digest != want || len(back.Tasks) != 2 || back.Tasks[0].Language != "go" {
			t.Errorf("%s: %+v, %v", name, back, err)
		}
		if name == "t.parquet" && (back.Name != "octo" || back.Split != "test") {
			t.Errorf("name %q and split %q were lost", back.Name, back.Split)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s: left behind: %v, %v", name, entries, err)
		}
	}
	if tasks[0].Language != "" || tasks[0].FailToPass != nil {
		t.Error("writing changed the tasks")
	}
}

func TestWriteFileLeavesNothingHalfDone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.parquet")
	if err := os.WriteFile(path, []byte("former"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tasks := range map[string][]eval.Task{
		"no tasks":          nil,
		"not UTF-8":         {{InstanceID: "a", Repo: "a/b", Patch: "\xff"}},
		"fails its check":   {{InstanceID: "../a", Repo: "a/b"}},
		"the same id twice": {{InstanceID: "a", Repo: "a/b"}, {InstanceID: "a", Repo: "a/b"}},
	} {
		if err := datasets.WriteFile(t.Context(), path, &datasets.Dataset{Tasks: tasks}); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	if err := datasets.WriteFile(t.Context(), filepath.Join(dir, "t.csv"), &datasets.Dataset{}); err == nil {
		t.Error("a .csv was written")
	}
	got, err := os.ReadFile(path)
	entries, _ := os.ReadDir(dir)
	if err != nil || string(got) != "former" || len(entries) != 1 {
		t.Errorf("left %q, %v, %v", got, entries, err)
	}
}

func TestParquetIsDeterministicAndGuarded(t *testing.T) {
	ds, err := datasets.Load(t.Context(), write(t, "a.jsonl", jsonl(t, rowWith(nil))), datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := errors.Join(datasets.WriteParquet(&a, ds), datasets.WriteParquet(&b, ds)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two files of the same tasks differ")
	}
	ds.Digest = strings.Repeat("0", 64)
	forged, err := datasets.ParquetWithDigest(ds)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := datasets.Load(t.Context(), write(t, "a.parquet", forged), datasets.Options{}); !errors.Is(err, datasets.ErrDigest) {
		t.Errorf("forged digest: %v", err)
	}
	// Damage anywhere is an error or harmless, never a panic or another task.
	for i := 0; i < a.Len(); i += 11 {
		bad := bytes.Clone(a.Bytes())
		bad[i] ^= 0x55
		got, err := datasets.Load(t.Context(), write(t, "a.parquet", bad), datasets.Options{})
		if err == nil && !reflect.DeepEqual(got.Tasks, ds.Tasks) {
			t.Errorf("byte %d damaged: other tasks were read", i)
		}
	}
}

// Parquet files of other writers have other types for the same rows.
func TestForeignParquet(t *testing.T) {
	stamp := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	mem := memory.NewGoAllocator()
	build := func(cols map[string]arrow.DataType, fill func(name string, b array.Builder)) string {
		t.Helper()
		var fs []arrow.Field
		for _, name := range []string{"instance_id", "repo", "base_commit", "patch", "test_patch", "FAIL_TO_PASS", "PASS_TO_PASS", "created_at", "limits", "extra", "version"} {
			if dt, ok := cols[name]; ok {
				fs = append(fs, arrow.Field{Name: name, Type: dt, Nullable: true})
			}
		}
		sc := arrow.NewSchema(fs, nil)
		b := array.NewRecordBuilder(mem, sc)
		defer b.Release()
		for i, f := range fs {
			fill(f.Name, b.Field(i))
		}
		rec := b.NewRecordBatch()
		defer rec.Release()
		var out bytes.Buffer
		w, err := pqarrow.NewFileWriter(sc, &out, parquet.NewWriterProperties(), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(rec), w.Close()); err != nil {
			t.Fatal(err)
		}
		return write(t, "x.parquet", out.Bytes())
	}
	cols := map[string]arrow.DataType{
		"instance_id": arrow.BinaryTypes.LargeString, "repo": &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
		"base_commit": arrow.BinaryTypes.String, "patch": arrow.BinaryTypes.Binary, "test_patch": arrow.BinaryTypes.String,
		"FAIL_TO_PASS": arrow.BinaryTypes.String, "PASS_TO_PASS": arrow.LargeListOf(arrow.BinaryTypes.String),
		"created_at": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
		"limits":     arrow.StructOf(arrow.Field{Name: "cpus", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, arrow.Field{Name: "processes", Type: arrow.PrimitiveTypes.Int64, Nullable: true}),
		"extra":      arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64),
	}
	fill := func(name string, b array.Builder) {
		switch b := b.(type) {
		case *array.LargeStringBuilder:
			b.Append("octo__x-1")
		case *array.BinaryDictionaryBuilder:
			if err := b.AppendString("octo/x"); err != nil {
				t.Fatal(err)
			}
		case *array.StringBuilder:
			b.Append(map[string]string{"base_commit": "", "test_patch": "t", "FAIL_TO_PASS": `["a"]`}[name])
		case *array.BinaryBuilder:
			b.Append([]byte("p\r\n"))
		case *array.LargeListBuilder:
			b.Append(true)
			b.ValueBuilder().(*array.StringBuilder).AppendValues([]string{"b", "c"}, nil)
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(stamp.UnixMicro()))
		case *array.StructBuilder:
			b.Append(true)
			b.FieldBuilder(0).(*array.Float64Builder).Append(1.5)
			b.FieldBuilder(1).AppendNull()
		default:
			b.AppendNull()
		}
	}
	ds, err := datasets.Load(t.Context(), build(cols, fill), datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cpus := 1.5
	want := eval.Task{InstanceID: "octo__x-1", Repo: "octo/x", Patch: "p\r\n", TestPatch: "t", CreatedAt: "2020-01-02T03:04:05Z", EvalType: eval.EvalPassAndFail,
		FailToPass: []string{"a"}, PassToPass: []string{"b", "c"}, Limits: &eval.LimitsSpec{CPUs: &cpus}}
	if !reflect.DeepEqual(ds.Tasks[0], want) {
		t.Errorf("%+v\nwant %+v", ds.Tasks[0], want)
	}

	cols["version"] = arrow.PrimitiveTypes.Int64
	path := build(cols, func(name string, b array.Builder) {
		switch b := b.(type) {
		case *array.LargeListBuilder:
			b.Append(true)
			b.ValueBuilder().AppendNull()
		case *array.BinaryBuilder:
			b.Append([]byte{0xff})
		case *array.Int64Builder:
			b.Append(3)
		default:
			fill(name, b)
		}
	})
	_, problems, err := datasets.Validate(t.Context(), path, datasets.Options{})
	var got []string
	for _, p := range problems {
		if p.Row != 1 || p.Line != 0 {
			t.Errorf("position of %+v", p)
		}
		got = append(got, p.Field+": "+p.Reason)
	}
	wantProblems := []string{"version: it is a number, a string is expected", "patch: it is not valid UTF-8", "PASS_TO_PASS: element 1: it is null, a string is expected"}
	if err != nil || !reflect.DeepEqual(got, wantProblems) {
		t.Errorf("%q, %v", got, err)
	}

	delete(cols, "patch")
	if _, err := datasets.Load(t.Context(), build(cols, fill), datasets.Options{}); err == nil || !strings.Contains(err.Error(), "there is no column patch") {
		t.Errorf("missing column: %v", err)
	}
	delete(cols, "test_patch")
	delete(cols, "PASS_TO_PASS")
	_, err = datasets.Load(t.Context(), build(cols, fill), datasets.Options{})
	if !errors.As(err, new(*datasets.FamilyError)) || strings.Count(err.Error(), "load dataset") != 1 || !strings.Contains(err.Error(), "no patch, test_patch, PASS_TO_PASS; they have extra") {
		t.Errorf("missing columns: %v", err)
	}
}

func TestRealParquetRoundTrip(t *testing.T) {
	ds, err := datasets.Load(t.Context(), filepath.Join(checkout.SharedData(t), "instances", "official_SWE-bench_Multilingual_test.jsonl.zst"), datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "multilingual.parquet")
	if err := datasets.WriteFile(t.Context(), path, ds); err != nil {
		t.Fatal(err)
	}
	back, err := datasets.Load(t.Context(), path, datasets.Options{})
	if err != nil || back.Digest != ds.Digest || !reflect.DeepEqual(back.Tasks, ds.Tasks) {
		t.Errorf("%v", err)
	}
}
