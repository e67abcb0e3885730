package datasets_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/klauspost/compress/zstd"

	"harness/datasets"
	"harness/eval"
)

// What a file is that is not what its name says, and what to do about it.
func TestFilesThatAreSomethingElse(t *testing.T) {
	row := jsonl(t, rowWith(nil))
	var pq bytes.Buffer
	if err := datasets.WriteParquet(&pq, &datasets.Dataset{Tasks: []eval.Task{{InstanceID: "a", Repo: "a/b"}}}); err != nil {
		t.Fatal(err)
	}
	tar := make([]byte, 1024)
	copy(tar[257:], "ustar")
	tests := []struct {
		file string
		data []byte
		want string
	}{
		{"a.jsonl", []byte("PK\x03\x04rest"), "of a zip archive; unpack it"},
		{"a.jsonl", gz(t, row), "of a gzip file; add .gz"},
		{"a.json", zst(t, row), "of a zstd file; add .zst"},
		{"a.csv", pq.Bytes(), "of a Parquet file; name it .parquet"},
		{"a.jsonl", arrowStream(t, numbered(1, 1)), "of an Arrow stream; give the whole folder"},
		{"a.jsonl", []byte("ARROW1\x00\x00"), "of an Arrow file"},
		{"a.jsonl", []byte("\n<!DOCTYPE html><html>"), "of a web page; it is an error page"},
		{"a.parquet", []byte("<HTML><body>404"), "of a web page"},
		{"a.parquet", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"), "of a git-lfs pointer; the data itself is elsewhere: run `git lfs pull`"},
		{"a.jsonl", []byte("<?xml version=\"1.0\"?><Error><Code>NoSuchKey"), "of XML"},
		{"a.jsonl", []byte("\xff\xfe{\x00}\x00"), "of text in UTF-16"},
		{"a.jsonl.gz", gz(t, []byte("PK\x03\x04rest")), "holds text, its first bytes are those of a zip archive"},
		{"a.jsonl.gz", zst(t, row), "holds a gzip file, its first bytes are those of a zstd file"},
		{"a.jsonl.zst", row, "holds a zstd file, its first bytes are those of JSON"},
		{"a.parquet", row, "of JSON; name it .jsonl"},
		{"a.parquet", []byte("instance_id,repo\n"), "of text; name it by what it holds"},
		{"a.parquet", []byte{0, 1, 2, 3, 4}, "of nothing that is known"},
		{"a.jsonl", tar, "of a tar archive"},
	}
	for _, tt := range tests {
		path := write(t, tt.file, tt.data)
		if _, err := datasets.Load(t.Context(), path, datasets.Options{}); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", tt.file, err, tt.want)
		}
		_, problems, err := datasets.Validate(t.Context(), path, datasets.Options{})
		if err != nil || len(problems) != 1 || problems[0].File != path || !strings.Contains(problems[0].Reason+"; "+problems[0].Fix, tt.want) {
			t.Errorf("%s: problems %v, %v", tt.file, problems, err)
		}
	}
}

// Damage is a problem with its place; what can be read is still looked at.
func TestDamageIsOneProblemAmongOthers(t *testing.T) {
	rows := numbered(1, 200)
	rows[1]["repo"] = "calc" // a bad row before the damage
	lines := jsonl(t, rows...)
	good := jsonl(t, numbered(500, 3)...)
	ds, err := datasets.Load(t.Context(), write(t, "a.jsonl", jsonl(t, numbered(1, 2000)...)), datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var pq bytes.Buffer
	if err := datasets.WriteParquet(&pq, ds); err != nil {
		t.Fatal(err)
	}
	whole, err := file.NewParquetReader(bytes.NewReader(pq.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	second, err := whole.MetaData().RowGroup(1).ColumnChunk(0)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(pq.Bytes())
	for i := range second.TotalCompressedSize() {
		damaged[second.DataPageOffset()+i] ^= 0x55
	}
	more := withFooter(t, pq.Bytes(), whole.MetaData(), 2001)
	lied, err := datasets.ParquetWithDigest(&datasets.Dataset{Digest: strings.Repeat("0", 64), Tasks: ds.Tasks[:2]})
	if err != nil {
		t.Fatal(err)
	}
	list := append([]byte("["), bytes.ReplaceAll(bytes.TrimSpace(lines), []byte("\n"), []byte(",\n"))...)
	tests := []struct {
		name  string
		files map[string][]byte
		file  string // with the damage
		text  string
		least int // tasks that are read
	}{
		{"gzip that was cut", map[string][]byte{"test.jsonl.gz": gz(t, lines)[:500]}, "test.jsonl.gz", "behind row ", 1},
		{"list that was cut", map[string][]byte{"test.json": list[:len(list)/2]}, "test.json", "it was cut off", 90},
		{"parquet without its end", map[string][]byte{"test.parquet": pq.Bytes()[:pq.Len()-100]}, "test.parquet", "it was cut off", 0},
		// 2,000 rows in groups of 512, of which one is lost.
		{"parquet with a hole", map[string][]byte{"test.parquet": damaged}, "test.parquet", "the file can't be read: read parquet", 2000 - 512},
		{"parquet that says it has more rows", map[string][]byte{"test.parquet": more}, "test.parquet", "hold 2000 rows, and it says that it has 2001", 2000},
		{"another digest", map[string][]byte{"test.parquet": lied}, "test.parquet", "dataset digest mismatch", 2},
		{"one shard of three", map[string][]byte{
			"test-00000-of-00003.jsonl": jsonl(t, numbered(600, 2)...), "test-00001-of-00003.jsonl": []byte("PK\x03\x04"), "test-00002-of-00003.jsonl": good,
		}, "test-00001-of-00003.jsonl", "a zip archive", 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, tt.files)
			if ds, err := datasets.Load(t.Context(), dir, datasets.Options{}); err == nil {
				t.Errorf("%d tasks were loaded", len(ds.Tasks))
			}
			ds, problems, err := datasets.Validate(t.Context(), dir, datasets.Options{})
			if err != nil || len(problems) == 0 {
				t.Fatal(problems, err)
			}
			p := problems[len(problems)-1]
			if p.File != filepath.Join(dir, tt.file) || !strings.Contains(p.Reason, tt.text) || p.Fix == "" {
				t.Errorf("%+v, want %s: %s", p, tt.file, tt.text)
			}
			if len(ds.Tasks) < tt.least {
				t.Errorf("%d tasks were read, want at least %d", len(ds.Tasks), tt.least)
			}
			// Nothing of it can be imported.
			out := filepath.Join(t.TempDir(), "out.parquet")
			if ds, err := datasets.Load(t.Context(), dir, datasets.Options{}); err == nil {
				t.Errorf("loaded, to be written to %s: %v", out, datasets.WriteFile(t.Context(), out, ds))
			}
		})
	}
}

// withFooter is a Parquet file whose footer names another number of rows.
func withFooter(t *testing.T, data []byte, meta *metadata.FileMetaData, rows int64) []byte {
	t.Helper()
	meta.FileMetaData.NumRows = rows
	var footer bytes.Buffer
	n, err := meta.WriteTo(&footer, nil)
	if err != nil {
		t.Fatal(err)
	}
	size := binary.LittleEndian.Uint32(data[len(data)-8:])
	out := append(bytes.Clone(data[:len(data)-8-int(size)]), footer.Bytes()...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(n)), "PAR1"...)
}

// A row of 200 MB is named, the rest is read, and memory stays bounded.
func TestHugeRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl.zst")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	parts := []io.Reader{
		bytes.NewReader(jsonl(t, numbered(1, 1)...)),
		strings.NewReader(`{"instance_id":"octo__calc-9","patch":"`), io.LimitReader(xs{}, 200<<20), strings.NewReader("\"}\n"),
		bytes.NewReader(jsonl(t, numbered(2, 1)...)),
	}
	if _, err := io.Copy(z, io.MultiReader(parts...)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ds, problems, err := datasets.Validate(t.Context(), path, datasets.Options{MaxRecordBytes: 4 << 20})
	runtime.ReadMemStats(&after)
	if err != nil || len(problems) != 1 || problems[0].Line != 2 || !strings.Contains(problems[0].Reason, "longer than 4194304 bytes") || ids(ds) != "1 2" {
		t.Errorf("%v, %v", problems, err)
	}
	// What was allocated in all, freed or not, bounds what was held at any time.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("%d MiB were allocated", grown>>20)
	}
}

type xs struct{}

var manyX = bytes.Repeat([]byte("x"), 64<<10)

func (xs) Read(p []byte) (int, error) { return copy(p, manyX), nil }

func TestHugeRowOfParquet(t *testing.T) {
	var tasks []eval.Task
	for i, size := range []int{10, 20_000, 10} {
		tasks = append(tasks, eval.Task{InstanceID: fmt.Sprintf("octo__calc-%d", i), Repo: "octo/calc", Patch: strings.Repeat("x", size)})
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	if err := datasets.WriteFile(t.Context(), path, &datasets.Dataset{Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	ds, problems, err := datasets.Validate(t.Context(), path, datasets.Options{MaxRecordBytes: 10_000})
	if err != nil || ids(ds) != "0 2" || len(problems) != 1 || problems[0].Row != 2 || !strings.Contains(problems[0].Reason, "the row holds 20") {
		t.Errorf("%+v, %v, %v", ds, problems, err)
	}
	if _, err := datasets.Load(t.Context(), path, datasets.Options{MaxRecordBytes: 10_000}); !errors.As(err, new(*datasets.LoadError)) {
		t.Errorf("load: %v", err)
	}
}
