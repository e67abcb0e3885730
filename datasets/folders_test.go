package datasets_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/datasets"
	"harness/eval"
	"harness/internal/checkout"
)

func TestHarborExamplesLoad(t *testing.T) {
	dir := filepath.Join(checkout.Root(t), "examples", "harbor")
	ds, problems, err := datasets.Validate(t.Context(), dir, datasets.Options{})
	if err != nil || len(problems)+len(ds.Warnings) > 0 || len(ds.Tasks) != 2 || ds.Name != "harbor" {
		t.Fatalf("%v, %v, %v, %+v", err, problems, ds.Warnings, ds)
	}
	for i := range ds.Tasks {
		task := &ds.Tasks[i]
		if err := datasets.Runnable(task); err != nil || task.Family != eval.FamilyHarbor || task.Solution == nil || len(task.Files) != 2 || task.Language != "" {
			t.Errorf("%v, %+v", err, task)
		}
	}
	// The canonical file is the same dataset, files included.
	file := filepath.Join(t.TempDir(), "harbor.parquet")
	if err := datasets.WriteFile(t.Context(), file, ds); err != nil {
		t.Fatal(err)
	}
	back, err := datasets.Load(t.Context(), file, datasets.Options{})
	if err != nil || back.Digest != ds.Digest {
		t.Errorf("%v, %s, want %s", err, back.Digest, ds.Digest)
	}
}

// taskFolder makes a folder of Harbor tasks from their settings.
func taskFolder(t *testing.T, settings map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for id, text := range settings {
		for name, text := range map[string]string{"task.toml": text, "instruction.md": "do", "tests/test.sh": "true"} {
			path := filepath.Join(dir, id, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

const offline = "[environment]\nnetwork_mode = 'no-network'\n"

// Each problem names the file of its task, and good tasks are still there.
func TestFolderProblems(t *testing.T) {
	dir := taskFolder(t, map[string]string{
		"a": offline + "docker_image = 'x:1'\n", "b": "[environment]\ncpus = 'two'\n", "c": offline + "docker_image = 'x 1'\n",
		"d": offline + "docker_image = 'x:1'\nmemory_mb = 1\n", "e e": offline, "c++": offline, "A": offline + "docker_image = 'x:1'\n",
	})
	ds, problems, err := datasets.Validate(t.Context(), dir, datasets.Options{})
	if err != nil || len(ds.Tasks) != 2 || ds.Tasks[0].InstanceID != "A" || ds.Tasks[1].Repo != "harbor/c--" {
		t.Fatalf("%v, %+v", err, ds)
	}
	want := []string{
		dir + "/a/task.toml: a: field instance_id: it differs only by case from \"A\" on " + dir + "/A/task.toml; rename one of the rows",
		dir + "/b/task.toml:2: b: field environment.cpus: it is a TOML string, another type is expected",
		dir + "/c/task.toml: c: field image: \"x 1\" is not an image reference",
		dir + "/d/task.toml: d: field limits: limit memory",
		dir + "/e e/task.toml: e e: field instance_id: instance id \"e e\" is refused",
	}
	for i, w := range want {
		if i >= len(problems) || !strings.HasPrefix(problems[i].String(), w) {
			t.Fatalf("problems\n%v\nwant\n%s", problems, strings.Join(want, "\n"))
		}
	}
	if len(problems) != len(want) {
		t.Errorf("%d problems: %v", len(problems), problems)
	}
	if _, err := datasets.Load(t.Context(), dir, datasets.Options{}); !errors.As(err, new(*datasets.LoadError)) {
		t.Errorf("load: %v", err)
	}
	if _, err := datasets.Load(t.Context(), dir, datasets.Options{Split: "dev"}); err == nil || !strings.Contains(err.Error(), "load dataset "+dir+": there is no split \"dev\"") {
		t.Errorf("a split: %v", err)
	}
}

// A task that can't be executed says what to do about it.
func TestFolderRunnable(t *testing.T) {
	dir := taskFolder(t, map[string]string{"dockerfile": offline, "gpu": offline + "docker_image = 'x:1'\ngpus = 1\n"})
	ds, err := datasets.Load(t.Context(), dir, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"task dockerfile can't be executed: it has no image; sandboxes start from images and Dockerfiles are not built here: build the task's with any tool, `harness image import` the result, and name it",
		"task gpu can't be executed: it has no eval_script; it asks for something that sandboxes do not have; `harness dataset validate` says what",
	} {
		if err := datasets.Runnable(&ds.Tasks[i]); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// What is wrong with a folder as a whole is told once, on one line, whatever its
// files are called.
func TestFolderProblemsAreLines(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\nb: c")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "tasks"), 0o755), os.WriteFile(filepath.Join(dir, "sweb.yaml"), []byte("splits: [\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	_, problems, err := datasets.Validate(t.Context(), dir, datasets.Options{})
	if err != nil || len(problems) != 1 {
		t.Fatalf("%v, %v", problems, err)
	}
	text := problems[0].String()
	if problems[0].File != filepath.Join(dir, "sweb.yaml") || strings.Contains(text, "\n") || strings.Count(text, "sweb.yaml") != 1 || !strings.HasSuffix(text, "; correct the file") {
		t.Errorf("problem is %s", text)
	}
}

// A file called dataset.* is the dataset, whatever stands beside it.
func TestDatasetFileBesideTasks(t *testing.T) {
	dir := taskFolder(t, map[string]string{"a": offline})
	if err := os.WriteFile(filepath.Join(dir, "dataset.jsonl"), []byte("{\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := datasets.Load(t.Context(), dir, datasets.Options{})
	if err == nil || !strings.Contains(err.Error(), "dataset.jsonl") {
		t.Errorf("error is %v", err)
	}
}

func TestPicturesThatAreMissing(t *testing.T) {
	task := eval.Task{
		InstanceID: "x", Image: "i", EvalScript: "e", LogParser: "p",
		ImageAssets: &eval.ImageAssets{ProblemStatement: []eval.Asset{{URL: "u"}}, TestPatch: []eval.Asset{{URL: "u", Path: "a/b.png"}, {Path: "c.png"}}},
	}
	if err := datasets.Runnable(&task); err == nil || !strings.HasPrefix(err.Error(), `task x can't be executed: it has no picture "a/b.png", 1 more picture; tests compare with them, and a run fetches nothing: `+"`harness dataset import DATASET --pictures` does") {
		t.Errorf("error is %v", err)
	}
	task.Files = []eval.TaskFile{{Path: "/image_assets/a__b.png"}, {Path: "/image_assets/c.png"}}
	if err := datasets.Runnable(&task); err != nil {
		t.Error(err)
	}
}
