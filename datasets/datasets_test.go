package datasets_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"harness/datasets"
	"harness/eval"
)

// base is a row of the newer form; rowWith changes some of its fields (nil removes one).
func rowWith(changes map[string]any) map[string]any {
	row := map[string]any{
		"instance_id": "octo__calc-1", "repo": "octo/calc", "base_commit": strings.Repeat("0a", 20),
		"patch": "--- a/x\r\n+++ b/x\n", "test_patch": "t", "problem_statement": "it <fails> & burns",
		"FAIL_TO_PASS": []string{"test_a[1 - ü]"}, "PASS_TO_PASS": []string{"test_b", "test_c \"q\""},
		"image": "octo/calc:1", "eval_script": "#!/bin/bash\n", "log_parser": "parse_log_pytest",
	}
	for k, v := range changes {
		if v == nil {
			delete(row, k)
		} else {
			row[k] = v
		}
	}
	return row
}

type raw = json.RawMessage

func jsonl(t *testing.T, rows ...map[string]any) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSchemaHasEveryFieldOfTask(t *testing.T) {
	rt := reflect.TypeFor[eval.Task]()
	for i := range rt.NumField() {
		name, _, _ := strings.Cut(rt.Field(i).Tag.Get("json"), ",")
		if !datasets.HasField(name) {
			t.Errorf("eval.Task has %s, the row schema has not", name)
		}
	}
	if rt.NumField() != datasets.NumFields {
		t.Errorf("eval.Task has %d fields, the row schema %d", rt.NumField(), datasets.NumFields)
	}
}

func TestFormsOfARow(t *testing.T) {
	frozen := map[string]any{"runtime": "runsc", "image_digest": "sha256:x", "gold_runs": 3, "noop_runs": 1, "published_f2p": 2, "published_p2p": 3}
	want := eval.Task{
		InstanceID: "octo__calc-1", Repo: "octo/calc", BaseCommit: strings.Repeat("0a", 20), Language: "python",
		Patch: "--- a/x\r\n+++ b/x\n", TestPatch: "t", ProblemStatement: "it <fails> & burns",
		FailToPass: []string{"test_a[1 - ü]"}, PassToPass: []string{"test_b", "test_c \"q\""},
		Image: "octo/calc:1", EvalScript: "#!/bin/bash\n", LogParser: "parse_log_pytest", EvalType: eval.EvalPassAndFail,
	}
	cpus, mem := 1.5, int64(1<<30)
	tests := []struct {
		name    string
		changes map[string]any
		want    func(*eval.Task)
	}{
		{"lists", nil, func(*eval.Task) {}},
		{"lists as JSON strings", map[string]any{"FAIL_TO_PASS": `["test_a[1 - \u00fc]"]`, "PASS_TO_PASS": " [\"test_b\",\n\"test_c \\\"q\\\"\"] "}, func(*eval.Task) {}},
		{"optional fields null, unknown ones ignored", map[string]any{"hints_text": raw("null"), "difficulty": raw("null"), "limits": raw("null"), "image_assets": raw("null"), "env": raw(`{"a":[1]}`)}, func(*eval.Task) {}},
		{"older form", map[string]any{"image": nil, "eval_script": nil, "log_parser": nil, "repo": "django/django"}, func(t *eval.Task) {
			t.Image, t.EvalScript, t.LogParser, t.Repo = "", "", "", "django/django"
		}},
		{"own fields", map[string]any{"limits": map[string]any{"cpus": cpus, "memory_bytes": mem}, "workdir": "/src", "language": "Go", "frozen": frozen, "eval_type": "fail_only"}, func(t *eval.Task) {
			t.Limits, t.WorkDir, t.Language, t.EvalType = &eval.LimitsSpec{CPUs: &cpus, MemoryBytes: &mem}, "/src", "go", eval.EvalFailOnly
			t.Frozen = &eval.Frozen{Runtime: "runsc", ImageDigest: "sha256:x", GoldRuns: 3, NoopRuns: 1, PublishedF2P: 2, PublishedP2P: 3}
		}},
		{"own fields as JSON strings", map[string]any{"limits": `{"cpus":1.5}`}, func(t *eval.Task) { t.Limits = &eval.LimitsSpec{CPUs: &cpus} }},
		{"empty limits", map[string]any{"limits": map[string]any{}}, func(*eval.Task) {}},
		{"empty list", map[string]any{"PASS_TO_PASS": "[]"}, func(t *eval.Task) { t.PassToPass = []string{} }},
		{"language unknown", map[string]any{"log_parser": "parse_log_tap"}, func(t *eval.Task) { t.LogParser, t.Language = "parse_log_tap", "" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ds, err := datasets.Load(t.Context(), write(t, "calc.jsonl", jsonl(t, rowWith(tt.changes))), datasets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			w := want
			tt.want(&w)
			if !reflect.DeepEqual(ds.Tasks[0], w) {
				t.Errorf("task\n%+v\nwant\n%+v", ds.Tasks[0], w)
			}
			c, err := datasets.CanonicalJSON(&ds.Tasks[0])
			if err != nil {
				t.Fatal(err)
			}
			back, err := datasets.ParseTask(c)
			if err != nil || !reflect.DeepEqual(back, w) {
				t.Errorf("parse of canonical form %s: %v\n%+v", c, err, back)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	one := func(changes map[string]any) []byte { return jsonl(t, rowWith(changes)) }
	valid := string(one(nil))
	tests := []struct {
		name  string
		data  []byte
		field string
		text  string // part of the problem
	}{
		{"missing", one(map[string]any{"patch": nil}), "patch", "missing"},
		{"null", one(map[string]any{"repo": raw("null")}), "repo", "null"},
		{"number", one(map[string]any{"version": 3}), "version", "a number, a string is expected"},
		{"list for text", one(map[string]any{"patch": []string{"a"}}), "patch", "a list, a string"},
		{"text for list", one(map[string]any{"FAIL_TO_PASS": "test_a"}), "FAIL_TO_PASS", "does not hold a JSON list"},
		{"empty text for list", one(map[string]any{"FAIL_TO_PASS": ""}), "FAIL_TO_PASS", "does not hold a JSON list"},
		{"Python list", one(map[string]any{"FAIL_TO_PASS": "['a']"}), "FAIL_TO_PASS", "does not hold a JSON list"},
		{"object for list", one(map[string]any{"PASS_TO_PASS": map[string]int{}}), "PASS_TO_PASS", "an object, a list"},
		{"number in list", one(map[string]any{"PASS_TO_PASS": []any{"a", 2}}), "PASS_TO_PASS", "element 2 is a number"},
		{"list in list", one(map[string]any{"PASS_TO_PASS": `["a", ["b"]]`}), "PASS_TO_PASS", "element 2 is a list"},
		{"id", one(map[string]any{"instance_id": "../../etc/passwd"}), "instance_id", "is refused"},
		{"id empty", one(map[string]any{"instance_id": ""}), "instance_id", "it is empty"},
		{"repo", one(map[string]any{"repo": "calc"}), "repo", "not owner/name"},
		{"repo with dots", one(map[string]any{"repo": "../x"}), "repo", "not owner/name"},
		{"commit", one(map[string]any{"base_commit": "--upload-pack=x"}), "base_commit", "can't name a commit"},
		{"image", one(map[string]any{"image": "a b"}), "image", "not an image reference"},
		{"eval type", one(map[string]any{"eval_type": "sometimes"}), "eval_type", "unknown"},
		{"workdir", one(map[string]any{"workdir": "testbed/.."}), "workdir", "clean absolute path"},
		{"language", one(map[string]any{"language": "a b"}), "language", "not one word"},
		{"limits value", one(map[string]any{"limits": map[string]any{"memory_bytes": 5}}), "limits", "at least 64 MiB"},
		{"limits type", one(map[string]any{"limits": map[string]any{"memory_bytes": "5"}}), "limits", "memory_bytes"},
		{"limits key", one(map[string]any{"limits": map[string]any{"mem": 5}}), "limits", "unknown field"},
		{"limits list", one(map[string]any{"limits": []int{1}}), "limits", "a list, an object"},
		{"lone surrogate", []byte(strings.Replace(valid, `"t"`, `"t\ud800"`, 1)), "test_patch", `lone surrogate \ud800 at byte 1`},
		{"lone surrogate in a list", []byte(strings.Replace(valid, `test_b`, `test_b\udc80`, 1)), "PASS_TO_PASS", `element 1 has lone surrogate`},
		{"lone surrogate in a string of a list", one(map[string]any{"PASS_TO_PASS": `["\ud83d"]`}), "PASS_TO_PASS", `lone surrogate`},
		{"invalid UTF-8", []byte(strings.Replace(valid, `"t"`, "\"t\xff\"", 1)), "test_patch", "invalid UTF-8 (byte 0xff)"},
		{"invalid UTF-8 in frozen", []byte(strings.Replace(valid, `"repo"`, `"frozen":{"note":"\udddd"},"repo"`, 1)), "frozen", "lone surrogate"},
		{"given twice", []byte(strings.Replace(valid, `"repo"`, `"repo":"a/b","repo"`, 1)), "repo", "given twice"},
		{"not JSON", []byte("{'a': 1}\n"), "", "not valid JSON at byte 1"},
		{"not an object", []byte("7\n"), "", "must be an object"},
		{"cut", []byte(valid[:100]), "", "not valid JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			good := jsonl(t, rowWith(map[string]any{"instance_id": "octo__good-1"}), rowWith(map[string]any{"instance_id": "octo__good-2"}))
			first, second, _ := bytes.Cut(good, []byte("\n"))
			data := bytes.Join([][]byte{first, []byte("\n\n"), bytes.TrimSpace(tt.data), []byte("\n"), second}, nil)
			path := write(t, "tasks.jsonl", data)
			_, err := datasets.Load(t.Context(), path, datasets.Options{})
			var p datasets.Problem
			if !errors.As(err, new(*datasets.LoadError)) || !errors.As(err, &p) {
				t.Fatalf("error is %v, want a LoadError", err)
			}
			if p.Line != 3 || p.Row != 2 || p.Field != tt.field || !strings.Contains(p.Reason, tt.text) || p.Fix == "" {
				t.Errorf("problem %+v; want line 3, field %q, reason %q", p, tt.field, tt.text)
			}
			if !strings.Contains(err.Error(), path+":3: ") {
				t.Errorf("message has no position: %v", err)
			}
			ds, problems, err := datasets.Validate(t.Context(), path, datasets.Options{})
			if err != nil || len(ds.Tasks) != 2 || len(problems) == 0 {
				t.Errorf("validate: %v, %d problems", err, len(problems))
			}
		})
	}
}

func TestTwinIDs(t *testing.T) {
	path := write(t, "tasks.json", []byte("[\n"+strings.Join([]string{
		string(jsonl(t, rowWith(nil))), string(jsonl(t, rowWith(nil))), string(jsonl(t, rowWith(map[string]any{"instance_id": "Octo__calc-1"}))),
	}, ",")+"]"))
	_, problems, err := datasets.Validate(t.Context(), path, datasets.Options{})
	if err != nil || len(problems) != 2 {
		t.Fatal(problems, err)
	}
	if p := problems[0]; p.Line != 3 || p.Row != 2 || !strings.Contains(p.Reason, "given again, first on line 2") {
		t.Errorf("duplicate: %+v", p)
	}
	if p := problems[1]; p.Row != 3 || !strings.Contains(p.Reason, `only by case from "octo__calc-1" on line 2`) {
		t.Errorf("case twin: %+v", p)
	}
}

func TestWarnings(t *testing.T) {
	path := write(t, "tasks.jsonl", jsonl(t, rowWith(map[string]any{
		"FAIL_TO_PASS": []string{}, "PASS_TO_PASS": []string{""}, "base_commit": "main", "patch": "",
	}), rowWith(map[string]any{"instance_id": "octo__calc-2", "PASS_TO_PASS": []string{"test_a[1 - ü]"}})))
	ds, err := datasets.Load(t.Context(), path, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range ds.Warnings {
		if !w.Warning {
			t.Errorf("not marked as a warning: %v", w)
		}
		got = append(got, w.Field)
	}
	if want := []string{"base_commit", "patch", "FAIL_TO_PASS", "PASS_TO_PASS", "PASS_TO_PASS"}; !reflect.DeepEqual(got, want) {
		t.Errorf("warnings on %v, want %v", got, want)
	}
}

func TestManyProblemsAreBounded(t *testing.T) {
	path := write(t, "tasks.jsonl", append(jsonl(t, rowWith(nil)), bytes.Repeat([]byte("oops\n"), 5000)...))
	_, err := datasets.Load(t.Context(), path, datasets.Options{})
	var le *datasets.LoadError
	if !errors.As(err, &le) || len(le.Problems) != 1000 || le.More != 4000 || le.Rows != 5001 {
		t.Fatalf("%.300v", err)
	}
	if n := strings.Count(err.Error(), "\n"); n != 21 || !strings.Contains(err.Error(), "and 4980 more") {
		t.Errorf("message has %d lines: %v", n, err)
	}
	ds, err := datasets.Load(t.Context(), path, datasets.Options{Lenient: true, MaxProblems: 7})
	if err != nil || len(ds.Tasks) != 1 || len(ds.Problems) != 7 {
		t.Errorf("lenient: %v", err)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	row := string(jsonl(t, rowWith(nil)))
	tests := []struct{ name, file, data, text string }{
		{"empty", "a.jsonl", "\n \n", "holds no rows"},
		{"empty list", "a.json", "[]", "holds no rows"},
		{"no bytes", "a.json", "", "is empty"},
		{"list named jsonl", "a.jsonl", "[" + row + "]", "name it .json"},
		{"lines named json", "a.json", row + row, "name it .jsonl"},
		{"cut list", "a.json", "[" + row, "was cut off"},
		{"text", "a.txt", row, "name it .jsonl, .json, .csv or .parquet"},
		{"no zstd", "a.jsonl.zst", row, "first bytes are those of JSON"},
		{"no gzip", "a.jsonl.gz", row, "gzip"},
		{"no parquet", "a.parquet", row, "first bytes are those of JSON"},
		{"short parquet", "a.parquet", "PAR1", "read parquet: file too small"},
		{"damaged parquet", "a.parquet", "PAR1" + strings.Repeat("x", 100) + "\x20\x00\x00\x00PAR1", "read parquet"},
		{"another family", "a.jsonl", `{"x":1,"prompt":"p"}` + "\n", "unknown dataset family: its rows have no instance_id, repo"},
		{"too large", "a.jsonl", row + strings.Repeat(row, 9), "holds more than 2000 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.file, []byte(tt.data))
			opts := datasets.Options{}
			if tt.name == "too large" {
				opts.MaxBytes = 2000
			}
			_, err := datasets.Load(t.Context(), path, opts)
			if err == nil || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want %q", err, tt.text)
			}
		})
	}
	if _, err := datasets.Load(t.Context(), filepath.Join(t.TempDir(), "x.jsonl"), datasets.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := datasets.Load(ctx, write(t, "a.jsonl", []byte(row)), datasets.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	_, problems, err := datasets.Validate(t.Context(), write(t, "a.jsonl", []byte(row+"\n{\"x\":\""+strings.Repeat("y", 5000)+"\"}\n")), datasets.Options{MaxRecordBytes: 3000})
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Reason, "longer than 3000 bytes") {
		t.Errorf("long line: %v, %v", problems, err)
	}
}

func TestDirectories(t *testing.T) {
	row := jsonl(t, rowWith(nil))
	list := append(append([]byte("["), row...), ']')
	tests := []struct {
		name  string
		files map[string][]byte
		split string
		want  string // split, or part of the error
		ok    bool
	}{
		{"dataset file", map[string][]byte{"dataset.json": list, "notes.txt": nil, "README.md": nil}, "", "", true},
		{"dataset file twice", map[string][]byte{"dataset.jsonl": row, "dataset.json": list}, "", "are all there", false},
		{"only split", map[string][]byte{"test.jsonl": row}, "", "test", true},
		{"chosen split", map[string][]byte{"test.jsonl": row, "dev.json": list}, "dev", "dev", true},
		{"hub file name", map[string][]byte{"dev-00000-of-00001.jsonl": row, "test-00000-of-00001.jsonl": row}, "test", "test", true},
		{"split not there", map[string][]byte{"test.jsonl": row}, "dev", `no split "dev"; there is test`, false},
		{"several splits", map[string][]byte{"test.jsonl": row, "dev.jsonl": row}, "", "several splits (dev, test)", false},
		{"nothing", map[string][]byte{"a.txt": row}, "", "holds no .jsonl", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "calc")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, data := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ds, err := datasets.Load(t.Context(), dir, datasets.Options{Split: tt.split})
			if tt.ok {
				if err != nil || ds.Name != "calc" || ds.Split != tt.want {
					t.Errorf("%+v, %v; want split %q", ds, err, tt.want)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestDigestIsTheSameInEveryForm(t *testing.T) {
	rows := [][]byte{}
	for _, id := range []string{"octo__calc-1", "octo__calc-2", "octo__calc-3"} {
		rows = append(rows, bytes.TrimSpace(jsonl(t, rowWith(map[string]any{"instance_id": id, "limits": map[string]any{"cpus": 2}}))))
	}
	lines := bytes.Join(rows, []byte("\n"))
	list := append(append([]byte("["), bytes.Join(rows, []byte(","))...), ']')
	ref, err := datasets.Load(t.Context(), write(t, "a.jsonl", lines), datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := datasets.Digest(ref.Tasks); err != nil || d != ref.Digest || len(d) != 64 {
		t.Errorf("digest of the tasks is %s, %v", d, err)
	}
	var pq bytes.Buffer
	if err := datasets.WriteParquet(&pq, ref); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"a.json": list, "a.parquet": pq.Bytes(),
		"a.json.gz": gz(t, list), "a.jsonl.gz": gz(t, lines), "a.parquet.gz": gz(t, pq.Bytes()),
		"a.json.zst": zst(t, list), "a.jsonl.zst": zst(t, lines), "a.parquet.zst": zst(t, pq.Bytes()),
	}
	for name, data := range files {
		ds, err := datasets.Load(t.Context(), write(t, name, data), datasets.Options{})
		if err != nil || ds.Digest != ref.Digest || ds.Name != "a" || !reflect.DeepEqual(ds.Tasks, ref.Tasks) {
			t.Errorf("%s: %+v, %v", name, ds, err)
		}
	}
	ref.Tasks[0], ref.Tasks[1] = ref.Tasks[1], ref.Tasks[0]
	if d, _ := datasets.Digest(ref.Tasks); d == ref.Digest {
		t.Error("the digest does not see the order")
	}
	ref.Tasks[0].Patch = "\xff"
	if _, err := datasets.Digest(ref.Tasks); err == nil {
		t.Error("a task that JSON can't carry has a digest")
	}
	if _, err := datasets.ParseTask([]byte(`{"instance_id":"a"}`)); err == nil || !strings.Contains(err.Error(), "field repo") {
		t.Errorf("parse of half a task: %v", err)
	}
}

// A file that was cut is never taken for a shorter one.
func TestTruncatedFiles(t *testing.T) {
	var rows []map[string]any
	for i := range 200 {
		rows = append(rows, rowWith(map[string]any{"instance_id": fmt.Sprintf("octo__calc-%d", i)}))
	}
	lines := jsonl(t, rows...)
	ds, err := datasets.Load(t.Context(), write(t, "a.jsonl", lines), datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var pq bytes.Buffer
	if err := datasets.WriteParquet(&pq, ds); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"a.jsonl.gz": gz(t, lines), "a.jsonl.zst": zst(t, lines), "a.parquet": pq.Bytes(), "a.parquet.zst": zst(t, pq.Bytes())} {
		for _, n := range []int{1, 4, len(data) / 3, len(data) / 2, len(data) - 9, len(data) - 1} {
			if ds, err := datasets.Load(t.Context(), write(t, name, data[:n]), datasets.Options{}); err == nil {
				t.Errorf("%s cut to %d of %d bytes: %d tasks loaded", name, n, len(data), len(ds.Tasks))
			}
		}
	}
}

func gz(t *testing.T, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zst(t *testing.T, data []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

func TestRunnable(t *testing.T) {
	task := eval.Task{InstanceID: "a", Image: "i"}
	err := datasets.Runnable(&task)
	var nr *datasets.NotRunnableError
	if !errors.As(err, &nr) || !reflect.DeepEqual(nr.Missing, []string{"eval_script", "log_parser"}) {
		t.Errorf("%v", err)
	}
}

// Rows of the older form get what they lack, and say so; what can't be given is
// named with the way to add it.
func TestComplete(t *testing.T) {
	row := eval.Task{
		InstanceID: "markedjs__marked-1", Repo: "markedjs/marked", Version: "0.7", EvalType: eval.EvalPassAndFail,
		BaseCommit: strings.Repeat("a", 40), TestPatch: "diff --git a/t.js b/t.js\n--- a/t.js\n+++ b/t.js\n@@ -1 +1 @@\n-a\n+b\n",
	}
	ready, stated, unknown, other := row, row, row, row
	ready.Image, ready.EvalScript, ready.LogParser = "i", "true\n", "parse_log_jest"
	stated.Image, stated.EvalType = "i", eval.EvalFailOnly
	unknown.Version = "77"
	other.Family = eval.FamilyPro
	tasks := []eval.Task{row, ready, stated, unknown, other}
	c := datasets.Complete(tasks, eval.Recipe{})
	if c.Tasks != 2 || c.Scripts != 2 || !strings.Contains(c.Notice(), "the rows of 2 tasks lack") {
		t.Errorf("completed %+v: %s", c, c.Notice())
	}
	for i, want := range []string{"", "", "", `can't be generated: the spec table has no entry for version "77" of markedjs/marked; add one`, "it has no image, eval_script, log_parser; SWE-bench Pro keeps"} {
		if err := datasets.Runnable(&tasks[i]); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("row %d: %v, want %q", i, err, want)
		}
	}
	if tasks[0].EvalType != eval.EvalFailOnly || tasks[0].Language != "javascript" || tasks[2].EvalType != eval.EvalFailOnly || tasks[1].LogParser != "parse_log_jest" {
		t.Errorf("tasks became %+v", tasks[:3])
	}
	if n := datasets.Complete(tasks[1:2], eval.Recipe{}).Notice(); n != "" {
		t.Errorf("a notice for nothing: %s", n)
	}
}
