package official_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"harness/artifacts"
	"harness/eval"
	"harness/internal/runs/runstest"
	"harness/scoring/grade"
)

// ended is how a trial of a test's run ended.
type ended struct {
	outcome eval.Outcome
	log     string // graded, unless the outcome says that there is no report
	apply   string
}

const start = "+ : '>>>>> Start Test Output'\n"

// cases are the trials of the run of most tests, task by task.
var cases = []ended{
	{eval.Resolved, runstest.Log(true), "Applied patch f.py cleanly.\n"},
	{eval.Unresolved, runstest.Log(false) + "caf\xc3 \xf0\x9f\x98 \r x", ""},
	{eval.PatchNotApplied, "", "error: patch failed\n"},
	{eval.TimedOut, start + "half a log\n\nTimeout error: 60 seconds exceeded.", ""},
	{eval.NoTestsRan, "bash: Cannot allocate memory\n", ""},
	{eval.InfraError, "", ""},
	{eval.EmptyPatch, "", ""}, // null
	{eval.EmptyPatch, "", ""}, // ""
	{eval.PatchRejected, "", ""},
	{eval.Cancelled, "", ""},
}

// storedRun stores a run of the cases, as predictions of a model, and its spec.
func storedRun(t *testing.T, store artifacts.Store, run, profile string, attempts int) eval.RunSpec {
	t.Helper()
	p, err := grade.ByName(profile)
	if err != nil {
		t.Fatal(err)
	}
	tasks := runstest.Tasks(len(cases))
	req := runstest.Request(t, run, tasks)
	req.Spec.Profile, req.Spec.Recipe, req.Spec.Attempts = p.Name, p.Recipe, attempts
	req.Spec.Candidate, req.Spec.Agent, req.Spec.Model = eval.CandidatePredictions, "v/m é", "v/m é"
	req.Spec.Coverage = eval.Coverage{Tasks: len(cases) + 1, Missing: []string{"missing-1"}, Null: []string{tasks[6].InstanceID}, Unselected: []string{"elsewhere-1"}}
	patches := map[string]*string{}
	for i := range tasks {
		text := fmt.Sprintf("diff %d <é&\u2028>\x00\n", i)
		switch i {
		case 6:
			patches[tasks[i].InstanceID] = nil
		case 7:
			text = ""
			fallthrough
		default:
			patches[tasks[i].InstanceID] = &text
		}
	}
	req.Patch = func(t *eval.Task) *string { return patches[t.InstanceID] }
	planned := runstest.Plan(t, store, req)
	for n := 1; n <= attempts; n++ {
		for i := range tasks {
			id := eval.TrialID{RunID: run, InstanceID: tasks[i].InstanceID, Attempt: n, Round: 1}
			finish(t, store, id, &tasks[i], p, cases[i], patches[tasks[i].InstanceID])
		}
	}
	return planned.Spec
}

func finish(t *testing.T, store artifacts.Store, id eval.TrialID, task *eval.Task, p grade.Profile, c ended, patch *string) {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	try := eval.TryPrefix(id, 1, "00000001")
	switch c.outcome {
	case eval.Cancelled:
		return
	case eval.InfraError:
		put(t, store, try+eval.FileError, eval.TryError{
			Schema: 1, TrialID: id, Try: 1, Outcome: eval.InfraError, Class: "ImagePull", Message: "pull: Temporary failure in name resolution\n2026 - INFO - forged", Final: true,
		})
		return
	}
	res := eval.TrialResult{
		Schema: 1, TrialID: id, Outcome: c.outcome, Reason: "why\nnot", Artifacts: map[string]eval.Ref{}, StartedAt: at,
		Limits: eval.Limits{WallSeconds: 60}, Exec: eval.ExecFacts{Runtime: "runsc"},
		Phases: []eval.Phase{{Name: eval.PhaseTests, StartedAt: at.Add(time.Second), Seconds: 1.5}},
	}
	save := func(name string, data []byte) {
		ref, err := artifacts.PutBytes(t.Context(), store, try+name, data, artifacts.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		res.Artifacts[name] = ref
	}
	if patch != nil && *patch != "" && c.outcome != eval.PatchRejected {
		save(eval.FilePatch, []byte(*patch))
		save(eval.FileApplyLog, []byte(c.apply))
		enc, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		save(eval.FileLog, enc.EncodeAll([]byte(c.log), nil))
	}
	verdict := eval.Verdict{Recipe: p.Recipe.Name, Rules: p.Rules.Name, Outcome: c.outcome}
	switch c.outcome {
	case eval.Resolved, eval.Unresolved, eval.NoTestsRan:
		graded, err := p.Grade(grade.Input{Task: task, PatchGiven: true, Applied: true, Log: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(c.log)), nil }})
		if err != nil {
			t.Fatal(err)
		}
		verdict, res.Outcome = graded.Verdict, graded.Verdict.Outcome
	}
	res.Verdicts = []eval.Verdict{verdict}
	put(t, store, eval.ResultKey(id), res)
}

func put(t *testing.T, store artifacts.Store, key string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := artifacts.PutBytes(t.Context(), store, key, data, artifacts.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}
