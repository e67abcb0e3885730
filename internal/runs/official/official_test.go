package official_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/artifacts"
	"harness/datasets/predictions"
	"harness/eval"
	"harness/internal/runs/official"
	"harness/internal/runs/runstest"
)

func write(t *testing.T, store artifacts.Store, spec eval.RunSpec, dir string) []official.Tree {
	t.Helper()
	trees, err := official.Write(t.Context(), store, spec, dir, official.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return trees
}

// files lists the files below a folder with a slash-separated name.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	if err := fs.WalkDir(os.DirFS(dir), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, p)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTree(t *testing.T) {
	store := runstest.Store(t)
	dir := filepath.Join(t.TempDir(), "new", "out")
	trees := write(t, store, storedRun(t, store, "run", "swebench", 1), dir)
	want := official.Tree{Run: "run", Logs: "logs/run_evaluation/run/v__m é", Report: "v__m é.run.json", Predictions: "preds.jsonl", Instances: 7}
	if len(trees) != 1 || trees[0] != want {
		t.Errorf("wrote %+v", trees)
	}
	all := []string{"eval.sh", "patch.diff", "report.json", "run_instance.log", "test_output.txt"}
	short := []string{"patch.diff", "run_instance.log"}
	var names []string
	for i, list := range map[int][]string{0: all, 1: all, 2: short, 3: {"eval.sh", "patch.diff", "run_instance.log", "test_output.txt"}, 4: all, 5: short, 8: short} {
		for _, name := range list {
			names = append(names, fmt.Sprintf("%s/task-%04d/%s", want.Logs, i, name))
		}
	}
	names = append(names, "logs/run_evaluation/run/run.json", want.Report, want.Predictions)
	slices.Sort(names)
	got := files(t, dir)
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Errorf("wrote\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(names, "\n"))
	}
	logs := filepath.Join(dir, want.Logs)
	for name, text := range map[string]string{
		"task-0000/patch.diff":      "diff 0 <é&\u2028>\x00\n",
		"task-0000/test_output.txt": runstest.Log(true),
		"task-0001/test_output.txt": runstest.Log(false) + "caf\uFFFD \uFFFD \r x",
		"task-0000/eval.sh": "#!/bin/bash\n: '>>>>> Start Test Output'\npytest -rA\nSWEBENCH_TEST_EXIT_CODE=$?\n: '>>>>> End Test Output'\n" +
			"echo \">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE\"\n",
		"task-0004/report.json": `{
    "task-0004": {
        "patch_is_None": false,
        "patch_exists": true,
        "patch_successfully_applied": false,
        "resolved": false,
        "infra_failure": true,
        "infra_failure_reason": "out_of_memory"
    }
}`,
		"../run.json": `{
  "dataset": "tests",
  "split": "test",
  "task_repo": null,
  "created_at": "2026-01-02T03:04:05+00:00"
}
`,
	} {
		if got := read(t, logs, name); got != text {
			t.Errorf("%s is\n%q\nwant\n%q", name, got, text)
		}
	}
	for name, lines := range map[string][]string{
		"task-0000": {"2026-01-02 03:04:05,678 - INFO - Written by harness test from its record of run/task-0000/1/1; runtime runsc, image unknown\n",
			" - INFO - >>>>> Applied Patch:\nApplied patch f.py cleanly.\n", "03:04:08,178 - INFO - Test runtime: 1.50 seconds\n", "\nResult for task-0000: resolved: True\n"},
		"task-0002": {">>>>> Patch Apply Failed:\nerror: patch failed\n", `Error in evaluating model for task-0002: patch_not_applied: why\nnot`},
		"task-0003": {"Test timed out after 60 seconds."},
		"task-0005": {`infra_error: pull: Temporary failure in name resolution\n2026 - INFO - forged` + "\n"},
	} {
		got := read(t, logs, name, "run_instance.log")
		for _, line := range lines {
			if !strings.Contains(got, line) {
				t.Errorf("log of %s is\n%s\nwant %q", name, got, line)
			}
		}
	}
}

func TestRunReport(t *testing.T) {
	store := runstest.Store(t)
	for profile, want := range map[string]string{
		"swebench": `total_instances=11 submitted_instances=11 completed_instances=3 resolved_instances=1 unresolved_instances=2 infra_failure_instances=2
			ambiguous_failure_instances=1 empty_patch_instances=2 error_instances=5 completed_ids=[0,1,4] incomplete_ids=[missing-1] empty_patch_ids=[6,7]
			submitted_ids=[elsewhere-1,0,1,2,3,4,5,6,7,8,9] resolved_ids=[0] unresolved_ids=[1,4] infra_failure_ids=[4,5] ambiguous_failure_ids=[3]
			failure_reasons={3:tests_timed_out,4:out_of_memory,5:network_unreachable} error_ids=[2,3,5,8,9] schema_version=2`,
		// The log of task 1 is not UTF-8, which release 4 does not survive.
		"swebench-4": `total_instances=11 submitted_instances=11 completed_instances=2 resolved_instances=1 unresolved_instances=1
			empty_patch_instances=2 error_instances=6 completed_ids=[0,4] incomplete_ids=[missing-1] empty_patch_ids=[6,7]
			submitted_ids=[elsewhere-1,0,1,2,3,4,5,6,7,8,9] resolved_ids=[0] unresolved_ids=[4] error_ids=[1,2,3,5,8,9] schema_version=2`,
	} {
		dir := t.TempDir()
		tree := write(t, store, storedRun(t, store, profile, profile, 1), dir)[0]
		raw := read(t, dir, tree.Report)
		if !strings.HasSuffix(raw, "\n}\n") || !strings.HasPrefix(raw, "{\n    \"total_instances\": 11,\n") {
			t.Errorf("%s: written as %q", profile, raw)
		}
		dec := json.NewDecoder(strings.NewReader(raw))
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				t.Fatal(err)
			}
			var value json.RawMessage
			if err := dec.Decode(&value); err != nil {
				t.Fatal(err)
			}
			var flat bytes.Buffer
			if err := json.Compact(&flat, value); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s=%s", key, strings.NewReplacer(`"`, "", "task-000", "").Replace(flat.String())))
		}
		if want := strings.Join(strings.Fields(want), " "); strings.Join(got, " ") != want {
			t.Errorf("%s:\ngot  %s\nwant %s", profile, strings.Join(got, " "), want)
		}
	}
}

// What is written is read again: as predictions, patch for patch.
func TestPredictionsComeBack(t *testing.T) {
	store := runstest.Store(t)
	spec := storedRun(t, store, "run", "swebench", 1)
	dir := t.TempDir()
	tree := write(t, store, spec, dir)[0]
	alone := filepath.Join(dir, "alone.jsonl")
	if n, err := official.WritePredictions(t.Context(), store, spec, alone, false); err != nil || n != len(cases) {
		t.Fatal(n, err)
	}
	if read(t, alone) != read(t, dir, tree.Predictions) {
		t.Error("the two files of predictions differ")
	}
	f, err := predictions.Load(t.Context(), alone, predictions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.Model != "v/m é" || f.Dialect != "swe-bench" || len(f.ByID) != len(cases) {
		t.Errorf("%+v", f)
	}
	for i := range cases {
		id := fmt.Sprintf("task-%04d", i)
		switch p := f.ByID[id].Patch; {
		case i == 6:
			if p != nil {
				t.Errorf("%s: null became %q", id, *p)
			}
		case i == 7:
			if p == nil || *p != "" {
				t.Errorf("%s: an empty patch became %v", id, p)
			}
		case p == nil || *p != fmt.Sprintf("diff %d <é&\u2028>\x00\n", i):
			t.Errorf("%s: %v", id, p)
		}
	}
	if _, err := official.WritePredictions(t.Context(), store, spec, alone, false); !errors.As(err, new(*official.ExistsError)) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := official.WritePredictions(t.Context(), store, spec, alone, true); err != nil {
		t.Error(err)
	}
	if left := files(t, dir); slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, ".harness") }) {
		t.Errorf("left behind: %v", left)
	}
}

func TestAttemptsAreRuns(t *testing.T) {
	store := runstest.Store(t)
	dir := t.TempDir()
	trees := write(t, store, storedRun(t, store, "run", "swebench", 2), dir)
	if len(trees) != 2 || trees[0].Run != "run.a1" || trees[1].Run != "run.a2" || trees[1].Instances != 7 {
		t.Fatalf("%+v", trees)
	}
	for n, tree := range trees {
		if got := read(t, dir, tree.Report); got != read(t, dir, trees[0].Report) || !strings.Contains(tree.Report, fmt.Sprintf(".run.a%d.json", n+1)) {
			t.Errorf("%s: %s", tree.Report, got)
		}
		if tree.Predictions != fmt.Sprintf("preds.a%d.jsonl", n+1) || read(t, dir, tree.Predictions) == "" {
			t.Errorf("predictions %s", tree.Predictions)
		}
	}
}

func TestNothingIsReplaced(t *testing.T) {
	store := runstest.Store(t)
	spec := storedRun(t, store, "run", "swebench", 1)
	first := t.TempDir()
	tree := write(t, store, spec, first)[0]
	for _, taken := range []string{tree.Logs, tree.Report, tree.Predictions, "logs/run_evaluation/run/run.json"} {
		dir := t.TempDir()
		mine := filepath.Join(dir, taken)
		if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := official.Write(t.Context(), store, spec, dir, official.Options{})
		if e := (*official.ExistsError)(nil); !errors.As(err, &e) || e.Path != taken {
			t.Errorf("%s is there: %v", taken, err)
		}
		if got := files(t, dir); len(got) != 1 || read(t, mine) != "mine" {
			t.Errorf("%s: the folder holds %v", taken, got)
		}
	}
	mark := filepath.Join(first, tree.Logs, "stale-1")
	if err := os.Mkdir(mark, 0o755); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(first, "logs/run_evaluation/run/other-model")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := official.Write(t.Context(), store, spec, first, official.Options{Force: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("what an earlier run left is still there")
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("another model's logs are gone")
	}
	if got := files(t, first); slices.ContainsFunc(got, func(n string) bool { return strings.HasPrefix(n, ".harness") }) {
		t.Errorf("left behind: %v", got)
	}
}

// An agent may end with a patch of no characters.
func TestEmptyPatchOfAnAgent(t *testing.T) {
	store := runstest.Store(t)
	req := runstest.Request(t, "agent", runstest.Tasks(1))
	spec := runstest.Plan(t, store, req).Spec
	ref, err := artifacts.PutCAS(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := eval.TrialID{RunID: "agent", InstanceID: "task-0000", Attempt: 1, Round: 1}
	put(t, store, eval.ResultKey(id), eval.TrialResult{Schema: 1, TrialID: id, Outcome: eval.EmptyPatch, Artifacts: map[string]eval.Ref{eval.FilePatch: ref}})
	dir := t.TempDir()
	tree := write(t, store, spec, dir)[0]
	if got := read(t, dir, tree.Report); tree.Instances != 0 || !strings.Contains(got, `"empty_patch_instances": 1,`) || !strings.Contains(got, `"error_instances": 0,`) {
		t.Errorf("%+v, %s", tree, got)
	}
}

func TestNotExpressible(t *testing.T) {
	store := runstest.Store(t)
	req := runstest.Request(t, "noop", runstest.Tasks(1))
	req.Spec.Candidate, req.Spec.Agent = eval.CandidateNoop, eval.CandidateNoop
	spec := runstest.Plan(t, store, req).Spec
	if _, err := official.Write(t.Context(), store, spec, t.TempDir(), official.Options{}); !errors.Is(err, official.ErrNotExpressible) {
		t.Errorf("a no-op run: %v", err)
	}
	if _, err := official.WritePredictions(t.Context(), store, spec, filepath.Join(t.TempDir(), "p"), false); !errors.Is(err, official.ErrNotExpressible) {
		t.Errorf("predictions of a no-op run: %v", err)
	}
	spec = runstest.Plan(t, store, runstest.Request(t, "bare", runstest.Tasks(1))).Spec
	put(t, store, eval.ResultKey(eval.TrialID{RunID: "bare", InstanceID: "task-0000", Attempt: 1, Round: 1}), eval.TrialResult{
		Schema: 1, TrialID: eval.TrialID{RunID: "bare", InstanceID: "task-0000", Attempt: 1, Round: 1}, Outcome: eval.Resolved, Verdicts: []eval.Verdict{{Outcome: eval.Resolved}},
	})
	if _, err := official.Write(t.Context(), store, spec, t.TempDir(), official.Options{}); !errors.Is(err, official.ErrNotExpressible) {
		t.Errorf("rules without an official report: %v", err)
	}
	// The solution of some tasks is a script, not a patch.
	req = runstest.Request(t, "script", runstest.Tasks(1))
	req.Patch = func(*eval.Task) *string { return nil }
	spec = runstest.Plan(t, store, req).Spec
	put(t, store, eval.ResultKey(eval.TrialID{RunID: "script", InstanceID: "task-0000", Attempt: 1, Round: 1}), eval.TrialResult{
		Schema: 1, TrialID: eval.TrialID{RunID: "script", InstanceID: "task-0000", Attempt: 1, Round: 1}, Outcome: eval.Resolved, Verdicts: []eval.Verdict{{Outcome: eval.Resolved}},
	})
	if _, err := official.Write(t.Context(), store, spec, t.TempDir(), official.Options{}); !errors.Is(err, official.ErrNotExpressible) {
		t.Errorf("a task that was solved without a patch: %v", err)
	}
}
