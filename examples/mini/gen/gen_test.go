package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"harness/eval"
)

func load(t *testing.T) (string, []*source) {
	t.Helper()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := loadTasks(root)
	if err != nil {
		t.Fatal(err)
	}
	return root, tasks
}

func TestCheckedInFilesAreWhatGenWrites(t *testing.T) {
	root, tasks := load(t)
	files, err := generate(root, tasks)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Errorf("%v: run go run ./examples/mini/gen", err)
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go run ./examples/mini/gen", name)
		}
	}
	for _, pattern := range []string{"predictions/*", "expected/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := files[filepath.ToSlash(name)]; !ok {
				t.Errorf("%s belongs to no task: run go run ./examples/mini/gen", name)
			}
		}
	}
}

// Every predictions file answers every task, and the expectations name exactly
// the predictions: a demo that compares the two can't miss one.
func TestPredictionsAndExpectationsCoverTheDataset(t *testing.T) {
	root, _ := load(t)
	ids := make(map[string]bool)
	for _, row := range jsonLines[eval.Task](t, filepath.Join(root, "dataset.jsonl")) {
		ids[row.InstanceID] = true
	}
	sets, err := filepath.Glob(filepath.Join(root, "predictions", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	trials := 0
	for _, path := range sets {
		set := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		predicted := make(map[string]bool)
		for _, p := range jsonLines[eval.Prediction](t, path) {
			if predicted[p.InstanceID] {
				t.Errorf("%s: %s is there twice", set, p.InstanceID)
			}
			predicted[p.InstanceID] = true
			if err := eval.ValidateModelName(p.Model); err != nil {
				t.Errorf("%s: %v", set, err)
			}
		}
		if !maps.Equal(predicted, ids) {
			t.Errorf("%s: predictions for %v, tasks are %v", set, slices.Sorted(maps.Keys(predicted)), slices.Sorted(maps.Keys(ids)))
		}
		trials += len(predicted)
		var expected map[string]expectation
		data, err := os.ReadFile(filepath.Join(root, "expected", set+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &expected); err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		if len(expected) != len(predicted) {
			t.Errorf("%s: %d expectations for %d predictions", set, len(expected), len(predicted))
		}
		for id := range expected {
			if !predicted[id] {
				t.Errorf("%s: an outcome is expected for %s, which has no prediction", set, id)
			}
		}
	}
	if trials > 60 {
		t.Errorf("%d trials: keep the demonstration short, at most 60", trials)
	}
}

func TestGoldResolvesAndEmptyIsEmpty(t *testing.T) {
	_, tasks := load(t)
	for _, task := range tasks {
		for set, outcome := range map[string]string{"gold": "resolved", "empty": "empty_patch"} {
			p, err := task.resolve(set)
			if err != nil {
				t.Errorf("%s: %v", task.ID, err)
				continue
			}
			if !slices.Equal(p.outcome, []string{outcome}) {
				t.Errorf("%s, %s: outcome %v, want %s", task.ID, set, p.outcome, outcome)
			}
			if set == "gold" && *p.patch != task.gold {
				t.Errorf("%s: the gold prediction is not gold.patch", task.ID)
			}
			if set == "empty" && p.patch != nil && *p.patch != "" {
				t.Errorf("%s: the empty prediction has a patch", task.ID)
			}
		}
	}
}

// The "index" lines of the gold and test patches name the content that they
// were made for: it must be what the repository holds now.
func TestPatchesFitTheRepositories(t *testing.T) {
	root, tasks := load(t)
	for _, task := range tasks {
		repo := filepath.Join(root, "images", "repos", task.Repo)
		inGold := make(map[string]bool)
		for name, patch := range map[string]string{"gold.patch": task.gold, "test.patch": task.test} {
			modified, _, err := touched(patch)
			if err != nil {
				t.Errorf("%s, %s: %v", task.ID, name, err)
				continue
			}
			from := indexLines(patch)
			for _, path := range modified {
				_, id, err := blobID(filepath.Join(repo, path))
				if err != nil {
					t.Errorf("%s, %s: %v", task.ID, name, err)
					continue
				}
				if from[path] == "" || !strings.HasPrefix(hex.EncodeToString(id), from[path]) {
					t.Errorf("%s, %s: made for %s as %q, the repository has %x", task.ID, name, path, from[path], id)
				}
				if name == "gold.patch" {
					inGold[path] = true
				}
			}
		}
		modified, added, err := touched(task.test)
		if err != nil {
			continue
		}
		for _, path := range append(modified, added...) {
			if inGold[path] {
				t.Errorf("%s: gold and test patch both change %s", task.ID, path)
			}
		}
	}
}

// indexLines maps each file of a patch to the short id of its old content.
func indexLines(patch string) map[string]string {
	ids := make(map[string]string)
	var path string
	for line := range strings.SplitSeq(patch, "\n") {
		if _, b, ok := strings.Cut(line, " b/"); ok && strings.HasPrefix(line, "diff --git ") {
			path = b
		}
		if rest, ok := strings.CutPrefix(line, "index "); ok {
			ids[path], _, _ = strings.Cut(rest, "..")
		}
	}
	return ids
}

func TestEveryRepositoryHasItsRecipe(t *testing.T) {
	root, tasks := load(t)
	for _, task := range tasks {
		path := filepath.Join(root, "images", task.Repo+".yaml")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%s: %v", task.ID, err)
			continue
		}
		var recipe struct {
			Name  string
			From  string
			Files []struct{ From, To string }
		}
		if err := yaml.Unmarshal(data, &recipe); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if recipe.Name != "mini-"+task.Repo || len(recipe.Files) != 1 || recipe.Files[0].From != "repos/"+task.Repo {
			t.Errorf("%s is not the recipe of %s: %+v", path, task.Repo, recipe)
		}
		if _, err := os.Stat(filepath.Join(root, "images", recipe.From)); err != nil {
			t.Errorf("%s: from: %v", path, err)
		}
	}
}

// Byte code and caches that a test run left in a repository would end up in its image.
func TestRepositoriesAreClean(t *testing.T) {
	root, _ := load(t)
	for _, pattern := range []string{"*/__pycache__", "*/*/__pycache__", "*/.pytest_cache", "*/.git", "*/node_modules"} {
		found, err := filepath.Glob(filepath.Join(root, "images", "repos", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			t.Errorf("%s does not belong there: delete it", path)
		}
	}
}

func TestCommitIDIsGits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed, so there is nothing to compare with")
	}
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a.txt": 0o644, "a/b.sh": 0o755, "a-b": 0o644, "a.d/c": 0o644} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name+"\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	want, err := commitID(dir)
	if err != nil {
		t.Fatal(err)
	}
	name, rest, _ := strings.Cut(commitIdentity, " <")
	email, date, _ := strings.Cut(rest, "> ")
	var out []byte
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", commitMessage}, {"rev-parse", "HEAD"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+email, "GIT_AUTHOR_DATE="+date,
			"GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL="+email, "GIT_COMMITTER_DATE="+date)
		if out, err = cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
	if got := strings.TrimSpace(string(out)); got != want {
		t.Fatalf("git says %s, commitID %s", got, want)
	}
}

func jsonLines[T any](t *testing.T, path string) []T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	for dec.More() {
		var v T
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("%s, row %d: %v", path, len(out)+1, err)
		}
		out = append(out, v)
	}
	return out
}
