package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"harness/artifacts"
	"harness/artifacts/dir"
	"harness/eval"
	"harness/internal/runs"
	"harness/scoring/grade"
)

// Text as a hostile candidate writes it: it colours and links on a terminal, hides
// by direction marks, and speaks to CI systems.
const (
	ansi   = "\x1b[31mred\x1b[0m"
	link   = "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\"
	ci     = "::set-output name=x::y"
	bidi   = "a\u202eb"
	evil   = ansi + link + bidi
	evilCI = ci + "\n" + evil
)

func storeRunCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: store-run RUN")
	}
	ts.Check(storeRun(ts.Getenv("HARNESS_HOME")+"/artifacts", args[0]))
}

// storeRun stores a run of four tasks: good-1 is resolved, evil-1 is not and all
// its text is hostile, infra-1 ended in a fault of ours, todo-1 was never run.
func storeRun(folder, run string) error {
	ctx := context.Background()
	store, err := dir.Open(folder)
	if err != nil {
		return err
	}
	defer store.Close()
	var tasks []eval.Task
	for _, id := range []string{"good-1", "evil-1", "infra-1", "todo-1"} {
		tasks = append(tasks, eval.Task{
			InstanceID: id, Repo: "some/repo", BaseCommit: "0123456789abcdef0123456789abcdef01234567",
			Patch: "diff --git a/f b/f\n", FailToPass: []string{"test_f.py::test_fixed"}, PassToPass: []string{},
			Image: "tests/image:1", LogParser: "parse_log_pytest", EvalType: eval.EvalPassAndFail, EvalScript: "true\n",
		})
	}
	profile, err := grade.ByName("swebench")
	if err != nil {
		return err
	}
	spec := eval.RunSpec{
		RunID: run, Dataset: "set", DatasetDigest: "0", Candidate: eval.CandidateGold, Agent: "gold",
		Profile: profile.Name, Recipe: profile.Recipe, Limits: eval.DefaultLimits(), Network: eval.NetworkNone, Runtime: "runsc",
		Attempts: 1, Rounds: 1, Disclosure: "none", MaxInfraTries: 3, HarnessVersion: "test",
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	if _, err := runs.Plan(ctx, store, runs.Request{Spec: spec, Tasks: tasks, Patch: func(t *eval.Task) *string { return &t.Patch }}); err != nil {
		return err
	}
	for _, r := range []struct {
		id      string
		outcome eval.Outcome
		status  string
		log     string
		text    string // where a candidate's text may go
	}{
		{"good-1", eval.Resolved, "PASSED", pytestLog("PASSED"), "fine"},
		{"evil-1", eval.Unresolved, "FAILED", pytestLog("FAILED") + evilCI + "\n", evilCI},
	} {
		if err := storeResult(ctx, store, eval.TrialID{RunID: run, InstanceID: r.id, Attempt: 1, Round: 1}, r.outcome, r.status, r.log, r.text); err != nil {
			return err
		}
	}
	id := eval.TrialID{RunID: run, InstanceID: "infra-1", Attempt: 1, Round: 1}
	return putJSON(ctx, store, eval.TryPrefix(id, 1, "00000001")+eval.FileError, eval.TryError{
		Schema: 1, TrialID: id, Try: 1, Outcome: eval.InfraError, Class: "ImageNotFound", Message: "no image " + evil, Final: true,
	})
}

func pytestLog(status string) string {
	return "+ : '>>>>> Start Test Output'\n" + status + " test_f.py::test_fixed\n+ : '>>>>> End Test Output'\n>>>>> Test Exit Code: 0\n"
}

func storeResult(ctx context.Context, store artifacts.Store, id eval.TrialID, o eval.Outcome, status, log, text string) error {
	try := eval.TryPrefix(id, 1, "00000001")
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed)
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte(log)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	refs := map[string]eval.Ref{}
	for name, data := range map[string][]byte{eval.FileLog: packed.Bytes(), eval.FilePatch: []byte("diff --git a/f b/f\n" + text + "\n")} {
		ref, err := artifacts.PutBytes(ctx, store, try+name, data, artifacts.PutOptions{})
		if err != nil {
			return fmt.Errorf("store %s: %w", name, err)
		}
		refs[name] = ref
	}
	zero, one, cpu := 0, 1, 0.5
	at := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	return putJSON(ctx, store, eval.ResultKey(id), eval.TrialResult{
		Schema: 1, TrialID: id, Repo: "some/repo", Outcome: o, Reason: text, Tries: 1,
		Tests:  []eval.TestResult{{Name: "test_f.py::test_fixed", Group: eval.GroupF2P, Status: status}, {Name: text, Group: eval.GroupF2P, Status: status}},
		Counts: eval.TestCounts{F2PPassed: &one, F2PTotal: &one, P2PPassed: &zero, P2PTotal: &zero},
		Verdicts: []eval.Verdict{{
			Recipe: "swebench", Rules: "swebench", Outcome: o, Resolved: o == eval.Resolved,
			Official: &eval.OfficialReport{PatchExists: true, PatchApplied: true, Resolved: o == eval.Resolved},
		}},
		Events:    []eval.Event{{Time: at, Source: "preprocess", Kind: "odd_path", Severity: "medium", Detail: text}},
		Usage:     eval.Usage{CPUSeconds: &cpu},
		Artifacts: refs, Limits: eval.DefaultLimits(), StartedAt: at, EndedAt: at.Add(time.Second),
	})
}

func putJSON(ctx context.Context, store artifacts.Store, key string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = artifacts.PutBytes(ctx, store, key, data, artifacts.PutOptions{})
	return err
}
