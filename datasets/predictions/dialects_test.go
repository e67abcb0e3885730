package predictions_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"harness/datasets/predictions"
	"harness/eval"
	"harness/internal/checkout"
)

// TestDialects reads one file of each dialect, in each form that it comes in.
func TestDialects(t *testing.T) {
	text := func(s string) *string { return &s }
	tests := []struct {
		name, file, data string
		opts             predictions.Options
		dialect, model   string
		want             map[string]*string
	}{
		{"live", "preds.json", `{"a-1": {"model_patch": "p", "cost": 3}, "b-1": {"model_patch": ""}, "c-1": {"model_patch": null}}`,
			predictions.Options{}, "swe-bench-live", "None", map[string]*string{"a-1": text("p"), "b-1": text(""), "c-1": nil}},
		{"live, id given again", "preds.json", `{"a-1": {"instance_id": "a-1", "model_patch": "p"}}`,
			predictions.Options{Format: "swe-bench-live"}, "swe-bench-live", "None", map[string]*string{"a-1": text("p")}},
		{"live, named", "preds.json", `{"a-1": {"model_patch": "p", "model_name_or_path": "m"}}`,
			predictions.Options{}, "swe-bench-live", "m", map[string]*string{"a-1": text("p")}},
		{"mini-swe-agent", "preds.json", `{"a-1": {"model_name_or_path": "m", "instance_id": "a-1", "model_patch": "p"}}`,
			predictions.Options{Format: "mini-swe-agent"}, "swe-bench", "m", map[string]*string{"a-1": text("p")}},
		{"pro", "p.json", `[{"instance_id": "a-1", "patch": "p", "prefix": "sample1"}, {"instance_id": "b-1", "patch": "", "prefix": "sample1"}]`,
			predictions.Options{}, "swe-bench-pro", "sample1", map[string]*string{"a-1": text("p"), "b-1": text("")}},
		{"pro by id", "p.jsonl", `{"instance_id": "instance_A__b-1-v2", "patch": "p"}`,
			predictions.Options{}, "swe-bench-pro", "None", map[string]*string{"instance_A__b-1-v2": text("p")}},
		{"pro, both patches", "p.json", `[{"instance_id": "a-1", "patch": "old", "model_patch": "new", "prefix": "s"}]`,
			predictions.Options{Format: "swe-bench-pro"}, "swe-bench-pro", "s", map[string]*string{"a-1": text("new")}},
		{"rebench", "p.json", `[{"instance_id": "a-1", "patch": "p"}, {"instance_id": "b-1", "patch": null}, {"instance_id": "c-1"}]`,
			predictions.Options{}, "swe-rebench", "None", map[string]*string{"a-1": text("p"), "b-1": nil, "c-1": nil}},
		{"multi", "p.jsonl", `{"org": "o", "repo": "R.x", "number": 12, "fix_patch": "p", "id": "o/R.x:pr-12"}` + "\n" + `{"org": "o", "repo": "r", "number": "7", "fix_patch": ""}`,
			predictions.Options{}, "multi-swe-bench", "None", map[string]*string{"o__R.x-12": text("p"), "o__r-7": text("")}},
		{"multi with id", "p.jsonl", `{"instance_id": "x-1", "org": "o", "repo": "r", "number": 12, "fix_patch": "p", "model_name_or_path": "m"}`,
			predictions.Options{}, "multi-swe-bench", "m", map[string]*string{"x-1": text("p")}},
		{"openhands", "output.jsonl", `{"instance_id": "a-1", "instance": {"patch": "gold", "instance_id": "z"}, "test_result": {"git_patch": "p"}, "metadata": {"llm_config": {"model": "v/m"}}, "history": [[1]]}`,
			predictions.Options{}, "openhands", "v/m", map[string]*string{"a-1": text("p")}},
		{"openhands, new", "output.jsonl", `{"instance_id": "a-1", "test_result": {"git_patch": "p"}, "metadata": {"llm": {"model": "v/m"}}}` + "\n" +
			`{"instance_id": "b-1", "test_result": {}, "error": "stuck", "metadata": {"llm": {"model": "v/m"}}}` + "\n" + `{"instance_id": "c-1", "test_result": null, "metadata": {"llm": {"model": "v/m"}}}`,
			predictions.Options{}, "openhands", "v/m", map[string]*string{"a-1": text("p"), "b-1": nil, "c-1": nil}},
		{"openhands, old", "output.jsonl", `{"instance_id": "a-1", "git_patch": "p"}`,
			predictions.Options{Model: "given"}, "openhands", "given", map[string]*string{"a-1": text("p")}},
		{"swe-agent", "a-1.pred", "\n" + `{"model_name_or_path": "m", "instance_id": "a-1", "model_patch": "p"}` + "\n",
			predictions.Options{}, "swe-agent", "m", map[string]*string{"a-1": text("p")}},
		{"no patch anywhere", "p.jsonl", `{"instance_id": "a-1"}`,
			predictions.Options{Model: "m x"}, "swe-bench", "m x", map[string]*string{"a-1": nil}},
		{"first records show nothing", "p.jsonl", "oops\n" + `{"instance_id": "a-1"}` + "\n" + `{"instance_id": "b-1", "patch": "p"}`,
			predictions.Options{}, "swe-rebench", "None", map[string]*string{"a-1": nil, "b-1": text("p")}},
		{"a row of a dataset, asked for", "p.jsonl", `{"instance_id": "a-1", "patch": "p", "test_patch": "t"}`,
			predictions.Options{Format: "swe-rebench"}, "swe-rebench", "None", map[string]*string{"a-1": text("p")}},
		{"swe-bench with more fields", "p.jsonl", `{"instance_id": "a-1", "model_patch": "p", "patch": "gold", "test_patch": "t", "test_result": {}, "prefix": 3}`,
			predictions.Options{}, "swe-bench", "None", map[string]*string{"a-1": text("p")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := predictions.Load(t.Context(), write(t, tt.file, tt.data), tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]*string{}
			for id, p := range f.ByID {
				got[id] = p.Patch
			}
			if f.Dialect != tt.dialect || f.Model != tt.model || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s of %q: %+v", f.Dialect, f.Model, f.ByID)
			}
		})
	}
}

func TestDialectIsOpen(t *testing.T) {
	tests := []struct {
		name, file, data string
		format           string
		want             []string
	}{
		{"two patches", "p.jsonl", `{"instance_id": "a-1", "patch": "p", "fix_patch": "q"}`, "",
			[]string{"p.jsonl:1: the record has the patch of several formats", "--format swe-rebench or --format multi-swe-bench"}},
		{"three patches", "p.json", `[{"instance_id": "a-1", "patch": "p", "prefix": "s", "test_result": {"git_patch": "q"}}]`, "",
			[]string{"record 1", "--format swe-bench-pro or --format openhands"}},
		{"rows of a dataset", "p.jsonl", `{"instance_id": "a-1", "patch": "p", "test_patch": "t", "repo": "a/b"}`, "",
			[]string{"p.jsonl:1", "rows of a dataset", "--gold"}},
		{"rows of Multi-SWE-bench", "p.jsonl", `{"org": "o", "repo": "r", "number": 1, "fix_patch": "p", "test_patch": "t"}`, "",
			[]string{"rows of a dataset"}},
		{"unknown name", "p.jsonl", recA, "help",
			[]string{`format "help" is not known; known are`, "\n  swe-bench        records of instance_id", "\n  patches "}},
		{"patches from a file", "p.jsonl", recA, "patches", []string{"is a folder of patches"}},
		{"wrong one", "p.json", "[" + recA + "]", "multi-swe-bench", []string{"all of its 1 records", "it looks like swe-bench, and is read as multi-swe-bench"}},
		{"wrong .pred", "a-1.pred", `{"instance_id": "a-1", "patch": "p"}`, "", []string{"it looks like swe-rebench, and is read as swe-agent"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := predictions.Load(t.Context(), write(t, tt.file, tt.data), predictions.Options{Format: tt.format})
			if err == nil {
				t.Fatalf("read as %s", f.Dialect)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v\nwant %q", err, want)
				}
			}
		})
	}
}

// A record that shows another dialect than those before is not read as one
// without a patch.
func TestMixedDialects(t *testing.T) {
	f, err := predictions.Load(t.Context(), write(t, "p.jsonl", strings.Join([]string{
		`{"instance_id": "a-1", "model_patch": "p"}`, `{"instance_id": "b-1", "patch": "p"}`, `{"instance_id": "c-1"}`,
		`{"instance_id": "d-1", "test_result": {"git_patch": "p"}}`,
	}, "\n")), predictions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Malformed) != 2 || !strings.HasPrefix(f.Malformed[0], "p.jsonl:2: it looks like swe-rebench") || !strings.HasPrefix(f.Malformed[1], "p.jsonl:4: it looks like openhands") {
		t.Errorf("%q", f.Malformed)
	}
	if p, ok := f.ByID["c-1"]; !ok || p.Patch != nil || len(f.ByID) != 2 {
		t.Errorf("%+v", f.ByID)
	}
}

func TestMalformedRecordsOfDialects(t *testing.T) {
	deep := strings.Repeat("[", 100000) + strings.Repeat("]", 100000)
	tests := []struct{ format, rec, reason string }{
		{"multi-swe-bench", `{"org": "o", "repo": "r", "fix_patch": "p"}`, "number is missing"},
		{"multi-swe-bench", `{"org": "o", "repo": "r", "number": 1.5, "fix_patch": "p"}`, `number is "1.5"`},
		{"multi-swe-bench", `{"org": "o", "repo": "r", "number": -1, "fix_patch": "p"}`, `number is "-1"`},
		{"multi-swe-bench", `{"org": "../o", "repo": "r", "number": 1, "fix_patch": "p"}`, "is refused"},
		{"multi-swe-bench", `{"org": null, "repo": "r", "number": 1, "fix_patch": "p"}`, "org is missing"},
		{"multi-swe-bench", `{"org": "o", "repo": "r", "number": 1, "fix_patch": 3}`, "fix_patch is a number"},
		{"openhands", `{"instance_id": "a-1", "test_result": "x"}`, "test_result is a string, an object is expected"},
		{"openhands", `{"instance_id": "a-1", "test_result": {"git_patch": []}}`, "test_result.git_patch is a list"},
		{"openhands", `{"instance_id": "a-1", "test_result": {"git_patch": "a"}, "test_result": {"git_patch": "b"}}`, "test_result.git_patch is given twice"},
		{"openhands", `{"instance_id": "a-1", "test_result": {"git_patch": "a"}, "metadata": {"llm": {"model": "../x"}}}`, "model name"},
		{"openhands", `{"instance_id": "a-1", "test_result": {"git_patch": "a"}, "history": ` + deep + `}`, "deeper than"},
		{"openhands", "{\"instance_id\": \"a-1\", \"test_result\": {\"git_patch\": \"a\xff\"}}", "invalid UTF-8"},
		{"swe-bench-pro", `{"instance_id": "a-1", "patch": "\ud800", "prefix": "s"}`, "lone surrogate"},
		{"swe-bench-pro", `{"instance_id": "a-1", "patch": "p", "prefix": "a\u0000b"}`, "model name"},
		{"swe-rebench", `{"instance_id": "a/b", "patch": "p"}`, "is refused"},
		{"swe-rebench", `{"patch": "p"}`, "instance_id is missing"},
	}
	for _, tt := range tests {
		good := `{"instance_id": "good-1"}`
		f, err := predictions.Load(t.Context(), write(t, "p.jsonl", good+"\n"+tt.rec+"\n"), predictions.Options{Format: tt.format})
		if err != nil {
			t.Errorf("%s, %.60s: %v", tt.format, tt.rec, err)
			continue
		}
		if len(f.Malformed) != 1 || !strings.HasPrefix(f.Malformed[0], "p.jsonl:2: ") || !strings.Contains(f.Malformed[0], tt.reason) {
			t.Errorf("%s, %.60s: %.200q, want %q", tt.format, tt.rec, f.Malformed, tt.reason)
		}
	}
	f, err := predictions.Load(t.Context(), write(t, "p.json", `{"a-1": {"model_patch": "p"}, "b-1": {"model_patch": "p", "instance_id": "c-1"}, "../x": {"model_patch": ""}}`),
		predictions.Options{Format: "swe-bench-live"})
	if err != nil || len(f.Malformed) != 2 || !strings.Contains(f.Malformed[0], `its instance_id is "c-1" and its key "b-1"`) || !strings.Contains(f.Malformed[1], "is refused") {
		t.Errorf("%v, %+v", err, f)
	}
}

func TestNear(t *testing.T) {
	f, err := predictions.Load(t.Context(), write(t, "p.jsonl", strings.Join([]string{
		`{"instance_id": "Django__django-1", "model_patch": ""}`, `{"instance_id": "A__b-2", "model_patch": ""}`,
		`{"instance_id": "a_1776_c-3", "model_patch": ""}`, `{"instance_id": "other", "model_patch": ""}`, `{"instance_id": "known", "model_patch": ""}`,
	}, "\n")), predictions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := f.Near(tasks("django__django-1", "DJANGO__django-1", "instance_A__b-2", "a__c-3", "known", "KNOWN"))
	want := map[string][]string{
		"Django__django-1": {"DJANGO__django-1", "django__django-1"}, "A__b-2": {"instance_A__b-2"}, "a_1776_c-3": {"a__c-3"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if c := f.Cover(tasks("django__django-1"), nil); !reflect.DeepEqual(c.Unknown, []string{"A__b-2", "Django__django-1", "a_1776_c-3", "known", "other"}) {
		t.Errorf("ids that are near are still unknown: %v", c.Unknown)
	}
}

// TestDocs reads the examples of docs/predictions.md; each must be found to be
// what its heading says, and each dialect must be there.
func TestDocs(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(checkout.Root(t), "docs", "predictions.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]int{}
	for section := range strings.SplitSeq(string(doc), "\n### ") {
		name, body, _ := strings.Cut(section, "\n")
		blocks := strings.Split(body, "```")
		for i := 1; i < len(blocks); i += 2 {
			kind, data, _ := strings.Cut(blocks[i], "\n")
			if kind != "jsonl" && kind != "json" && kind != "pred" {
				continue
			}
			shown[name]++
			f, err := predictions.Load(t.Context(), write(t, fmt.Sprintf("example.%s", kind), data), predictions.Options{Model: "vendor/model"})
			if err != nil || f.Dialect != name || len(f.Malformed) > 0 {
				t.Errorf("%s: %v, %+v", name, err, f)
			}
		}
	}
	for _, d := range predictions.Builtin() {
		if !strings.Contains(string(doc), "\n| `"+d.Name+"` |") {
			t.Errorf("the table of docs/predictions.md has no line for %s", d.Name)
		}
		if shown[d.Name] == 0 && d.Name != "patches" {
			t.Errorf("docs/predictions.md has no example of %s", d.Name)
		}
	}
}

// Splitting commands keep the dialect: what they write is read as what it was.
func TestSplitCommandsOfDialects(t *testing.T) {
	for name, data := range map[string]string{
		"live.json":   `{"a-1": {"model_patch": "p", "model_name_or_path": "m1"}, "b-1": {"model_patch": "q"}}`,
		"pro.json":    `[{"instance_id": "a-1", "patch": "p", "prefix": "m1"}, {"instance_id": "b-1", "patch": "q", "prefix": "None"}]`,
		"hands.jsonl": `{"instance_id": "a-1", "test_result": {"git_patch": "p"}, "metadata": {"llm_config": {"model": "m1"}}}` + "\n" + `{"instance_id": "b-1", "test_result": {"git_patch": "q"}, "metadata": null}`,
	} {
		path := write(t, name, data)
		_, err := predictions.Load(t.Context(), path, predictions.Options{})
		var me *predictions.ModelsError
		if !errors.As(err, &me) || len(me.Models) != 2 {
			t.Fatalf("%s: %v", name, err)
		}
		checkSplit(t, path, me, map[string]string{"None": "b-1", "m1": "a-1"})
	}
	dir := t.TempDir()
	for id, model := range map[string]string{"a-1": "m1", "b-1": "None"} {
		put(t, filepath.Join(dir, "it's", id, id+".pred"), fmt.Sprintf(`{"instance_id": %q, "model_name_or_path": %q, "model_patch": "p"}`, id, model))
	}
	path := filepath.Join(dir, "it's")
	_, err := predictions.Load(t.Context(), path, predictions.Options{})
	var me *predictions.ModelsError
	if !errors.As(err, &me) {
		t.Fatal(err)
	}
	checkSplit(t, path, me, map[string]string{"None": "b-1", "m1": "a-1"})
}

func FuzzDialects(f *testing.F) {
	for _, d := range predictions.Builtin() {
		f.Add([]byte(`{"instance_id": "a-1", "model_patch": "p", "patch": "q", "prefix": "s"}`), d.Name, uint8(0))
		f.Add([]byte(`{"a-1": {"org": "o", "repo": "r", "number": 1, "fix_patch": "p"}}`), d.Name, uint8(1))
		f.Add([]byte(`{"instance_id": "a-1", "test_result": {"git_patch": "p"}, "metadata": {"llm": {"model": "m"}}}`), "", uint8(2))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, format string, form uint8) {
		path := filepath.Join(dir, []string{"p.jsonl", "p.json", "p.pred", "x.patch"}[form%4])
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if form%4 == 3 {
			path = dir
		}
		file, err := predictions.Load(t.Context(), path, predictions.Options{MaxRecordBytes: 1 << 12, Format: format})
		if err != nil {
			_ = err.Error()
			return
		}
		for id, p := range file.ByID {
			if p.InstanceID != id || eval.ValidateInstanceID(id) != nil || p.Model != file.Model || eval.ValidateModelName(p.Model) != nil {
				t.Fatalf("%q: %+v", id, p)
			}
		}
		if len(file.ByID)+len(file.Malformed) > file.Records {
			t.Fatalf("%d records became %d predictions and %d malformed ones", file.Records, len(file.ByID), len(file.Malformed))
		}
	})
}
