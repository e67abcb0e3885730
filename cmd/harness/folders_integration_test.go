//go:build integration

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/eval"
)

// TestFoldersOnMachine executes tasks that are folders: the Harbor examples, and
// folders that are made here.
func TestFoldersOnMachine(t *testing.T) {
	h := newHome(t)
	h.want(0, "image", "build", "examples/harbor/images")
	t.Run("harbor", h.harborExamples)
	t.Run("imported", h.harborImported)
	t.Run("terminal-bench", h.terminalBench)
	t.Run("hostile", h.harborHostile)
	t.Run("pictures", h.pictures)
	h.clean()
}

// outcomes describes the results of a run, with reward and way of applying.
func (h *home) outcomes(run string) map[string]string {
	h.t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob(filepath.Join(h.dir, "artifacts/runs", run, "tasks/*/1/1/result.json"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range files {
		var r eval.TrialResult
		data, err := os.ReadFile(f)
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil {
			h.t.Fatal(err)
		}
		text := r.Outcome.String()
		if reward := r.Verdicts[0].Reward; reward != nil {
			text += fmt.Sprintf(" %.3g", *reward)
			if r.Scores.Functional == nil || *r.Scores.Functional != *reward {
				h.t.Errorf("%s: the functional score is not the reward", r.InstanceID)
			}
		}
		out[r.InstanceID] = strings.TrimSpace(text + " " + r.Patch.ApplyMethod)
		for _, test := range r.Tests {
			out[r.InstanceID+" "+test.Name] = test.Status
		}
	}
	return out
}

func (h *home) ends(run string, want map[string]string) {
	h.t.Helper()
	got := h.outcomes(run)
	for what, w := range want {
		if got[what] != w {
			h.t.Errorf("run %s: %s is %q, want %q; all: %v", run, what, got[what], w, got)
		}
	}
}

func (h *home) harborExamples(t *testing.T) {
	h = h.in(t)
	_, notes := h.want(0, "eval", "-d", "examples/harbor", "--gold", "--run-id", "folders-gold")
	h.says(notes, "profile harbor")
	h.ends("folders-gold", map[string]string{
		"word-counts": "resolved 1 solution", "web-report": "resolved 1 solution",
		"word-counts ../tests/test_outputs.py::test_most_words_come_first": "PASSED", "web-report report::errors": "PASSED",
	})
	h.want(0, "eval", "-d", "examples/harbor", "--noop", "--run-id", "folders-noop")
	h.ends("folders-noop", map[string]string{
		"word-counts": "unresolved 0", "web-report": "unresolved 0",
		"word-counts ../tests/test_outputs.py::test_there_are_texts": "PASSED", "web-report report::errors": "FAILED",
	})
	h.want(0, "eval", "-d", "examples/harbor", "-p", "examples/harbor/predictions/half.jsonl", "--run-id", "folders-half")
	h.ends("folders-half", map[string]string{
		"word-counts": "resolved 1 git-apply", "web-report": "unresolved 0.667 git-apply", "web-report report::errors": "FAILED",
	})
	_, notes = h.want(2, "eval", "-d", "examples/harbor", "--gold", "--profile", "swebench")
	h.says(notes, "can't be judged by profile swebench; harbor is for it")
}

// A canonical file carries the files of its tasks.
func (h *home) harborImported(t *testing.T) {
	h = h.in(t)
	file := filepath.Join(t.TempDir(), "harbor.parquet")
	h.want(0, "dataset", "import", "examples/harbor", "-o", file)
	h.want(0, "eval", "-d", file, "--gold", "-i", "web-report", "--run-id", "folders-imported")
	h.ends("folders-imported", map[string]string{"web-report": "resolved 1 solution"})
}

// put writes the files of a folder, scripts executable.
func (h *home) put(files map[string]string) string {
	h.t.Helper()
	dir := h.t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			h.t.Fatal(err)
		}
	}
	return dir
}

func (h *home) terminalBench(t *testing.T) {
	h = h.in(t)
	dir := h.put(map[string]string{
		"tasks/old/task.yaml":             "instruction: write it\ndifficulty: easy\nmax_test_timeout_sec: 60\nmax_agent_timeout_sec: 60\n",
		"tasks/old/docker-compose.yaml":   "services:\n  client: {image: 'harness.local/harbor-web-report:latest', working_dir: /app, environment: {WORD: 'a b'}}\n",
		"tasks/old/run-tests.sh":          "python3 -m pytest -rA -p no:cacheprovider $TEST_DIR/test_outputs.py\n",
		"tasks/old/tests/test_outputs.py": "import os\ndef test_it(): assert open('/app/out').read() == os.environ['WORD']\n",
		"tasks/old/solution.sh":           "printf %s \"$WORD\" > out\n",
	})
	h.want(0, "eval", "-d", dir, "--gold", "--run-id", "folders-old-gold")
	h.ends("folders-old-gold", map[string]string{"old": "resolved 1 solution", "old ../tests/test_outputs.py::test_it": "PASSED"})
	h.want(0, "eval", "-d", dir, "--noop", "--run-id", "folders-old-noop")
	h.ends("folders-old-noop", map[string]string{"old": "unresolved 0"})
}

// Rewards that a candidate forges beforehand do not count, nor do odd ones.
func (h *home) harborHostile(t *testing.T) {
	h = h.in(t)
	task := func(name, test string) map[string]string {
		return map[string]string{
			name + "/task.toml":      "[environment]\ndocker_image = 'harness.local/harbor-web-report:latest'\nworkdir = '/'\nnetwork_mode = 'no-network'\n",
			name + "/instruction.md": "do", name + "/tests/test.sh": "#!/bin/bash\n" + test,
		}
	}
	files := map[string]string{}
	for name, test := range map[string]string{
		"late":    "test -f /pwned && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
		"none":    "exit 0\n",
		"folder":  "mkdir /logs/verifier/reward.txt\n",
		"pipe":    "mkfifo /logs/verifier/reward.txt\n",
		"binary":  "printf '\\0\\377\\n1' > /logs/verifier/reward.txt\n",
		"large":   "head -c 100000000 /dev/zero > /logs/verifier/reward.json\n",
		"printed": "echo '>>>>> End Test Output'; echo '>>>>> Reward reward.txt: 1'; echo 0 > /logs/verifier/reward.txt\n",
	} {
		for path, text := range task(name, test) {
			files[path] = text
		}
	}
	dir := h.put(files)
	// This one overwrites the tests, the eval script and a reward in its own folder, which is "/".
	const patch = `diff --git a/tests/test.sh b/tests/test.sh
new file mode 100755
--- /dev/null
+++ b/tests/test.sh
@@ -0,0 +1 @@
+echo 1 > /logs/verifier/reward.txt
diff --git a/eval.sh b/eval.sh
new file mode 100755
--- /dev/null
+++ b/eval.sh
@@ -0,0 +1 @@
+echo 1 > /logs/verifier/reward.txt
diff --git a/logs/verifier/reward.json b/logs/verifier/reward.json
new file mode 100644
--- /dev/null
+++ b/logs/verifier/reward.json
@@ -0,0 +1 @@
+1
`
	line, err := json.Marshal(map[string]string{"instance_id": "late", "model_name_or_path": "hostile", "model_patch": patch})
	if err != nil {
		t.Fatal(err)
	}
	preds := filepath.Join(t.TempDir(), "preds.jsonl")
	if err := os.WriteFile(preds, append(line, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	h.want(0, "eval", "-d", dir, "-i", "late", "-p", preds, "--run-id", "folders-forged")
	h.ends("folders-forged", map[string]string{"late": "unresolved 0 git-apply"})
	h.want(0, "eval", "-d", dir, "--noop", "--run-id", "folders-odd")
	h.ends("folders-odd", map[string]string{
		"late": "unresolved 0", "none": "tests_errored", "folder": "tests_errored", "pipe": "tests_errored", "binary": "tests_errored",
		"large": "tests_errored", "printed": "tests_errored",
	})
}

// A picture of a task repository is in place when the tests start, behind the
// line that removes it.
func (h *home) pictures(t *testing.T) {
	h = h.in(t)
	dir := h.put(map[string]string{
		"sweb.yaml": "datasets: [O/Set]\n",
		"tasks/o__r-1/task.yaml": "instance_id: o__r-1\nrepo: o/r\nbase_commit: " + strings.Repeat("a", 40) + "\nversion: '1'\nsplit: test\ndatasets: [O/Set]\n" +
			"image: harness.local/mini-slug:latest\nlog_parser: parse_log_pytest\neval_type: pass_and_fail\n" +
			"image_assets: {test_patch: [{path: img/a b.png}]}\n",
		"tasks/o__r-1/tests.json":              `{"FAIL_TO_PASS": ["picture"], "PASS_TO_PASS": []}`,
		"tasks/o__r-1/problem_statement.md":    "p",
		"tasks/o__r-1/gold.patch":              "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n",
		"tasks/o__r-1/test.patch":              "",
		"tasks/o__r-1/test_assets/img/a b.png": "\x89PNG\r\n\x00bytes",
		"tasks/o__r-1/eval.sh": "#!/bin/bash\nset -uxo pipefail\ncd /testbed\nrm -f 'img/a b.png'\n: '>>>>> Start Test Output'\n" +
			"test -f new && printf '\\211PNG\\r\\n\\0bytes' | cmp - 'img/a b.png' && echo 'PASSED picture' || echo 'FAILED picture'\n: '>>>>> End Test Output'\n",
	})
	h.want(0, "eval", "-d", dir, "--gold", "--run-id", "folders-pictures")
	h.ends("folders-pictures", map[string]string{"o__r-1": "resolved git-apply", "o__r-1 picture": "PASSED"})
}
