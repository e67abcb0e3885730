//go:build oracle

package export

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"harness/artifacts"
	"harness/eval"
	"harness/internal/checkout"
	"harness/internal/runs/official"
	"harness/internal/runs/runstest"
	"harness/scoring/grade"
)

// realLogs is how many logs a run is made of; each parser gives at most perParser.
const (
	realLogs  = 60
	perParser = 6
	maxLog    = 400 << 10
)

// logged is a task and what its tests printed.
type logged struct {
	task eval.Task
	log  []byte
}

// TestExport has the official releases grade and count what we write. run.sh sets
// the environment it needs.
func TestExport(t *testing.T) {
	venv := os.Getenv("HARNESS_ORACLE")
	if venv == "" {
		t.Fatal("HARNESS_ORACLE does not name the folder that venv.sh filled; start this test with internal/oracle/export/run.sh")
	}
	cases := realCases(t)
	for release, profile := range map[string]string{"5.0.2": "swebench", "4.1.0": "swebench-4"} {
		t.Run(release, func(t *testing.T) {
			p, err := grade.ByName(profile)
			if err != nil {
				t.Fatal(err)
			}
			store := runstest.Store(t)
			spec := storeRun(t, store, p, cases[1:], cases[0].task.InstanceID)
			dir, out := t.TempDir(), t.TempDir()
			trees, err := official.Write(t.Context(), store, spec, dir, official.Options{})
			if err != nil {
				t.Fatal(err)
			}
			dataset := filepath.Join(out, "..", "rows.jsonl")
			writeRows(t, dataset, cases)
			cmd := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), "read.py", venv, release, dir, spec.RunID, dataset, out)
			if msg, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, msg)
			}
			compare(t, dir, out, trees[0], cases)
		})
	}
}

// compare wants the same bytes: each report.json that either side has, and the
// run report.
func compare(t *testing.T, dir, out string, tree official.Tree, cases []logged) {
	t.Helper()
	graded := 0
	for _, c := range cases {
		id := c.task.InstanceID
		ours, ourErr := os.ReadFile(filepath.Join(dir, tree.Logs, id, "report.json"))
		theirs, theirErr := os.ReadFile(filepath.Join(out, id+".json"))
		switch {
		case (ourErr == nil) != (theirErr == nil):
			t.Errorf("%s: ours %v, theirs %v", id, ourErr, theirErr)
		case string(ours) != string(theirs):
			t.Errorf("%s: report.json is\n%.2000s\nthe official one\n%.2000s", id, ours, theirs)
		case ourErr == nil:
			graded++
		}
	}
	ours, err := os.ReadFile(filepath.Join(dir, tree.Report))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile(filepath.Join(out, filepath.Base(tree.Report)))
	if err != nil {
		t.Fatal(err)
	}
	if string(ours) != string(theirs) {
		t.Errorf("the run report is\n%s\nthe official one\n%s", ours, theirs)
	}
	t.Logf("%d reports of instances and the run report (%d bytes) are equal", graded, len(ours))
	if graded < realLogs/2 {
		t.Errorf("only %d reports were compared", graded)
	}
}

// storeRun stores a run: each real log as the result of a trial, one trial for
// each way of ending without a report, and a task that has no prediction.
func storeRun(t *testing.T, store artifacts.Store, p grade.Profile, cases []logged, missing string) eval.RunSpec {
	t.Helper()
	var tasks []eval.Task
	for i := range cases {
		tasks = append(tasks, cases[i].task)
	}
	req := runstest.Request(t, "exported", tasks)
	req.Spec.Profile, req.Spec.Recipe = p.Name, p.Recipe
	req.Spec.Candidate, req.Spec.Agent, req.Spec.Model = eval.CandidatePredictions, "vendor/modèle", "vendor/modèle"
	ends := map[string]eval.Outcome{}
	for i, o := range []eval.Outcome{eval.PatchNotApplied, eval.TimedOut, eval.EmptyPatch, eval.EmptyPatch, eval.Cancelled, eval.InfraError} {
		ends[tasks[i].InstanceID] = o
	}
	empty := ""
	req.Spec.Coverage = eval.Coverage{Tasks: len(tasks) + 1, Missing: []string{missing}, Null: []string{tasks[2].InstanceID}}
	req.Patch = func(t *eval.Task) *string {
		switch {
		case t.InstanceID == tasks[2].InstanceID:
			return nil
		case ends[t.InstanceID] == eval.EmptyPatch:
			return &empty
		}
		return &t.Patch
	}
	spec := runstest.Plan(t, store, req).Spec
	for i := range cases {
		storeTrial(t, store, p, &cases[i], ends[tasks[i].InstanceID])
	}
	return spec
}

func storeTrial(t *testing.T, store artifacts.Store, p grade.Profile, c *logged, end eval.Outcome) {
	t.Helper()
	id := eval.TrialID{RunID: "exported", InstanceID: c.task.InstanceID, Attempt: 1, Round: 1}
	try := eval.TryPrefix(id, 1, "00000001")
	if end == eval.Cancelled {
		return
	}
	if end == eval.InfraError {
		put(t, store, try+eval.FileError, eval.TryError{Schema: 1, TrialID: id, Try: 1, Outcome: end, Class: "ImagePull", Message: "Could not resolve host: registry", Final: true})
		return
	}
	res := eval.TrialResult{Schema: 1, TrialID: id, Outcome: end, Artifacts: map[string]eval.Ref{}, StartedAt: time.Unix(1.7e9, 0)}
	log := c.log
	switch end {
	case eval.EmptyPatch:
		put(t, store, eval.ResultKey(id), res)
		return
	case eval.TimedOut:
		log = append(log[:len(log)/2:len(log)/2], "\n\nTimeout error: 60 seconds exceeded."...)
	case eval.PatchNotApplied:
		log = nil
	default:
		graded, err := p.Grade(grade.Input{
			Task: &c.task, PatchGiven: true, Applied: true,
			Log: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(string(log))), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		res.Outcome, res.Verdicts = graded.Verdict.Outcome, []eval.Verdict{graded.Verdict}
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := artifacts.PutBytes(t.Context(), store, try+eval.FileLog, enc.EncodeAll(log, nil), artifacts.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	res.Artifacts[eval.FileLog] = ref
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

// writeRows writes the tasks as rows of the official dataset.
func writeRows(t *testing.T, file string, cases []logged) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	enc := json.NewEncoder(f)
	for i := range cases {
		if err := enc.Encode(&cases[i].task); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// realCases reads real logs, of many parsers, an instance only once.
func realCases(t *testing.T) []logged {
	t.Helper()
	file, err := os.Open(checkout.SharedData(t, "logs", "cases.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := zstd.NewReader(file, zstd.WithDecoderMaxWindow(1<<27), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var out []logged
	seen, parsers := map[string]bool{}, map[string]int{}
	var task eval.Task
	for tr := tar.NewReader(z); len(out) < realLogs; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch path.Base(h.Name) {
		case "instance.json":
			task = eval.Task{}
			if err := json.NewDecoder(tr).Decode(&task); err != nil {
				t.Fatalf("%s: %v", h.Name, err)
			}
		case "test_output.txt":
			if task.LogParser == "" || seen[task.InstanceID] || parsers[task.LogParser] == perParser || h.Size > maxLog {
				continue
			}
			log, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(string(log), "seconds exceeded.") {
				continue // stopped, so there is nothing to grade
			}
			seen[task.InstanceID] = true
			parsers[task.LogParser]++
			task.BaseCommit = strings.Repeat("a", 40)
			task.Image, task.EvalScript = runstest.Image, "#!/bin/bash\ntrue\n"
			task.Patch = fmt.Sprintf("diff --git a/%s b/é\n", task.InstanceID)
			out = append(out, logged{task, log})
		}
	}
	return out
}
