package datasets_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"harness/datasets"
	"harness/eval"
)

var (
	baseSHA  = strings.Repeat("0a", 20)
	testDiff = "diff --git a/t/test_a.py b/t/test_a.py\n--- a/t/test_a.py\n+++ b/t/test_a.py\n@@ -1 +1 @@\n-a\n+b\n"
)

// familyRow is a made-up row of a family, with some of its fields changed (nil
// removes one).
func familyRow(name string, changes map[string]any) map[string]any {
	states := func(passed, failed []string) map[string]any {
		return map[string]any{"passed_count": len(passed), "failed_count": len(failed), "skipped_count": 0,
			"passed_tests": passed, "failed_tests": failed, "skipped_tests": []string{}}
	}
	change := func(run, test, fix string) map[string]string {
		return map[string]string{"run": run, "test": test, "fix": fix}
	}
	common := map[string]any{
		"instance_id": "octo__calc-7", "repo": "octo/calc", "base_commit": baseSHA, "patch": "p\n", "test_patch": testDiff,
		"problem_statement": "it burns", "FAIL_TO_PASS": []string{"a"}, "PASS_TO_PASS": []string{"b"}, "created_at": "2024-01-02T03:04:05Z",
	}
	rows := map[string]map[string]any{
		"multi": {
			"org": "Octo", "repo": "Calc", "number": 7, "state": "closed", "title": "Fix it", "body": "by doing that",
			"base":            map[string]any{"label": "octo:main", "ref": "main", "sha": baseSHA},
			"resolved_issues": []any{map[string]any{"number": 6, "title": "It burns", "body": "Look."}, map[string]any{"number": 5, "title": "It smokes", "body": ""}},
			"fix_patch":       "p\n", "test_patch": testDiff, "instance_id": "octo__calc-7", "hints": "try",
			"fixed_tests": map[string]any{"f": change("FAIL", "FAIL", "PASS")},
			"p2p_tests":   map[string]any{"p": change("PASS", "PASS", "PASS")}, "f2p_tests": map[string]any{"z": change("PASS", "FAIL", "PASS")},
			"s2p_tests": map[string]any{"s": change("SKIP", "SKIP", "PASS")}, "n2p_tests": map[string]any{"n": change("NONE", "NONE", "PASS")},
			"run_result": states([]string{"p", "z"}, []string{}), "test_patch_result": states([]string{"p"}, []string{"z"}), "fix_patch_result": states([]string{"p", "z", "s", "n"}, []string{}),
		},
		"live":      {"test_cmds": []string{"pytest -rA", " "}, "log_parser": "pytest", "pull_number": "7", "difficulty": map[string]any{"files": 1, "lines": 2}},
		"multilang": {"rebuild_cmds": []string{"make"}, "test_cmds": []string{"make test > out"}, "print_cmds": []string{"cat out"}, "log_parser": "def parser(log):\n    return {}\n", "docker_image": "starryzhang/sweb.eval.x86_64.x"},
		"rebench": {"version": "1.2", "environment_setup_commit": baseSHA, "docker_image": "swerebench/sweb.eval.x86_64.octo_1776_calc-7",
			"install_config": map[string]any{"python": "3.9", "install": "pip install -e .", "test_cmd": "pytest -rA", "log_parser": "parse_log_pytest", "pre_install": nil, "packages": "requirements.txt"}},
		"rebench2": {"language": "c", "interface": "none", "image_name": "docker.io/swerebenchv2/octo-calc:7-0a0a0a0", "created_at": 1609298073000,
			"install_config": map[string]any{"install": []string{"./configure"}, "test_cmd": []string{"make check"}, "log_parser": "parse_log_jq", "docker_specs": nil}},
		"pro": {
			"instance_id": "instance_octo__calc-" + baseSHA + "-vnan", "FAIL_TO_PASS": nil, "PASS_TO_PASS": nil, "created_at": nil,
			"fail_to_pass": `['t | it\'s "odd"', "it's"]`, "pass_to_pass": `["b"]`, "repo_language": "go", "requirements": "- be quick",
			"interface": "none", "before_repo_set_cmd": "git reset --hard x\ngit checkout y -- t/test_a.py", "selected_test_files_to_run": `["t/a.go", "t/b c.go"]`,
			"run_script": "#!/bin/bash\necho run\n", "parser_script": "import sys\n", "base_dockerfile": "FROM x\nENV A=1\n", "instance_dockerfile": "ENV B='2'\nRUN x\n",
		},
		"proinfo": {"instance_id": "instance_octo__calc-1", "Test Files": []string{"t/a.go"}, "patch": nil, "test_patch": nil, "problem_statement": nil, "created_at": nil},
		"gym":     {"repo": "getmoto/moto", "instance_id": "getmoto__moto-7", "version": "4.1", "created_at": "2023-01-24 23:37:57"},
		"gymscripts": {"repo": "pandas-dev/pandas", "instance_id": "pandas-dev__pandas-7", "version": "1",
			"setup_script": "#!/bin/bash\ngit checkout x\n", "test_script": "#!/bin/bash\npytest -rA t\n"},
	}
	row := make(map[string]any)
	if name != "multi" {
		maps.Copy(row, common)
	}
	maps.Copy(row, rows[name])
	maps.Copy(row, changes)
	maps.DeleteFunc(row, func(_ string, v any) bool { return v == nil })
	return row
}

func loadRow(t *testing.T, row map[string]any) eval.Task {
	t.Helper()
	ds, err := datasets.Load(t.Context(), write(t, "rows.jsonl", jsonl(t, row)), datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return ds.Tasks[0]
}

func TestFamilies(t *testing.T) {
	tests := []struct {
		row      string
		want     eval.Task // what is to be seen of it
		script   string    // part of the eval script
		runnable bool
	}{
		{"multi", eval.Task{
			Family: eval.FamilyMultiSWEBench, InstanceID: "octo__calc-7", Repo: "Octo/Calc", HintsText: "try", ProblemStatement: "It burns\nLook.\n\nIt smokes",
			FailToPass: []string{"z", "s", "n"}, PassToPass: []string{"p"}, Image: "mswebench/octo_m_calc:pr-7", WorkDir: "/home/Calc", LogParser: "multi/Octo/Calc:pr-7",
		}, "run=/home/fix-run.sh", true},
		{"live", eval.Task{
			Family: eval.FamilyLive, Image: "starryzhang/sweb.eval.x86_64.octo_1776_calc-7:latest", LogParser: "parse_log_pytest", Language: "python", Difficulty: `{"files":1,"lines":2}`,
		}, "\npytest -rA\n", true},
		{"multilang", eval.Task{Family: eval.FamilyLive, Image: "starryzhang/sweb.eval.x86_64.x"}, "\ncat out\n", false},
		{"rebench", eval.Task{
			Family: eval.FamilyRebench, Version: "1.2", Image: "swerebench/sweb.eval.x86_64.octo_1776_calc-7", LogParser: "parse_log_pytest", Language: "python",
		}, "\npytest -rA t/test_a.py\n", true},
		{"rebench2", eval.Task{
			Family: eval.FamilyRebench2, Image: "docker.io/swerebenchv2/octo-calc:7-0a0a0a0", LogParser: "rebench2/parse_log_jq", Language: "c",
			WorkDir: "/calc", CreatedAt: "2020-12-30T03:14:33Z",
		}, "\nmake check\n", true},
		{"pro", eval.Task{
			Family: eval.FamilyPro, InstanceID: "instance_octo__calc-" + baseSHA + "-vnan", FailToPass: []string{`t | it's "odd"`, "it's"}, Language: "go", WorkDir: "/app",
			Image: "jefzda/sweap-images:octo.calc-octo__calc-" + baseSHA, LogParser: datasets.ProParser,
			ProblemStatement: "it burns\n\nRequirements:\n- be quick\n\nNew interfaces introduced:\nnone",
		}, "export A=1\nexport B='2'\ncd /app\n", true},
		{"proinfo", eval.Task{Family: eval.FamilyPro, InstanceID: "instance_octo__calc-1", Image: "jefzda/sweap-images:octo.calc-octo__calc-1", WorkDir: "/app"}, "", false},
		{"gym", eval.Task{
			Family: eval.FamilyGym, InstanceID: "getmoto__moto-7", Repo: "getmoto/moto", Version: "4.1", CreatedAt: "2023-01-24 23:37:57",
			Image: "xingyaoww/sweb.eval.x86_64.getmoto_s_moto-7:latest", LogParser: "parse_log_pytest", Language: "python",
		}, "", false},
		{"gymscripts", eval.Task{
			Family: eval.FamilyGym, InstanceID: "pandas-dev__pandas-7", Repo: "pandas-dev/pandas", Version: "1",
			Image: "xingyaoww/sweb.eval.x86_64.pandas-dev_s_pandas-7:latest", LogParser: "parse_log_pytest", Language: "python",
		}, "\npytest -rA t\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.row, func(t *testing.T) {
			got := loadRow(t, familyRow(tt.row, nil))
			if err := datasets.Runnable(&got); (err == nil) != tt.runnable {
				t.Errorf("runnable: %v", err)
			}
			if !strings.Contains(got.EvalScript, tt.script) || (got.EvalScript == "") != (tt.script == "") {
				t.Errorf("eval script %s\nwant %q", got.EvalScript, tt.script)
			}
			seen, want := reflect.ValueOf(got), reflect.ValueOf(tt.want)
			for i := range want.NumField() {
				if f := want.Field(i); !f.IsZero() && !reflect.DeepEqual(seen.Field(i).Interface(), f.Interface()) {
					t.Errorf("%s is %q, want %q", want.Type().Field(i).Name, seen.Field(i).Interface(), f.Interface())
				}
			}
			if got.BaseCommit != baseSHA || tt.row != "proinfo" && (got.Patch != "p\n" || got.TestPatch != testDiff) {
				t.Errorf("commit and patches: %+v", got)
			}
		})
	}
}

func TestMultiSWEBenchBaseline(t *testing.T) {
	got := loadRow(t, familyRow("multi", nil)).Baseline
	none := []string{}
	want := &eval.Baseline{
		Run:        &eval.TestStates{Passed: []string{"p", "z"}, Failed: none, Skipped: none},
		Test:       &eval.TestStates{Passed: []string{"p"}, Failed: []string{"z"}, Skipped: none},
		Gold:       &eval.TestStates{Passed: []string{"p", "z", "s", "n"}, Failed: none, Skipped: none},
		SkipToPass: []string{"s"}, NoneToPass: []string{"n"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("baseline %+v", got)
	}
}

func TestProFiles(t *testing.T) {
	got := loadRow(t, familyRow("pro", nil)).Files
	want := []eval.TaskFile{
		{Path: "/workspace/run_script.sh", Mode: 0o755, Data: []byte("#!/bin/bash\necho run\n")},
		{Path: "/workspace/parser.py", Mode: 0o644, Data: []byte("import sys\n")},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("files %+v", got)
	}
}

// A row's own image, script and parser are never replaced.
func TestRowsOwnFieldsCount(t *testing.T) {
	for _, name := range []string{"multi", "live", "rebench", "rebench2", "pro", "gymscripts"} {
		got := loadRow(t, familyRow(name, map[string]any{"image": "own:1", "eval_script": "own", "log_parser": "own", "workdir": "/own"}))
		if got.Image != "own:1" || got.EvalScript != "own" || got.LogParser != "own" || got.WorkDir != "/own" {
			t.Errorf("%s: image %q, script %q, parser %q, folder %q", name, got.Image, got.EvalScript, got.LogParser, got.WorkDir)
		}
	}
}

func TestFamilyProblems(t *testing.T) {
	tests := []struct {
		row     string
		changes map[string]any
		field   string
		text    string
	}{
		{"multi", map[string]any{"number": nil}, "number", "missing"},
		{"multi", map[string]any{"number": "seven"}, "number", "not a whole number"},
		{"multi", map[string]any{"number": -7}, "number", "not a whole number"},
		{"multi", map[string]any{"number": []int{7}}, "number", "a list, a number is expected"},
		{"multi", map[string]any{"repo": nil}, "repo", "missing"},
		{"multi", map[string]any{"repo": "../x"}, "repo", "not owner/name"},
		{"multi", map[string]any{"org": 1}, "org", "a number, a string is expected"},
		{"multi", map[string]any{"fix_patch": raw("null")}, "fix_patch", "null"},
		{"multi", map[string]any{"test_patch": 5}, "test_patch", "a number, a string is expected"},
		{"multi", map[string]any{"base": nil}, "base", "missing"},
		{"multi", map[string]any{"base": "main"}, "base", "does not hold an object as JSON"},
		{"multi", map[string]any{"base": map[string]any{"ref": "main"}}, "base", "no sha"},
		{"multi", map[string]any{"base": map[string]any{"sha": "--x"}}, "base", "can't name a commit"},
		{"multi", map[string]any{"f2p_tests": nil}, "f2p_tests", "missing"},
		{"multi", map[string]any{"p2p_tests": []string{"p"}}, "p2p_tests", "a list, an object is expected"},
		{"multi", map[string]any{"n2p_tests": map[string]string{"n": "PASS"}}, "n2p_tests", `test "n" is a string`},
		{"multi", map[string]any{"run_result": nil}, "run_result", "missing"},
		{"multi", map[string]any{"run_result": map[string]any{"passed_tests": []string{}}}, "run_result", "no failed_tests"},
		{"multi", map[string]any{"run_result": map[string]any{"passed_tests": "p"}}, "run_result", "passed_tests is a string"},
		{"multi", map[string]any{"fix_patch_result": map[string]any{"passed_count": 2, "passed_tests": []string{"p", "p"}, "failed_tests": []string{}, "skipped_tests": []string{}}}, "fix_patch_result", `passed_tests has 1 different tests, its count is "2"`},
		{"multi", map[string]any{"fix_patch_result": map[string]any{"passed_tests": []string{"p"}, "failed_tests": []string{"p"}, "skipped_tests": []string{}}}, "fix_patch_result", `test "p" is in passed_tests and in failed_tests`},
		{"multi", map[string]any{"resolved_issues": "x"}, "resolved_issues", "does not hold a list as JSON"},
		{"multi", map[string]any{"resolved_issues": []int{1}}, "resolved_issues", "element 1 is a number"},
		{"live", map[string]any{"test_cmds": []string{}}, "test_cmds", "empty"},
		{"live", map[string]any{"test_cmds": []int{1}}, "test_cmds", "element 1 is a number"},
		{"live", map[string]any{"test_cmds": 1}, "test_cmds", "a number, a list is expected"},
		{"live", map[string]any{"FAIL_TO_PASS": nil}, "FAIL_TO_PASS", "missing"},
		{"live", map[string]any{"docker_image": "a b"}, "docker_image", "not an image reference"},
		{"live", map[string]any{"log_parser": "~x"}, "log_parser", "not the name of a parser"},
		{"multilang", map[string]any{"print_cmds": "cat out"}, "print_cmds", "does not hold a list as JSON"},
		{"rebench", map[string]any{"install_config": raw("null")}, "install_config", "null"},
		{"rebench", map[string]any{"install_config": []string{}}, "install_config", "a list, an object is expected"},
		{"rebench", map[string]any{"install_config": map[string]any{"log_parser": "x"}}, "install_config", "no test_cmd"},
		{"rebench", map[string]any{"install_config": map[string]any{"test_cmd": 5}}, "install_config", "test_cmd: it is a number"},
		{"rebench", map[string]any{"install_config": map[string]any{"test_cmd": "x", "log_parser": 5}}, "install_config", "log_parser is a number"},
		{"rebench", map[string]any{"install_config": map[string]any{"test_cmd": "x", "log_parser": "a b"}}, "install_config", "not the name of a parser"},
		{"rebench", map[string]any{"docker_image": 7}, "docker_image", "a number, a string is expected"},
		{"rebench2", map[string]any{"image_name": "a b"}, "image_name", "not an image reference"},
		{"rebench2", map[string]any{"created_at": []int{1}}, "created_at", "a list, a string is expected"},
		{"rebench2", map[string]any{"repo": "calc"}, "repo", "not owner/name"},
		{"pro", map[string]any{"fail_to_pass": "['a'"}, "fail_to_pass", "neither as JSON nor as Python writes it"},
		{"pro", map[string]any{"fail_to_pass": "__import__('os')"}, "fail_to_pass", "neither as JSON"},
		{"pro", map[string]any{"pass_to_pass": raw("null")}, "pass_to_pass", "null"},
		{"pro", map[string]any{"pass_to_pass": 1}, "pass_to_pass", "a number, a list of strings"},
		{"pro", map[string]any{"patch": nil}, "patch", "missing"},
		{"pro", map[string]any{"repo_language": "a b"}, "repo_language", "not one word"},
		{"pro", map[string]any{"before_repo_set_cmd": nil}, "before_repo_set_cmd", "missing"},
		{"pro", map[string]any{"selected_test_files_to_run": nil}, "selected_test_files_to_run", "missing"},
		{"pro", map[string]any{"dockerhub_tag": "a b"}, "dockerhub_tag", "not an image reference"},
		{"proinfo", map[string]any{"Test Files": 3}, "Test Files", "a number, a list of strings"},
		{"proinfo", map[string]any{"FAIL_TO_PASS": nil}, "FAIL_TO_PASS", "missing"},
		{"gymscripts", map[string]any{"setup_script": 3}, "setup_script", "a number, a string"},
		{"gymscripts", map[string]any{"patch": nil, "golden_patch": 4}, "golden_patch", "a number, a string"},
	}
	for _, tt := range tests {
		t.Run(tt.row+" "+tt.field+" "+tt.text, func(t *testing.T) {
			path := write(t, "rows.jsonl", jsonl(t, familyRow(tt.row, map[string]any{"instance_id": "a-1"}), familyRow(tt.row, tt.changes)))
			ds, problems, err := datasets.Validate(t.Context(), path, datasets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) != 1 || problems[0].Field != tt.field || !strings.Contains(problems[0].Reason, tt.text) || problems[0].Line != 2 || problems[0].Fix == "" {
				t.Errorf("problems %v; want one on field %s with %q", problems, tt.field, tt.text)
			}
			if len(ds.Tasks) != 1 {
				t.Errorf("%d tasks", len(ds.Tasks))
			}
		})
	}
}

func TestFamilyWarnings(t *testing.T) {
	tests := []struct {
		row     string
		changes map[string]any
		field   string
	}{
		{"multi", map[string]any{"instance_id": "octo__calc-8"}, "instance_id"},
		{"multilang", nil, "log_parser"},
		{"live", map[string]any{"docker_image": "starryzhang/sweb.eval.win.x"}, "docker_image"},
		{"live", map[string]any{"test_patch": "diff --git a/../x b/../x\n"}, "test_patch"},
		{"rebench2", map[string]any{"test_patch": "\x00"}, "test_patch"},
	}
	for _, tt := range tests {
		ds, err := datasets.Load(t.Context(), write(t, "rows.jsonl", jsonl(t, familyRow(tt.row, tt.changes))), datasets.Options{})
		if err != nil || len(ds.Warnings) != 1 || ds.Warnings[0].Field != tt.field {
			t.Errorf("%s %s: %v, %v", tt.row, tt.field, ds, err)
		}
	}
}

// A task of a family is written in our own schema and read again as it was, from
// whatever format its row came in.
func TestFamiliesRoundTripAndFormats(t *testing.T) {
	for _, name := range []string{"multi", "live", "multilang", "rebench", "rebench2", "pro", "proinfo", "gym", "gymscripts"} {
		t.Run(name, func(t *testing.T) {
			row := familyRow(name, nil)
			want := loadRow(t, row)
			for file, data := range map[string][]byte{"rows.parquet": asParquet(t, row), "rows.csv": asCSV(t, row)} {
				ds, err := datasets.Load(t.Context(), write(t, file, data), datasets.Options{})
				if err != nil {
					t.Errorf("%s: %v", file, err)
				} else if !reflect.DeepEqual(ds.Tasks[0], want) {
					t.Errorf("%s gives\n%+v\nwant\n%+v", file, ds.Tasks[0], want)
				}
			}
			for _, file := range []string{"t.jsonl", "t.parquet"} {
				path := filepath.Join(t.TempDir(), file)
				if err := datasets.WriteFile(t.Context(), path, &datasets.Dataset{Tasks: []eval.Task{want}}); err != nil {
					t.Fatal(err)
				}
				back, err := datasets.Load(t.Context(), path, datasets.Options{})
				if err != nil || !reflect.DeepEqual(back.Tasks[0], want) {
					t.Errorf("%s: %v, %+v", file, err, back)
				}
			}
			canonical, err := datasets.CanonicalJSON(&want)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := datasets.ParseTask(canonical); err != nil || !reflect.DeepEqual(back, want) {
				t.Errorf("parse of canonical form: %v", err)
			}
		})
	}
}

func TestMixedFamilies(t *testing.T) {
	path := write(t, "rows.jsonl", jsonl(t, familyRow("live", nil), familyRow("rebench", map[string]any{"instance_id": "a-1"}), familyRow("multi", map[string]any{"org": nil, "instance_id": "a-2"}), rowWith(map[string]any{"instance_id": "a-3"})))
	ds, problems, err := datasets.Validate(t.Context(), path, datasets.Options{})
	if err != nil || len(ds.Tasks) != 1 {
		t.Fatalf("%v, %v", ds, err)
	}
	if p := problems[0]; p.Line != 2 || p.InstanceID != "a-1" || p.Reason != "the row is of family swe-rebench, the one on line 1 of swe-bench-live: a dataset is of one family" {
		t.Errorf("problem %v", p)
	}
	if p := problems[len(problems)-1]; p.Line != 4 || !strings.Contains(p.Reason, "of family swe-bench,") {
		t.Errorf("problem %v", p)
	}
}

// Shards are one dataset: the message says in which one the first row is.
func TestMixedShards(t *testing.T) {
	dir := t.TempDir()
	for name, row := range map[string]map[string]any{
		"test-00000-of-00002.jsonl": familyRow("live", nil), "test-00001-of-00002.jsonl": familyRow("rebench", map[string]any{"instance_id": "a-1"}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), jsonl(t, row), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := datasets.Load(t.Context(), dir, datasets.Options{})
	if err == nil || !strings.Contains(err.Error(), "the one on line 1 of "+filepath.Join(dir, "test-00000-of-00002.jsonl")+" of swe-bench-live") {
		t.Errorf("%v", err)
	}
}

func TestNamedFamily(t *testing.T) {
	load := func(family string, row map[string]any) (*datasets.Dataset, error) {
		return datasets.Load(t.Context(), write(t, "rows.jsonl", jsonl(t, row)), datasets.Options{Family: family})
	}
	// A set of another owner with SWE-Gym's form.
	ds, err := load(eval.FamilyGym, familyRow("gym", map[string]any{"repo": "octo/calc", "instance_id": "octo__calc-7"}))
	if err != nil || ds.Tasks[0].Image != "xingyaoww/sweb.eval.x86_64.octo_s_calc-7:latest" {
		t.Errorf("%+v, %v", ds, err)
	}
	// And rows that are not SWE-Gym's, though they look like it.
	ds, err = load("swe-bench", familyRow("gym", nil))
	if err != nil || ds.Tasks[0].Family != "" || ds.Tasks[0].Image != "" {
		t.Errorf("%+v, %v", ds, err)
	} else {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		if err := datasets.WriteFile(t.Context(), path, ds); err != nil {
			t.Errorf("what was written is read as another family: %v", err)
		}
	}
	if ds, err := load(eval.FamilyPro, familyRow("proinfo", nil)); err != nil || ds.Tasks[0].Family != eval.FamilyPro {
		t.Errorf("the form with another sign: %v", err)
	}
	if _, err := load("swebench", rowWith(nil)); err == nil || !strings.Contains(err.Error(), `dataset family "swebench" is unknown; use one of swe-bench, multi-swe-bench, `) {
		t.Errorf("unknown name: %v", err)
	}
	if _, err := load(eval.FamilyLive, rowWith(nil)); err == nil || !strings.Contains(err.Error(), "field test_cmds: the field is missing") {
		t.Errorf("the wrong family: %v", err)
	}
	if _, err := load(eval.FamilyLive, rowWith(map[string]any{"family": eval.FamilyGym})); err != nil {
		t.Errorf("a row that names its family: %v", err)
	}
	if !slices.Contains(datasets.FamilyNames(), "swe-rebench-v2") {
		t.Error(datasets.FamilyNames())
	}
}

func TestNotRunnableSaysWhereToLook(t *testing.T) {
	for name, text := range map[string]string{
		"multi": "has no log_parser; rows of Multi-SWE-bench with a number_interval", "proinfo": "run_scripts", "gym": "add setup_script",
		"multilang": "has no log_parser; a row of SWE-bench-Live whose log_parser is program text",
	} {
		task := loadRow(t, familyRow(name, map[string]any{"number_interval": "1_to_9"}))
		err := datasets.Runnable(&task)
		if !errors.As(err, new(*datasets.NotRunnableError)) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPythonLists(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{`[]`, []string{}}, {` [ 'a' , "b" , ] `, []string{"a", "b"}}, {`['\x41\u00e9\U0001F600\t\\\'"', "it's"]`, []string{"Aé😀\t\\'\"", "it's"}},
		{`['\d']`, []string{`\d`}}, {`['ü', 'a\'b']`, []string{"ü", "a'b"}},
		{"", nil}, {"'a'", nil}, {"['a' 'b']", nil}, {"['a'", nil}, {"['a", nil}, {`['\`, nil}, {`['\x4`, nil}, {`['\N{DASH}']`, nil}, {`['\ud800']`, nil},
		{"['a'] + ['b']", nil}, {"[['a']]", nil}, {"[1]", nil}, {"['a\nb']", nil}, {"[f'x']", nil}, {`[,]`, nil},
	}
	for _, tt := range tests {
		row := familyRow("pro", map[string]any{"fail_to_pass": tt.text})
		ds, err := datasets.Load(t.Context(), write(t, "rows.jsonl", jsonl(t, row)), datasets.Options{})
		switch {
		case tt.want == nil && err == nil:
			t.Errorf("%s was read as %q", tt.text, ds.Tasks[0].FailToPass)
		case tt.want != nil && (err != nil || !slices.Equal(ds.Tasks[0].FailToPass, tt.want)):
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// The names of published images of SWE-bench Pro, as its own code makes them.
func TestProImages(t *testing.T) {
	sha, version := strings.Repeat("c", 40), strings.Repeat("d", 40)
	tests := []struct{ id, repo, want string }{
		{"instance_NodeBB__NodeBB-" + sha + "-vnan", "NodeBB/NodeBB", "nodebb.nodebb-NodeBB__NodeBB-" + sha},
		{"instance_NodeBB__NodeBB-" + sha + "-v" + version, "NodeBB/NodeBB", "nodebb.nodebb-NodeBB__NodeBB-" + sha + "-v" + version},
		{"instance_element-hq__element-web-" + sha + "-vnan", "element-hq/element-web", "element-hq.element-element-hq__element-web-" + sha},
		{"instance_element-hq__element-web-ec0f940ef0e8e3b61078f145f34dc40d1938e6c5-vnan", "element-hq/element-web", "element-hq.element-web-element-hq__element-web-ec0f940ef0e8e3b61078f145f34dc40d1938e6c5-vnan"},
		{"instance_qutebrowser__qutebrowser-" + sha + "-v" + version, "qutebrowser/qutebrowser", ("qutebrowser.qutebrowser-qutebrowser__qutebrowser-" + sha + "-v" + version)[:128]},
	}
	for _, tt := range tests {
		got := loadRow(t, familyRow("pro", map[string]any{"instance_id": tt.id, "repo": tt.repo})).Image
		if got != "jefzda/sweap-images:"+tt.want {
			t.Errorf("%s: %s, want %s", tt.id, got, tt.want)
		}
	}
}

func asCSV(t *testing.T, row map[string]any) []byte {
	t.Helper()
	var head, body []string
	for _, name := range slices.Sorted(maps.Keys(row)) {
		text, ok := row[name].(string)
		if !ok {
			b, err := json.Marshal(row[name])
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		head = append(head, name)
		body = append(body, `"`+strings.ReplaceAll(text, `"`, `""`)+`"`)
	}
	return []byte(strings.Join(head, ",") + "\n" + strings.Join(body, ",") + "\n")
}
