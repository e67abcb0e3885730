package tasktree_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.yaml.in/yaml/v3"

	"harness/datasets/internal/tree"
	"harness/datasets/tasktree"
	"harness/eval"
	"harness/internal/checkout"
)

// files are those of a small good task, by their place in its folder.
func files(id string) map[string]string {
	return map[string]string{
		"task.yaml": "instance_id: " + id + "\nrepo: o/r\nbase_commit: " + strings.Repeat("a", 40) + "\nversion: 3.10\ncreated_at: 2018-01-10T18:38:13Z\n" +
			"split: test\ndatasets: [O/Set]\nimage: o/r:1\nlog_parser: parse_log_pytest\neval_type: pass_and_fail\nimage_assets: {}\nmore: 1\n",
		"tests.json":           `{"FAIL_TO_PASS": ["t::a[\u00e9]", "no"], "PASS_TO_PASS": []}`,
		"problem_statement.md": "Please\r\nfix\n",
		"gold.patch":           "diff --git a/x b/x\r\n+y\r\n",
		"test.patch":           "diff --git a/t b/t\n",
		"eval.sh":              "#!/bin/bash\n: '>>>>> Start Test Output'\n",
		"Dockerfile":           "FROM scratch\n",
	}
}

// write makes a repository of task folders; change may alter the first one's files.
func write(t *testing.T, config string, ids []string, change func(files map[string]string)) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if config != "" {
		put("sweb.yaml", config)
	}
	for i, id := range ids {
		all := files(id)
		if i == 0 && change != nil {
			change(all)
		}
		for name, text := range all {
			put(filepath.Join("tasks", id, name), text)
		}
	}
	return dir
}

func load(t *testing.T, dir, split string) ([]tree.Loaded, error) {
	t.Helper()
	var out []tree.Loaded
	err := tasktree.Load(t.Context(), dir, tree.Options{Split: split}, func(l tree.Loaded) error {
		out = append(out, l)
		return nil
	})
	return out, err
}

func one(t *testing.T, dir string) tree.Loaded {
	t.Helper()
	all, err := load(t, dir, "")
	if err != nil || len(all) != 1 {
		t.Fatalf("%d tasks, %v", len(all), err)
	}
	return all[0]
}

func TestLoad(t *testing.T) {
	dir := write(t, "datasets: [O/Set]\nsplits: [test]\n", []string{"o__r-1"}, func(f map[string]string) {
		f["hints.md"] = "hint"
		f["task.yaml"] = strings.Replace(f["task.yaml"], "image_assets: {}", "image_assets:\n  problem_statement: ['https://x/a.png']\n  patch: []\n"+
			"  test_patch:\n  - {path: test/a b.png, url: 'https://x/b.png'}\n  - {path: test/gone.png, url: 'https://x/c.png'}", 1)
		f["test_assets/test/a b.png"] = "\x89PNG\r\n\x00"
		f["test_assets/other.png"] = "not asked for"
	})
	if !tasktree.Is(dir) {
		t.Error("the folder is not recognised")
	}
	l := one(t, dir)
	want := eval.Task{
		InstanceID: "o__r-1", Repo: "o/r", BaseCommit: strings.Repeat("a", 40), Version: "3.10", CreatedAt: "2018-01-10T18:38:13Z",
		ProblemStatement: "Please\r\nfix\n", HintsText: "hint", Patch: "diff --git a/x b/x\r\n+y\r\n", TestPatch: "diff --git a/t b/t\n",
		FailToPass: []string{"t::a[é]", "no"}, PassToPass: []string{}, Image: "o/r:1", EvalScript: "#!/bin/bash\n: '>>>>> Start Test Output'\n",
		LogParser: "parse_log_pytest", EvalType: "pass_and_fail",
		ImageAssets: &eval.ImageAssets{
			ProblemStatement: []eval.Asset{{URL: "https://x/a.png"}},
			TestPatch:        []eval.Asset{{URL: "https://x/b.png", Path: "test/a b.png"}, {URL: "https://x/c.png", Path: "test/gone.png"}},
		},
		Files: []eval.TaskFile{{Path: "/image_assets/test__a b.png", Mode: 0o644, Data: []byte("\x89PNG\r\n\x00")}},
	}
	if got, want := show(l.Task), show(want); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(l.Problems) != 1 || !l.Problems[0].Warning || !strings.HasSuffix(l.Problems[0].File, "/tasks/o__r-1/test_assets/test/gone.png") {
		t.Errorf("problems: %v", l.Problems)
	}
}

func show(t eval.Task) string {
	b, _ := json.MarshalIndent(t, "", " ")
	return string(b)
}

// What is wrong with a task is told with the file it is in.
func TestProblems(t *testing.T) {
	drop := func(name string) func(map[string]string) {
		return func(f map[string]string) { delete(f, name) }
	}
	set := func(name, text string) func(map[string]string) {
		return func(f map[string]string) { f[name] = text }
	}
	edit := func(old, with string) func(map[string]string) {
		return func(f map[string]string) { f["task.yaml"] = strings.Replace(f["task.yaml"], old, with, 1) }
	}
	for _, tt := range []struct {
		name   string
		change func(map[string]string)
		want   []string
	}{
		{"no task.yaml", drop("task.yaml"), []string{"tasks/x: there is no task.yaml, so it is not a task; add the file or remove the folder"}},
		{"no tests", drop("tests.json"), []string{"tasks/x/tests.json: there is no such file"}},
		{"no patches", func(f map[string]string) { delete(f, "gold.patch"); delete(f, "test.patch") }, []string{"x/gold.patch: there is no such file", "x/test.patch: there is no such file"}},
		{"no script", drop("eval.sh"), []string{"x/eval.sh: there is no such file"}},
		{"no hints", drop("hints.md"), nil},
		{"YAML", set("task.yaml", "instance_id: x\nrepo: [\n"), []string{"x/task.yaml:"}},
		{"type", edit("datasets: [O/Set]", "datasets: {a: b}"), []string{"x/task.yaml:7: it can't be read as YAML: a value of type map is where another one is expected"}},
		{"key", edit("log_parser: parse_log_pytest\n", ""), []string{"x/task.yaml: field log_parser: the key is missing or empty"}},
		{"id", edit("instance_id: x", "instance_id: y"), []string{`x/task.yaml: field instance_id: it is "y", its folder is called "x"`}},
		{"split", edit("split: test", "split: tset"), []string{`field split: "tset" is not among the splits of sweb.yaml`}},
		{"dataset", edit("[O/Set]", "[O/Other]"), []string{`field datasets: "O/Other" is not among the datasets of sweb.yaml`}},
		{"tests syntax", set("tests.json", "{\"FAIL_TO_PASS\": [],\n\"PASS_TO_PASS\": [}"), []string{"x/tests.json:2: not valid JSON"}},
		{"tests type", set("tests.json", `{"FAIL_TO_PASS": "[]", "PASS_TO_PASS": []}`), []string{"x/tests.json: FAIL_TO_PASS is"}},
		{"test type", set("tests.json", `{"FAIL_TO_PASS": ["a", 1], "PASS_TO_PASS": []}`), []string{"x/tests.json: element 2 of FAIL_TO_PASS is"}},
		{"tests twice", set("tests.json", `{"FAIL_TO_PASS": [], "FAIL_TO_PASS": [], "PASS_TO_PASS": []}`), []string{"twice"}},
		{"tests missing", set("tests.json", `{"FAIL_TO_PASS": []}`), []string{"x/tests.json: field PASS_TO_PASS: the list is missing"}},
		{"bytes", set("gold.patch", "a\nb\xff\n"), []string{"x/gold.patch:2: it is not UTF-8: byte 0xff at offset 3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, "datasets: [O/Set]\nsplits: [test]\n", []string{"x"}, tt.change)
			all, err := load(t, dir, "")
			if strings.HasPrefix(tt.name, "split") { // not published, so only asked for by name
				all, err = load(t, dir, "tset")
			}
			if err != nil || len(all) != 1 {
				t.Fatalf("%d tasks, %v", len(all), err)
			}
			var got []string
			for _, p := range all[0].Problems {
				got = append(got, p.Error())
			}
			if len(got) != len(tt.want) {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestSplits(t *testing.T) {
	dir := write(t, "datasets: [O/Set, O/Set_Lite]\nsplits: [dev, test]\n", []string{"a", "b", "c"}, func(f map[string]string) {
		f["task.yaml"] = strings.Replace(f["task.yaml"], "split: test\ndatasets: [O/Set]", "split: dev\ndatasets: [O/Set, O/Set_Lite]", 1)
	})
	gone := filepath.Join(dir, "tasks/c/task.yaml")
	text, err := os.ReadFile(gone)
	if err == nil {
		err = os.WriteFile(gone, []byte(strings.Replace(string(text), "split: test", "split: deprecated", 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for split, want := range map[string]string{
		"": "a b", "dev": "a", "test": "b", "deprecated": "c", "Set": "a b c", "Set_Lite": "a", "Set/test": "b", "Set_Lite/dev": "a",
		"train":         `there is no split "train"; there is Set, Set/deprecated, Set/dev, Set/test, Set_Lite, Set_Lite/dev, deprecated, dev, test`,
		"Set_Lite/test": "there is no split",
	} {
		all, err := load(t, dir, split)
		var got []string
		for _, l := range all {
			got = append(got, l.Task.InstanceID)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if s := strings.Join(got, " "); s != want && (err == nil || !strings.HasPrefix(s, want)) {
			t.Errorf("split %q: %s; want %s", split, s, want)
		}
	}
	if got, err := tasktree.Splits(dir); err != nil || strings.Join(got, " ") != "dev test" {
		t.Errorf("splits %v, %v", got, err)
	}
}

func TestHostile(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		spoil func(task string) error
		want  string
	}{
		"script leads out":  {func(d string) error { return relink(d+"/eval.sh", secret) }, "eval.sh: it is a link that leads out of the folder"},
		"settings lead out": {func(d string) error { return relink(d+"/task.yaml", secret) }, "task.yaml: it is a link that leads out of the folder"},
		"to another task":   {func(d string) error { return relink(d+"/gold.patch", "../y/gold.patch") }, "gold.patch: it is a link that leads out of the folder"},
		"picture leads out": {func(d string) error { return relink(d+"/test_assets/a.png", secret) }, "a.png: it is a link that leads out of the folder"},
		"pipe": {func(d string) error {
			return errors.Join(os.Remove(d+"/hints.md"), syscall.Mkfifo(d+"/hints.md", 0o600))
		}, "hints.md: it is a pipe"},
		"huge":                {func(d string) error { return os.Truncate(d+"/eval.sh", 1<<40) }, "eval.sh: it has more than"},
		"huge settings":       {func(d string) error { return os.Truncate(d+"/task.yaml", 1<<30) }, "task.yaml: it has more than"},
		"a folder for a file": {func(d string) error { return errors.Join(os.Remove(d+"/eval.sh"), os.Mkdir(d+"/eval.sh", 0o700)) }, "eval.sh: it is a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, "", []string{"x", "y"}, func(f map[string]string) {
				f["hints.md"], f["test_assets/a.png"] = "h", "a"
				f["task.yaml"] = strings.Replace(f["task.yaml"], "image_assets: {}", "image_assets: {test_patch: [{path: a.png}]}", 1)
			})
			if err := tt.spoil(filepath.Join(dir, "tasks/x")); err != nil {
				t.Fatal(err)
			}
			all, err := load(t, dir, "")
			if err != nil || len(all) != 2 || len(all[1].Problems) != 0 {
				t.Fatalf("%d tasks, %v", len(all), err)
			}
			if got := fmt.Sprint(all[0].Problems); !strings.Contains(problem(all[0]), tt.want) || strings.Contains(show(all[0].Task), "secret") {
				t.Errorf("problems %s, want %q", got, tt.want)
			}
		})
	}
	// A whole task that leads out is no task.
	dir := write(t, "", []string{"x"}, nil)
	if err := os.Symlink(filepath.Join(write(t, "", []string{"z"}, nil), "tasks/z"), filepath.Join(dir, "tasks/z")); err != nil {
		t.Fatal(err)
	}
	if l := one(t, dir); l.Task.InstanceID != "x" {
		t.Errorf("got %s", l.Task.InstanceID)
	}
}

func relink(path, target string) error { return errors.Join(os.Remove(path), os.Symlink(target, path)) }

func problem(l tree.Loaded) string {
	var out []string
	for i := range l.Problems {
		out = append(out, l.Problems[i].Error())
	}
	return strings.Join(out, "\n")
}

// Rows of the published repository, written as folders, come back as they were.
func TestRealRows(t *testing.T) {
	const each = 25
	f, err := os.Open(checkout.SharedData(t, "instances", "official_multimodal_tasks_repo.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := t.TempDir()
	put := func(id, name, text string) {
		path := filepath.Join(dir, "tasks", id, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	rows := map[string]map[string]any{}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for n := 0; lines.Scan(); n++ {
		if n%each != 0 {
			continue
		}
		var row map[string]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		id := row["instance_id"].(string)
		rows[id] = row
		tests, err := json.Marshal(map[string]any{"FAIL_TO_PASS": row["FAIL_TO_PASS"], "PASS_TO_PASS": row["PASS_TO_PASS"]})
		if err != nil {
			t.Fatal(err)
		}
		put(id, "tests.json", string(tests))
		meta := map[string]any{}
		for key, value := range row {
			switch key {
			case "FAIL_TO_PASS", "PASS_TO_PASS":
			case "patch":
				put(id, "gold.patch", value.(string))
			case "test_patch":
				put(id, "test.patch", value.(string))
			case "eval_script":
				put(id, "eval.sh", value.(string))
			case "problem_statement":
				put(id, "problem_statement.md", value.(string))
			case "hints_text":
				if value != "" {
					put(id, "hints.md", value.(string))
				}
			default:
				meta[key] = value
			}
		}
		text, err := yaml.Marshal(meta)
		if err != nil {
			t.Fatal(err)
		}
		put(id, "task.yaml", string(text))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	seen, warnings := 0, 0
	err = tasktree.Load(t.Context(), dir, tree.Options{}, func(l tree.Loaded) error {
		seen++
		row := rows[l.Task.InstanceID]
		for i := range l.Problems {
			if warnings++; !l.Problems[i].Warning {
				t.Error(l.Problems[i].Error())
			}
		}
		got := l.Task
		for key, value := range map[string]string{
			"repo": got.Repo, "base_commit": got.BaseCommit, "version": got.Version, "created_at": got.CreatedAt, "image": got.Image,
			"log_parser": got.LogParser, "eval_type": got.EvalType, "patch": got.Patch, "test_patch": got.TestPatch,
			"eval_script": got.EvalScript, "problem_statement": got.ProblemStatement, "hints_text": got.HintsText,
		} {
			if row[key] != value {
				t.Errorf("%s: field %s is %.100q, was %.100q", got.InstanceID, key, value, row[key])
			}
		}
		for key, list := range map[string][]string{"FAIL_TO_PASS": got.FailToPass, "PASS_TO_PASS": got.PassToPass} {
			var was []string
			for _, v := range row[key].([]any) {
				was = append(was, v.(string))
			}
			if !slices.Equal(list, was) {
				t.Errorf("%s: %s differs", got.InstanceID, key)
			}
		}
		return nil
	})
	if deprecated := len(rows) - seen; err != nil || seen < 20 || deprecated > 3 {
		t.Errorf("%d of %d rows, %v", seen, len(rows), err)
	}
	t.Logf("%d rows, %d pictures that only have an address", seen, warnings)
}
