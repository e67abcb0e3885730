package datasets_test

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	"harness/datasets"
	"harness/eval"
)

type object = map[string]any

func taskFile(path string, more object) object {
	f := object{"path": path, "mode": 0o755, "data": base64.StdEncoding.EncodeToString([]byte("x\x00"))}
	for k, v := range more {
		f[k] = v
	}
	return f
}

func TestObjectsOfATask(t *testing.T) {
	none := []string{}
	assets := &eval.ImageAssets{
		ProblemStatement: []eval.Asset{{URL: "https://x/a.png"}},
		TestPatch:        []eval.Asset{{URL: "https://x/b.png", Path: "t/b.png"}},
	}
	files := []eval.TaskFile{{Path: "/tests/run.sh", Mode: 0o755, Data: []byte("x\x00")}, {Path: "/tests/empty", Data: []byte{}}}
	fileList := []any{taskFile("/tests/run.sh", nil), object{"path": "/tests/empty", "mode": 0, "data": ""}}
	tests := []struct {
		name  string
		field string
		value any
		want  any // of the task's field; nil when the value is none
	}{
		{"assets of the hub", "image_assets", `{"problem_statement": ["https://x/a.png"], "patch": [], "test_patch": [{"path": "t/b.png", "url": "https://x/b.png"}]}`, assets},
		{"assets of a task repository", "image_assets", object{"problem_statement": []string{"https://x/a.png"}, "patch": nil, "test_patch": []any{object{"path": "t/b.png", "url": "https://x/b.png"}}}, assets},
		{"no assets as text", "image_assets", "", (*eval.ImageAssets)(nil)},
		{"no assets as JSON", "image_assets", "{}", (*eval.ImageAssets)(nil)},
		{"no assets as an object", "image_assets", object{"patch": []string{}}, (*eval.ImageAssets)(nil)},
		{"files", "files", fileList, files},
		{"no files", "files", []any{}, []eval.TaskFile(nil)},
		{"solution", "solution", object{"script": "#!/bin/bash\n", "files": fileList, "timeout_seconds": 60}, &eval.Solution{Script: "#!/bin/bash\n", Files: files, TimeoutSeconds: 60}},
		{"baseline", "baseline", object{"gold": object{"passed": []string{"a"}}, "s2p": []string{"b"}, "n2p": []string{}}, &eval.Baseline{Gold: &eval.TestStates{Passed: []string{"a"}, Failed: none, Skipped: none}, SkipToPass: []string{"b"}}},
		{"empty baseline", "baseline", object{}, (*eval.Baseline)(nil)},
		{"family", "family", eval.FamilyHarbor, eval.FamilyHarbor},
	}
	fieldOf := map[string]func(*eval.Task) any{
		"image_assets": func(t *eval.Task) any { return t.ImageAssets }, "files": func(t *eval.Task) any { return t.Files },
		"solution": func(t *eval.Task) any { return t.Solution }, "baseline": func(t *eval.Task) any { return t.Baseline },
		"family": func(t *eval.Task) any { return t.Family },
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task := loadRow(t, rowWith(object{tt.field: tt.value}))
			if got := fieldOf[tt.field](&task); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			canonical, err := datasets.CanonicalJSON(&task)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := datasets.ParseTask(canonical); err != nil || !reflect.DeepEqual(back, task) {
				t.Errorf("canonical form %s reads as %+v, %v", canonical, back, err)
			}
		})
	}
}

// Tasks without the newer fields have the canonical form that they had before.
func TestCanonicalFormOfPlainTasksStays(t *testing.T) {
	task := loadRow(t, rowWith(nil))
	canonical, err := datasets.CanonicalJSON(&task)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"family", "image_assets", "files", "solution", "baseline"} {
		if strings.Contains(string(canonical), `"`+field+`"`) {
			t.Errorf("%s has %s", canonical, field)
		}
	}
	digest, err := datasets.Digest([]eval.Task{task})
	if want := "920138fee92f"; err != nil || !strings.HasPrefix(digest, want) {
		t.Errorf("digest %s, want %s...; %v", digest, want, err)
	}
}

func TestObjectProblems(t *testing.T) {
	long := strings.Repeat("x", 9000)
	tests := []struct {
		field string
		value any
		text  string
	}{
		{"image_assets", []string{"https://x"}, "a list, an object is expected"},
		{"image_assets", "nonsense", "not valid JSON"},
		{"image_assets", object{"gold": []string{}}, `key "gold" is unknown`},
		{"image_assets", raw(`{"patch":[],"patch":[]}`), `key "patch" is unknown or given twice`},
		{"image_assets", object{"patch": "https://x"}, "patch is a string, a list is expected"},
		{"image_assets", object{"patch": []int{1}}, "patch: element 1: it is a number"},
		{"image_assets", object{"patch": []any{object{"href": "x"}}}, "unknown field"},
		{"image_assets", object{"patch": []any{object{}}}, "neither url nor path"},
		{"image_assets", object{"patch": []string{"https://x/\n"}}, "is not an address"},
		{"image_assets", object{"patch": []string{long}}, "is not an address"},
		{"image_assets", object{"test_patch": []any{object{"path": "../../etc/passwd"}}}, "not a clean path inside the repository"},
		{"image_assets", object{"test_patch": []any{object{"path": "/etc/passwd"}}}, "not a clean path inside the repository"},
		{"image_assets", object{"patch": []any{object{"path": "a/b__c"}}, "test_patch": []any{object{"path": "a__b/c"}}}, `"a__b/c" and "a/b__c" wait in the same file`},
		{"image_assets", object{"patch": make([]string, 1001)}, "neither url nor path"},
		{"image_assets", raw(`{"patch":["\ud800"]}`), "lone surrogate"},
		{"files", object{}, "an object, a list is expected"},
		{"files", []any{taskFile("tests/run.sh", nil)}, "not a clean absolute path"},
		{"files", []any{taskFile("/tests/../etc/x", nil)}, "not a clean absolute path"},
		{"files", []any{taskFile("/", nil)}, "not a clean absolute path"},
		{"files", []any{taskFile("/a\x00", nil)}, "control characters"},
		{"files", []any{taskFile("/"+long, nil)}, "too long"},
		{"files", []any{taskFile("/proc/1/mem", nil)}, "belongs to the kernel"},
		{"files", []any{taskFile("/tmp/patch.diff", nil)}, "where the candidate's patch goes"},
		{"files", []any{taskFile("/a", nil), taskFile("/a", nil)}, "given twice"},
		{"files", []any{taskFile("/a", object{"mode": 0o4755})}, "more than permission bits"},
		{"files", []any{taskFile("/a", object{"mode": -1})}, "mode"},
		{"files", []any{taskFile("/a", object{"data": "?"})}, "base64"},
		{"files", []any{taskFile("/a", object{"owner": "root"})}, "unknown field"},
		{"files", []any{taskFile("/a", object{"data": strings.Repeat("AAAA", 6<<20)})}, "too large"},
		{"solution", object{"script": 5}, "script"},
		{"solution", object{"script": "x", "files": []any{taskFile("a", nil)}}, "not a clean absolute path"},
		{"solution", object{"script": "x", "timeout_seconds": -1}, "negative"},
		{"baseline", object{"gold": []string{}}, "gold"},
		{"baseline", object{"before": object{}}, "unknown field"},
		{"family", "swebench", "is unknown"},
		{"log_parser", "def parser(log):\n", "not the name of a parser"},
	}
	for _, tt := range tests {
		t.Run(tt.field+" "+tt.text, func(t *testing.T) {
			_, problems, err := datasets.Validate(t.Context(), write(t, "rows.jsonl", jsonl(t, rowWith(object{tt.field: tt.value}))), datasets.Options{})
			if err != nil || len(problems) != 1 || problems[0].Field != tt.field || !strings.Contains(problems[0].Reason, tt.text) || problems[0].Fix == "" {
				t.Errorf("%v, %v; want %q", problems, err, tt.text)
			}
		})
	}
}

func TestObjectsThatAreNotUTF8(t *testing.T) {
	bad := []string{"\xff"}
	for field, task := range map[string]eval.Task{
		"image_assets": {ImageAssets: &eval.ImageAssets{Patch: []eval.Asset{{URL: "\xff"}}}},
		"files":        {Files: []eval.TaskFile{{Path: "/\xff"}}},
		"solution":     {Solution: &eval.Solution{Script: "\xff"}},
		"baseline":     {Baseline: &eval.Baseline{Gold: &eval.TestStates{Skipped: bad}}},
		"frozen":       {Frozen: &eval.Frozen{Missing: bad}},
	} {
		if _, err := datasets.CanonicalJSON(&task); err == nil || !strings.Contains(err.Error(), "field "+field+" is not valid UTF-8") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
