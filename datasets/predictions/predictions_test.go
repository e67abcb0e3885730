package predictions_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"harness/datasets/predictions"
	"harness/eval"
)

func write(tb testing.TB, name, data string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func tasks(ids ...string) []eval.Task {
	var out []eval.Task
	for _, id := range ids {
		out = append(out, eval.Task{InstanceID: id})
	}
	return out
}

const (
	recA = `{"instance_id": "a-1", "model_name_or_path": "v/m 1", "model_patch": "diff \r\n\u0000\u00e9é😀"}`
	recB = `{"instance_id": "b-1", "model_name_or_path": "v/m 1", "model_patch": "", "extra": [{"x": 1}]}`
	recC = `{"instance_id": "c-1", "model_name_or_path": "v/m 1", "model_patch": null}`
	recD = `{"instance_id": "d-1", "model_name_or_path": "v/m 1"}`
)

func TestForms(t *testing.T) {
	lines := strings.Join([]string{recA, recB, recC, recD}, "\n")
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"p.jsonl":     lines,
		"q.jsonl":     "\xef\xbb\xbf\r\n" + strings.ReplaceAll(lines, "\n", "\r\n\r\n") + "\r\n",
		"p.json":      "[" + strings.Join([]string{recA, recB, recC, recD}, ",\n") + "]",
		"map.json":    `{"a-1":` + recA + `,"b-1": ` + recB + `, "other": ` + recC + `, "":` + recD + `}`,
		"p.jsonl.zst": string(enc.EncodeAll([]byte(lines), nil)),
	} {
		t.Run(name, func(t *testing.T) {
			f, err := predictions.Load(t.Context(), write(t, name, data), predictions.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if f.Model != "v/m 1" || f.Records != 4 || len(f.ByID) != 4 || len(f.Malformed) != 0 || len(f.Duplicate) != 0 {
				t.Fatalf("%+v", f)
			}
			if p := f.ByID["a-1"]; p.Patch == nil || *p.Patch != "diff \r\n\x00éé😀" {
				t.Errorf("patch is not as sent: %+v", p)
			}
			for id, null := range map[string]bool{"b-1": false, "c-1": true, "d-1": true} {
				if p := f.ByID[id]; !p.Empty() || (p.Patch == nil) != null || p.InstanceID != id {
					t.Errorf("%s: %+v", id, p)
				}
			}
		})
	}
}

func TestMalformedRecordsAreListed(t *testing.T) {
	tests := []struct{ rec, reason string }{
		{`7`, "must be an object"},
		{`[1]`, "must be an object"},
		{`{"instance_id": "a-1"`, "not valid JSON"},
		{`{"model_patch": "x"}`, "instance_id is missing"},
		{`{"instance_id": null, "model_patch": "x"}`, "instance_id is null"},
		{`{"instance_id": 3}`, "instance_id is a number"},
		{`{"instance_id": "../x"}`, "is refused"},
		{`{"instance_id": "` + strings.Repeat("a", 300) + `"}`, "at most 200"},
		{`{"instance_id": "a-1", "model_patch": ["x"]}`, "model_patch is a list"},
		{`{"instance_id": "a-1", "model_patch": "\ud800"}`, `model_patch has lone surrogate \ud800 at byte 0`},
		{"{\"instance_id\": \"a-1\", \"model_patch\": \"x\xff\"}", "model_patch has invalid UTF-8 (byte 0xff)"},
		{`{"instance_id": "a-1", "model_patch": "x", "model_patch": "y"}`, "model_patch is given twice"},
		{`{"instance_id": "a-1", "model_name_or_path": ""}`, "model name"},
		{`{"instance_id": "a-1", "model_name_or_path": "../m"}`, "model name"},
		{`{"instance_id": "a-1", "model_name_or_path": "m\u202e"}`, "model name"},
		{`{"instance_id": "a-1", "model_name_or_path": {}}`, "model_name_or_path is an object"},
		{`{"instance_id": "a-1", "x": ` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`, "deeper than"},
		{`{"instance_id": "a-1", "model_patch": "` + strings.Repeat("p", 1<<20) + `"}`, "longer than"},
	}
	for _, tt := range tests {
		opts := predictions.Options{MaxRecordBytes: 1 << 19}
		check := func(form string, f *predictions.File, err error, prefix string) {
			t.Helper()
			if err != nil {
				t.Errorf("%s, %.60s: %v", form, tt.rec, err)
				return
			}
			if len(f.Malformed) != 1 || !strings.HasPrefix(f.Malformed[0], prefix) || !strings.Contains(f.Malformed[0], tt.reason) || f.Records != 3 || len(f.ByID) != 2 {
				t.Errorf("%s, %.60s: %q; want %q", form, tt.rec, f.Malformed, tt.reason)
			}
		}
		f, err := predictions.Load(t.Context(), write(t, "p.jsonl", recB+"\n\n"+tt.rec+"\n"+recC), opts)
		check("lines", f, err, "p.jsonl:3: ")
		if strings.Contains(tt.reason, "not valid JSON") {
			continue // unbalanced: breaks a list as a whole
		}
		f, err = predictions.Load(t.Context(), write(t, "p.json", "["+recB+",\n"+tt.rec+","+recC+"]"), opts)
		check("list", f, err, "p.json:2: record 2: ")
	}
}

func TestDuplicatesLastWins(t *testing.T) {
	f, err := predictions.Load(t.Context(), write(t, "p.jsonl", strings.Join([]string{
		`{"instance_id": "b", "model_patch": "1"}`, `{"instance_id": "a", "model_patch": "1"}`,
		`{"instance_id": "b", "model_patch": "2"}`, `{"instance_id": "a", "model_patch": null}`, `{"instance_id": "b", "model_patch": "3"}`,
	}, "\n")), predictions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if *f.ByID["b"].Patch != "3" || f.ByID["a"].Patch != nil || !reflect.DeepEqual(f.Duplicate, []string{"a", "b"}) || f.Records != 5 || f.Model != "None" {
		t.Errorf("%+v", f)
	}
}

func TestCover(t *testing.T) {
	var b strings.Builder
	for _, rec := range []string{
		`{"instance_id": "ok", "model_patch": "x"}`, `{"instance_id": "null", "model_patch": null}`, `{"instance_id": "absent"}`,
		`{"instance_id": "empty", "model_patch": ""}`, `{"instance_id": "unselected", "model_patch": ""}`,
		`{"instance_id": "unknown2"}`, `{"instance_id": "OK", "model_patch": "case twin"}`, `{"instance_id": "ok", "model_patch": "y"}`, `oops`,
	} {
		b.WriteString(rec + "\n")
	}
	f, err := predictions.Load(t.Context(), write(t, "p.jsonl", b.String()), predictions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	selected := tasks("ok", "null", "absent", "empty", "z-missing", "missing")
	got := f.Cover(append(tasks("unselected", "other"), selected...), selected)
	want := eval.Coverage{
		Tasks: 6, Records: 9, Missing: []string{"missing", "z-missing"}, Duplicate: []string{"ok"}, Unknown: []string{"OK", "unknown2"},
		Unselected: []string{"unselected"}, Empty: []string{"empty"}, Null: []string{"absent", "null"},
		Malformed: []string{"p.jsonl:9: not valid JSON at byte 0: a record must be an object in { }"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("coverage\n%+v\nwant\n%+v", got, want)
	}
	none := (&predictions.File{}).Cover(nil, nil)
	for i, v := range []([]string){none.Missing, none.Duplicate, none.Unknown, none.Unselected, none.Empty, none.Null, none.Malformed} {
		if v == nil {
			t.Errorf("list %d is nil, it would be null in JSON", i)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	tests := []struct{ name, file, data, text string }{
		{"empty", "p.jsonl", "", "holds no records"},
		{"empty list", "p.json", "[]", "holds no records"},
		{"empty map", "p.json", "{}", "holds no records"},
		{"nothing good", "p.jsonl", "oops\noops", "all of its 2 records are malformed, the first one is p.jsonl:1: "},
		{"wrong key of the id", "p.jsonl", `{"id": "a"}`, "instance_id is missing"},
		{"list named jsonl", "p.jsonl", "[" + recA + "]", "name it .json"},
		{"lines named json", "p.json", recA + "\n" + recB, "name it .jsonl"},
		{"map of strings", "p.json", `{"a-1": "diff"}`, "is a string, a prediction is expected"},
		{"cut off", "p.json", "[" + recA + ", " + recB[:30], "was cut off"},
		{"no extension", "p", recA, "name it .jsonl"},
		{"parquet", "p.parquet", recA, "name it .jsonl"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.file, tt.data)
			_, err := predictions.Load(t.Context(), path, predictions.Options{})
			if err == nil || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want %q", err, tt.text)
			}
		})
	}
	if _, err := predictions.Load(t.Context(), filepath.Join(t.TempDir(), "p.jsonl"), predictions.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	f, err := predictions.Load(t.Context(), write(t, "p.jsonl", recA+"\n"+strings.Repeat("oops\n", 5000)), predictions.Options{MaxMalformed: 3})
	if err != nil || len(f.Malformed) != 4 || f.Malformed[3] != "p.jsonl: 4997 more malformed records are not listed" {
		t.Errorf("%v, %+v", err, f)
	}
}

// The commands that the error gives are run as they stand.
func TestSeveralModels(t *testing.T) {
	recs := []string{
		recA, recB,
		`{"instance_id": "a-1", "model_name_or_path": "it's \"$(touch owned)\"", "model_patch": "x"}`,
		`{"instance_id": "b-1", "model_patch": "y"}`, `{"instance_id": "c-1", "model_name_or_path": null}`, `{"instance_id": "d-1"}`,
		`{"instance_id": "d-1", "model_name_or_path": "v_m 1", "model_patch": "z"}`,
	}
	lines := strings.Join(recs, "\n")
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"it's p.jsonl":  lines,
		"p.json":        "[" + strings.Join(recs, ",") + "]",
		"p2.json":       `{"1":` + recs[0] + `,"2":` + recs[1] + `,"3":` + recs[2] + `,"4":` + recs[3] + `,"5":` + recs[4] + `,"6":` + recs[5] + `,"7":` + recs[6] + `}`,
		"p.v2.json.zst": string(enc.EncodeAll([]byte("["+strings.Join(recs, ",")+"]"), nil)),
	} {
		path := write(t, name, data)
		_, err := predictions.Load(t.Context(), path, predictions.Options{})
		var me *predictions.ModelsError
		if !errors.As(err, &me) {
			t.Fatalf("%s: %v", name, err)
		}
		if want := []string{"None", "v/m 1", `it's "$(touch owned)"`, "v_m 1"}; !reflect.DeepEqual(me.Models, want) || !reflect.DeepEqual(me.Records, []int{3, 2, 1, 1}) {
			t.Errorf("%s: models %q, %v", name, me.Models, me.Records)
		}
		if !strings.Contains(err.Error(), "4 models") || !strings.Contains(err.Error(), me.Commands[0]) {
			t.Errorf("message: %v", err)
		}
		for _, tool := range []string{"jq", "zstd"} {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("%s is not installed: the commands can't be tried", tool)
			}
		}
		for _, command := range me.Commands {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
			cmd.Dir = filepath.Dir(path)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", command, err, out)
			}
		}
		parts, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]int)
		for _, part := range parts {
			if part == path {
				continue
			}
			f, err := predictions.Load(t.Context(), part, predictions.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got[f.Model] = f.Records
		}
		if want := map[string]int{"None": 3, "v/m 1": 2, `it's "$(touch owned)"`: 1, "v_m 1": 1}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: split into %v", name, got)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "owned")); err == nil {
			t.Error("a model name was run by the shell")
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(recA+"\n"+recB), false)
	f.Add([]byte("["+recA+","+recC+"]"), true)
	f.Add([]byte(`{"x":`+recA+`}`), true)
	f.Add([]byte(`{"a":[}`), true)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, document bool) {
		path := filepath.Join(dir, "p.jsonl")
		if document {
			path = filepath.Join(dir, "p.json")
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := predictions.Load(t.Context(), path, predictions.Options{MaxRecordBytes: 1 << 12})
		if err != nil {
			_ = err.Error()
			return
		}
		for id, p := range file.ByID {
			if p.InstanceID != id || eval.ValidateInstanceID(id) != nil || p.Model != file.Model {
				t.Fatalf("%q: %+v", id, p)
			}
		}
		c := file.Cover(nil, nil)
		if len(c.Unknown) != len(file.ByID) || bytes.Count(data, []byte("{")) < file.Records-len(c.Malformed) {
			t.Fatalf("%+v", c)
		}
	})
}
