package datasets_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"harness/datasets"
	"harness/eval"
)

// folder writes files, given by their slash-separated paths, and returns the folder.
func folder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "calc")
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ids(ds *datasets.Dataset) string {
	var out []string
	for _, t := range ds.Tasks {
		out = append(out, strings.TrimPrefix(t.InstanceID, "octo__calc-"))
	}
	return strings.Join(out, " ")
}

// numbered makes rows octo__calc-FROM and so on.
func numbered(from, n int) []map[string]any {
	var out []map[string]any
	for i := range n {
		out = append(out, rowWith(map[string]any{"instance_id": fmt.Sprintf("octo__calc-%d", from+i)}))
	}
	return out
}

const csvHead = "instance_id,repo,base_commit,patch,test_patch,FAIL_TO_PASS,PASS_TO_PASS,version,limits\n"

func TestCSV(t *testing.T) {
	patch := "--- a/x\r\n+++ b/x\r\n+say \"\"hi\"\"\n" // a quote is written twice
	csv := csvHead + "octo__calc-1,octo/calc,,\"" + patch + "\",,\"[\"\"a, b\"\"]\",[],,\n" +
		"octo__calc-2,octo/calc,,p,\"\",[],[],1.0,\"{\"\"cpus\"\":2}\"\n"
	cpus := 2.0
	want := []eval.Task{
		{InstanceID: "octo__calc-1", Repo: "octo/calc", Patch: strings.ReplaceAll(patch, `""`, `"`), FailToPass: []string{"a, b"}, PassToPass: []string{}, EvalType: eval.EvalPassAndFail},
		{InstanceID: "octo__calc-2", Repo: "octo/calc", Patch: "p", FailToPass: []string{}, PassToPass: []string{}, Version: "1.0", EvalType: eval.EvalPassAndFail, Limits: &eval.LimitsSpec{CPUs: &cpus}},
	}
	for name, data := range map[string][]byte{
		"a.csv": []byte(csv), "a.csv.gz": gz(t, []byte(csv)), "a.csv.zst": zst(t, []byte(csv)),
		"bom.csv": []byte("\xef\xbb\xbf" + csv),
		// pandas writes its index first, in a column without a name.
		"pandas.csv": []byte("," + strings.ReplaceAll(csv, "\nocto__", "\n0,octo__")),
	} {
		ds, err := datasets.Load(t.Context(), write(t, name, data), datasets.Options{})
		if err != nil || !reflect.DeepEqual(ds.Tasks, want) {
			t.Errorf("%s: %+v, %v", name, ds, err)
		}
	}
}

func TestProblemsOfCSV(t *testing.T) {
	good := func(i int) string { return fmt.Sprintf("octo__calc-%d,octo/calc,,p,t,[],[],,\n", i) }
	tests := []struct {
		name, bad string
		line      int
		text      string
	}{
		{"too few fields", "octo__calc-9,octo/calc\n", 3, "it has 2 fields, the first record names 9 columns"},
		{"quote inside", "octo__calc-9,octo/calc,,a\"b,t,[],[],,\n", 3, "line 3, column 4 of the record: a quote stands inside"},
		{"list in Python's spelling", "octo__calc-9,octo/calc,,p,t,['a'],[],,\n", 3, "does not hold a JSON list"},
		{"no list", "octo__calc-9,octo/calc,,p,t,,[],,\n", 3, "the field is null"},
		{"not UTF-8", "octo__calc-9,octo/calc,,p\xff,t,[],[],,\n", 3, "invalid UTF-8 (byte 0xff)"},
		{"too long", "octo__calc-9,octo/calc,,\"" + strings.Repeat("line\n", 1000) + "\",t,[],[],,\n", 3, "longer than 3000 bytes"},
		{"given again", good(1), 3, "the id is given again, first on line 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, "a.csv", []byte(csvHead+good(1)+tt.bad+good(2)))
			ds, problems, err := datasets.Validate(t.Context(), path, datasets.Options{MaxRecordBytes: 3000})
			if err != nil || len(ds.Tasks) != 2 || len(problems) != 1 {
				t.Fatalf("%d problems: %v, %v", len(problems), problems, err)
			}
			if p := problems[0]; p.Line != tt.line || p.Row != 2 || !strings.Contains(p.Reason, tt.text) || p.Fix == "" {
				t.Errorf("%+v, want line %d: %s", p, tt.line, tt.text)
			}
		})
	}
	for text, want := range map[string]string{
		"a;b;c\n1;2;3\n":         "fields must be separated by commas",
		"a,b,a\n":                `two columns are named "a"`,
		"a,,b\n":                 "column 2 has no name",
		csvHead:                  "holds no rows",
		csvHead + "x,\"y\nz\n":   "ends inside the quotes that line 2 opens",
		"\"" + csvHead + "1,2\n": "line 1",
	} {
		_, err := datasets.Load(t.Context(), write(t, "a.csv", []byte(text)), datasets.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

func TestShards(t *testing.T) {
	one, two, three := jsonl(t, numbered(1, 2)...), jsonl(t, numbered(3, 1)...), jsonl(t, numbered(4, 2)...)
	tests := []struct {
		name  string
		files map[string][]byte
		split string
		want  string // ids, or the error
	}{
		{"in order", map[string][]byte{"test-00001-of-00003.jsonl": two, "test-00002-of-00003.jsonl": three, "test-00000-of-00003.jsonl": one}, "", "1 2 3 4 5"},
		{"packed", map[string][]byte{"test-00000-of-00002.jsonl.gz": gz(t, one), "test-00001-of-00002.jsonl.gz": gz(t, two)}, "test", "1 2 3"},
		{"clone of a hub repository", map[string][]byte{"README.md": nil, "data/test-00000-of-00002.jsonl": one, "data/test-00001-of-00002.jsonl": two, "data/dev.jsonl": three}, "test", "1 2 3"},
		{"one is missing", map[string][]byte{"test-00000-of-00003.jsonl": one, "test-00002-of-00003.jsonl": two}, "", "error: split test is not whole: shard 00001 of 3 is missing"},
		{"another split is whole", map[string][]byte{"test-00000-of-00003.jsonl": one, "dev.jsonl": two}, "dev", "3"},
		{"an id in two shards", map[string][]byte{"test-00000-of-00002.jsonl": one, "test-00001-of-00002.jsonl": one}, "", "first on line 1 of "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, tt.files)
			ds, err := datasets.Load(t.Context(), dir, datasets.Options{Split: tt.split})
			if err != nil {
				if want, _ := strings.CutPrefix(tt.want, "error: "); !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
				return
			}
			if ids(ds) != tt.want || ds.Name != "calc" || ds.Split == "" {
				t.Errorf("%s, name %q, split %q; want %s", ids(ds), ds.Name, ds.Split, tt.want)
			}
			all, err := datasets.Load(t.Context(), write(t, "all.jsonl", jsonl(t, numbered(1, len(ds.Tasks))...)), datasets.Options{})
			if strings.HasPrefix(tt.want, "1 ") && (err != nil || all.Digest != ds.Digest) {
				t.Errorf("the digest is not that of one file: %v", err)
			}
		})
	}
	dir := folder(t, map[string][]byte{"test-00000-of-00002.jsonl": one, "test-00001-of-00002.jsonl": two})
	if _, err := datasets.Load(t.Context(), filepath.Join(dir, "test-00000-of-00002.jsonl"), datasets.Options{}); err == nil || !strings.Contains(err.Error(), "is shard 0 of 2 only") {
		t.Errorf("a shard by itself: %v", err)
	}
	// Files that somebody else has looked up.
	ds, err := datasets.Load(t.Context(), dir, datasets.Options{Files: []string{"test-00001-of-00002.jsonl"}, Split: "x", Source: "hf://octo/calc"})
	if err != nil || ids(ds) != "3" || ds.Split != "x" || ds.Source != "hf://octo/calc" {
		t.Errorf("%+v, %v", ds, err)
	}
	if _, err := datasets.Load(t.Context(), dir, datasets.Options{Files: []string{"../x.jsonl"}}); err == nil {
		t.Error("a file outside of the folder was taken")
	}
	if names, err := datasets.Splits(dir); err != nil || !reflect.DeepEqual(names, []string{"test"}) {
		t.Errorf("splits %q, %v", names, err)
	}
}

// arrowStream writes rows as save_to_disk does, a batch for each batch of them.
func arrowStream(t testing.TB, batches ...[]map[string]any) []byte {
	t.Helper()
	text := arrow.BinaryTypes.String
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "instance_id", Type: text}, {Name: "repo", Type: text}, {Name: "base_commit", Type: text},
		{Name: "patch", Type: text}, {Name: "test_patch", Type: text},
		{Name: "FAIL_TO_PASS", Type: arrow.ListOf(text)}, {Name: "PASS_TO_PASS", Type: text},
		{Name: "hints_text", Type: text, Nullable: true}, {Name: "other", Type: arrow.StructOf(arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64})},
	}, nil)
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(schema))
	for _, rows := range batches {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
		for _, r := range rows {
			p2p, err := json.Marshal(r["PASS_TO_PASS"])
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range schema.Fields() {
				switch fb := b.Field(i).(type) {
				case *array.StringBuilder:
					if s, ok := r[f.Name].(string); ok {
						fb.Append(s)
					} else if f.Name == "PASS_TO_PASS" {
						fb.Append(string(p2p))
					} else {
						fb.AppendNull()
					}
				case *array.ListBuilder:
					fb.Append(true)
					for _, s := range r[f.Name].([]string) {
						fb.ValueBuilder().(*array.StringBuilder).Append(s)
					}
				case *array.StructBuilder:
					fb.Append(true)
					fb.FieldBuilder(0).(*array.Int64Builder).Append(7)
				}
			}
		}
		if err := w.Write(b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestSavedFolder(t *testing.T) {
	state := func(files ...string) []byte {
		list := []map[string]string{}
		for _, f := range files {
			list = append(list, map[string]string{"filename": f})
		}
		data, err := json.Marshal(map[string]any{"_data_files": list, "_split": nil})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	first, second := arrowStream(t, numbered(1, 2), numbered(3, 1)), arrowStream(t, numbered(4, 1))
	whole := func() map[string][]byte {
		return map[string][]byte{
			"dataset_dict.json": []byte(`{"splits": ["test", "dev"]}`),
			"test/state.json":   state("data-00000-of-00002.arrow", "data-00001-of-00002.arrow"), "test/dataset_info.json": []byte("{}"),
			"test/data-00000-of-00002.arrow": first, "test/data-00001-of-00002.arrow": second,
			"dev/state.json": state("data-00000-of-00001.arrow"), "dev/data-00000-of-00001.arrow": second,
		}
	}
	tests := []struct {
		name, split string
		change      func(files map[string][]byte)
		want        string // ids, or the error
	}{
		{"a split", "test", nil, "1 2 3 4"},
		{"the other", "dev", nil, "4"},
		{"none named", "", nil, "error: several splits (test, dev)"},
		{"none of that name", "x", nil, `error: no split "x"; there is test, dev`},
		{"a file is missing", "test", func(f map[string][]byte) { delete(f, "test/data-00001-of-00002.arrow") }, "error: data-00001-of-00002.arrow, which is not there"},
		{"no state", "test", func(f map[string][]byte) { delete(f, "test/state.json") }, "error: split test has no state.json"},
		{"an index", "test", func(f map[string][]byte) {
			f["test/state.json"] = []byte(`{"_data_files":[{"filename":"data-00000-of-00002.arrow"}],"_indices_files":[{"filename":"indices.arrow"}]}`)
		}, "error: flatten_indices()"},
		{"a file elsewhere", "test", func(f map[string][]byte) { f["test/state.json"] = state("../dev/data-00000-of-00001.arrow") }, "error: which is no Arrow file in the folder"},
		{"a split elsewhere", "test", func(f map[string][]byte) { f["dataset_dict.json"] = []byte(`{"splits":["../test"]}`) }, "error: which can't be a folder"},
		{"cut between batches", "test", func(f map[string][]byte) {
			f["test/data-00000-of-00002.arrow"] = first[:len(first)-8]
		}, "error: it was cut off"},
		{"cut in a batch", "test", func(f map[string][]byte) { f["test/data-00000-of-00002.arrow"] = first[:len(first)/2] }, "error: read arrow"},
		{"not arrow", "test", func(f map[string][]byte) { f["test/data-00000-of-00002.arrow"] = []byte("PK\x03\x04") }, "error: first bytes are those of a zip archive"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := whole()
			if tt.change != nil {
				tt.change(files)
			}
			ds, err := datasets.Load(t.Context(), folder(t, files), datasets.Options{Split: tt.split})
			want, fails := strings.CutPrefix(tt.want, "error: ")
			switch {
			case fails && (err == nil || !strings.Contains(err.Error(), want)), !fails && err != nil:
				t.Errorf("error %v, want %q", err, tt.want)
			case !fails && (ids(ds) != want || ds.Name != "calc" || ds.Split != tt.split):
				t.Errorf("%+v, want %s", ds, want)
			}
		})
	}
	// One split without a set around it, and what it holds.
	dir := folder(t, map[string][]byte{"state.json": state("data-00000-of-00001.arrow"), "data-00000-of-00001.arrow": second})
	ds, err := datasets.Load(t.Context(), dir, datasets.Options{})
	ref, _ := datasets.Load(t.Context(), write(t, "a.jsonl", jsonl(t, rowWith(map[string]any{
		"instance_id": "octo__calc-4", "problem_statement": nil, "image": nil, "eval_script": nil, "log_parser": nil,
	}))), datasets.Options{})
	if err != nil || ids(ds) != "4" || ds.Digest != ref.Digest {
		t.Errorf("%+v, %v", ds, err)
	}
	if names, err := datasets.Splits(folder(t, whole())); err != nil || !reflect.DeepEqual(names, []string{"test", "dev"}) {
		t.Errorf("splits %q, %v", names, err)
	}
}
