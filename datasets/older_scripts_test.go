package datasets_test

import (
	"strings"
	"testing"

	"harness/datasets"
	"harness/eval"
)

// A recipe of an older release gets scripts of its form. Multimodal tasks have none
// of that form, and the notice says so.
func TestOlderScripts(t *testing.T) {
	row := func(repo, version, file string) eval.Task {
		return eval.Task{
			InstanceID: strings.ReplaceAll(repo, "/", "__") + "-1", Repo: repo, Version: version, BaseCommit: strings.Repeat("a", 40),
			TestPatch: "diff --git a/" + file + " b/" + file + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + file + "\n@@ -0,0 +1 @@\n+a\n",
		}
	}
	python, gotest, pictures := row("django/django", "4.2", "tests/new/tests.py"), row("gin-gonic/gin", "1805", "new_test.go"), row("markedjs/marked", "0.7", "new.js")
	script := func(task eval.Task, older bool) string {
		tasks := []eval.Task{task}
		if c := datasets.Complete(tasks, eval.Recipe{OlderScripts: older}); c.Scripts != 1 {
			t.Fatalf("%s: %+v", task.InstanceID, c)
		}
		return tasks[0].EvalScript
	}
	for _, tt := range []struct {
		task         eval.Task
		older, newer string // a line that only scripts of this form have
	}{
		{python, "git checkout " + python.BaseCommit + " ", "git checkout " + python.BaseCommit + " tests/new/tests.py"},
		{gotest, `echo "No test files to reset"`, "rm -f new_test.go"},
	} {
		older, newer := script(tt.task, true)+"\n", script(tt.task, false)+"\n"
		if !strings.Contains(older, "\n"+tt.older+"\n") || strings.Contains(older, "\n"+tt.newer+"\n") || !strings.Contains(newer, "\n"+tt.newer+"\n") {
			t.Errorf("%s: older form\n%s\nnewer form\n%s", tt.task.InstanceID, older, newer)
		}
	}
	if script(pictures, true) != script(pictures, false) {
		t.Error("multimodal scripts are of the newer form only")
	}

	all := []eval.Task{python, gotest, pictures}
	for older, want := range map[bool]string{
		false: "with 3 eval scripts generated",
		true:  "with 3 eval scripts generated in the form of SWE-bench 4, but for those of 1 multimodal task in the form of SWE-bench 5: the older one fetches pictures while tests run",
	} {
		tasks := append([]eval.Task(nil), all...)
		if got := datasets.Complete(tasks, eval.Recipe{OlderScripts: older}).Notice(); !strings.HasSuffix(got, want) {
			t.Errorf("got the notice %q, want the end %q", got, want)
		}
	}
}
