// Package runstest makes small runs for tests: tasks, what their sandboxes print,
// and the stored plan of a run over them.
//
// It knows datasets and plans, and sandboxes by the in-memory runtime only.
package runstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/artifacts"
	"harness/artifacts/dir"
	"harness/eval"
	"harness/internal/runs"
	"harness/sandbox"
	"harness/sandbox/fake"
	"harness/scoring/grade"
)

// Runtime is the handler's name in specs made here.
const Runtime = "fake"

// Image is the reference that all tasks share.
const Image = "tests/image:1"

// Store is a folder store of the test's own.
func Store(t testing.TB) *dir.Store {
	t.Helper()
	s, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Tasks makes n tasks, "task-0000" and on, each with one test to fix and one to keep.
func Tasks(n int) []eval.Task {
	tasks := make([]eval.Task, n)
	for i := range tasks {
		tasks[i] = eval.Task{
			InstanceID: fmt.Sprintf("task-%04d", i), Repo: "some/repo", BaseCommit: strings.Repeat("a", 40), Language: "python",
			Patch:      fmt.Sprintf("diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -1 +1 @@\n-x = 0\n+x = %d\n", i+1),
			FailToPass: []string{"test_f.py::test_fixed"}, PassToPass: []string{"test_f.py::test_kept"},
			Image: Image, LogParser: "parse_log_pytest", EvalType: eval.EvalPassAndFail,
			EvalScript: "#!/bin/bash\n: '>>>>> Start Test Output'\npytest -rA\n: '>>>>> End Test Output'\n",
		}
	}
	return tasks
}

// Log is what the eval script of a task prints.
func Log(resolved bool) string {
	word := "PASSED"
	if !resolved {
		word = "FAILED"
	}
	return "+ : '>>>>> Start Test Output'\n+ pytest -rA\n" + word + " test_f.py::test_fixed\nPASSED test_f.py::test_kept\n" +
		"=== 2 passed in 0.1s ===\n+ : '>>>>> End Test Output'\n>>>>> Test Exit Code: 0\n"
}

// Request asks for a gold run over tasks with small limits.
func Request(t testing.TB, run string, tasks []eval.Task) runs.Request {
	t.Helper()
	profile, err := grade.ByName("swebench")
	if err != nil {
		t.Fatal(err)
	}
	limits := eval.DefaultLimits()
	limits.SetupSeconds, limits.WallSeconds, limits.OutputBytes = 10, 60, eval.MiB
	return runs.Request{
		Spec: eval.RunSpec{
			RunID: run, Dataset: "tests", DatasetDigest: "0", Candidate: eval.CandidateGold, Agent: "gold",
			Profile: profile.Name, Recipe: profile.Recipe, Limits: limits, Network: eval.NetworkNone, Runtime: Runtime,
			Attempts: 1, Rounds: 1, Disclosure: "none", MaxInfraTries: 3,
			HarnessVersion: "test", CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
		Tasks: tasks,
		Patch: func(t *eval.Task) *string { return &t.Patch },
	}
}

// Plan stores the run that is asked for.
func Plan(t testing.TB, store artifacts.Store, req runs.Request) runs.Planned {
	t.Helper()
	p, err := runs.Plan(t.Context(), store, req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Sandboxes is a runtime that has the image; tests says what the eval script of a
// trial does, nil that each resolves its task.
func Sandboxes(tests func(ctx context.Context, b *fake.Sandbox, p sandbox.Process) fake.Result) *fake.Runtime {
	rt := &fake.Runtime{Name: Runtime}
	rt.AddImage(Image, nil)
	rt.OnExec = func(ctx context.Context, b *fake.Sandbox, p sandbox.Process) fake.Result {
		switch {
		case !slices.Contains(p.Args, "/eval.sh"):
			return fake.Result{Code: 100} // the first way of applying worked
		case tests == nil:
			return fake.Result{Stdout: Log(true)}
		}
		return tests(ctx, b, p)
	}
	return rt
}
