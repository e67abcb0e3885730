package trial_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"harness/activities/trial"
	"harness/eval"
	"harness/sandbox"
	"harness/sandbox/fake"
)

// Where the tests' files are when the candidate's change is made, and what they
// hold when the tests run, after a candidate that overwrote all it can.
func TestRunFiles(t *testing.T) {
	solution := &eval.Solution{Script: "solve", Files: []eval.TaskFile{{Path: "/solution/solve.sh", Mode: 0o755, Data: []byte("s")}}}
	for _, c := range []struct {
		name     string
		workDir  string
		patch    bool
		solution *eval.Solution
		change   string // the program that makes the change; "" for none
		early    string // files that are there when it does
	}{
		{name: "patch elsewhere", workDir: "/testbed", patch: true, change: "/tmp/harness-apply.sh",
			early: "/eval.sh /tests/test.sh /tmp/harness-apply.sh /tmp/patch.diff"},
		{name: "patch with tests below", workDir: "/tests", patch: true, change: "/tmp/harness-apply.sh",
			early: "/eval.sh /tmp/harness-apply.sh /tmp/patch.diff"},
		{name: "a name that starts alike", workDir: "/test", patch: true, change: "/tmp/harness-apply.sh",
			early: "/eval.sh /tests/test.sh /tmp/harness-apply.sh /tmp/patch.diff"},
		{name: "patch of the root", workDir: "/", patch: true, change: "/tmp/harness-apply.sh",
			early: "/tmp/harness-apply.sh /tmp/patch.diff"},
		{name: "patch of the image's folder", workDir: "", patch: true, change: "/tmp/harness-apply.sh",
			early: "/tmp/harness-apply.sh /tmp/patch.diff"},
		{name: "solution", workDir: "/testbed", solution: solution, change: "/tmp/harness-solve.sh",
			early: "/solution/solve.sh /tmp/harness-solve.sh"},
		{name: "no-op", workDir: "", early: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input()
			in.WorkDir, in.Solution = c.workDir, c.solution
			in.Files = []eval.TaskFile{{Path: "/tests/test.sh", Mode: 0o755, Data: []byte("t")}}
			if !c.patch {
				in.Patch = nil
			}
			early, changed := "", ""
			rt := &fake.Runtime{}
			rt.AddImage("image:1", nil)
			rt.OnExec = func(_ context.Context, sb *fake.Sandbox, p sandbox.Process) fake.Result {
				files := sb.Files()
				if slices.Contains(p.Args, "/eval.sh") {
					for path, want := range map[string]string{"/eval.sh": in.Script, "/tests/test.sh": "t"} {
						if f := files[path]; string(f.Data) != want || f.Mode != 0o755 {
							t.Errorf("%s is %q with mode %v when the tests run", path, f.Data, f.Mode)
						}
					}
					return fake.Result{}
				}
				var names []string
				for name := range files {
					names = append(names, name)
				}
				slices.Sort(names)
				early, changed = strings.Join(names, " "), p.Args[1]
				for _, path := range []string{"/eval.sh", "/tests/test.sh"} {
					if _, there := files[path]; !there {
						sb.WriteFile(path, "forged")
					}
				}
				return applied
			}
			out, err := trial.Run(t.Context(), rt, in, new(bytes.Buffer), trial.Hooks{})
			if err != nil || !out.Applied || out.Exec.ExitCode == nil {
				t.Fatalf("%+v, %v", out, err)
			}
			if changed != c.change || early != c.early {
				t.Errorf("%s ran with %s; want %s with %s", changed, early, c.change, c.early)
			}
			if want := map[bool]string{true: "solution", false: "first"}[c.solution != nil]; c.change != "" && out.ApplyMethod != want {
				t.Errorf("applied by %q, want %q", out.ApplyMethod, want)
			}
		})
	}
}

// A candidate that leaves no room for the tests does not count as applied.
func TestRunFilesDoNotFit(t *testing.T) {
	in := input()
	in.WorkDir = "/"
	in.Files = []eval.TaskFile{{Path: "/tests/test.sh", Data: []byte("t")}}
	rt := &fake.Runtime{}
	rt.AddImage("image:1", nil)
	rt.OnExec = func(_ context.Context, sb *fake.Sandbox, p sandbox.Process) fake.Result {
		if slices.Contains(p.Args, "/eval.sh") {
			t.Error("the tests ran")
		}
		sb.WriteFile("/tests", "a file where the folder should be")
		return applied
	}
	out, err := trial.Run(t.Context(), rt, in, new(bytes.Buffer), trial.Hooks{})
	if err != nil || out.Applied || out.ApplyMethod != "" || !strings.Contains(string(out.ApplyLog), "the tests can't be put in place") {
		t.Errorf("%+v, %v, %q", out, err, out.ApplyLog)
	}
}

// A solution that fails is judged by the tests all the same.
func TestRunSolution(t *testing.T) {
	for _, c := range []struct {
		name    string
		result  fake.Result
		applied bool
		want    eval.ExecFacts
		log     string
	}{
		{name: "done", result: fake.Result{Stdout: "solved\n"}, applied: true, want: eval.ExecFacts{ExitCode: code(0)}, log: "solved\n\nthe solution ended with exit code 0\n"},
		{name: "failed", result: fake.Result{Code: 3}, applied: true, want: eval.ExecFacts{ExitCode: code(0)}, log: "\nthe solution ended with exit code 3\n"},
		{name: "died", result: dies, want: eval.ExecFacts{Died: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input()
			in.Patch, in.Solution = nil, &eval.Solution{Script: "solve"}
			rt := &fake.Runtime{}
			rt.AddImage("image:1", nil)
			rt.OnExec = func(_ context.Context, _ *fake.Sandbox, p sandbox.Process) fake.Result {
				if slices.Contains(p.Args, "/eval.sh") {
					return fake.Result{}
				}
				return c.result
			}
			out, err := trial.Run(t.Context(), rt, in, new(bytes.Buffer), trial.Hooks{})
			if err != nil {
				t.Fatal(err)
			}
			x := out.Exec
			if out.Applied != c.applied || x.Died != c.want.Died || (x.ExitCode == nil) != (c.want.ExitCode == nil) || string(out.ApplyLog) != c.log {
				t.Errorf("applied %v, %+v, log %q", out.Applied, x, out.ApplyLog)
			}
		})
	}
}

// A solution has a time limit of its own.
func TestRunSolutionHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := input()
		in.Patch, in.Solution = nil, &eval.Solution{Script: "solve", TimeoutSeconds: 3}
		rt := &fake.Runtime{}
		rt.AddImage("image:1", nil)
		rt.OnExec = func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result { return hangs }
		start := time.Now()
		out, err := trial.Run(t.Context(), rt, in, new(bytes.Buffer), trial.Hooks{})
		if err != nil || !out.Exec.TimedOut || out.Applied {
			t.Errorf("%+v, %v", out, err)
		}
		if took := time.Since(start); took < 3*time.Second || took > 6*time.Second {
			t.Errorf("it took %s of its 3 s", took)
		}
	})
}
