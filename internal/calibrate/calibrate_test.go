package calibrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/activities"
	"harness/artifacts"
	"harness/artifacts/dir"
	"harness/datasets"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/runs"
	"harness/internal/runs/runstest"
	"harness/internal/session"
	"harness/reports"
	"harness/scoring/calibration"
)

// place is a home, a dataset in it, and what a command prints.
type place struct {
	t        *testing.T
	home     string
	dataset  string
	out, err bytes.Buffer
}

// newPlace has three tasks: task-0000 as it should be, task-0001 with a flaky
// test under runsc, task-0002 without a gold patch.
func newPlace(t *testing.T) *place {
	p := &place{t: t, home: t.TempDir()}
	p.dataset = filepath.Join(t.TempDir(), "three.parquet")
	tasks := runstest.Tasks(3)
	tasks[2].Patch = ""
	if err := datasets.WriteFile(t.Context(), p.dataset, &datasets.Dataset{Name: "three", Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) app() *cli.App {
	p.out.Reset()
	p.err.Reset()
	return &cli.App{Out: &p.out, Err: &p.err, Getenv: func(string) string { return "" }, Now: time.Now}
}

func (p *place) options() Options {
	return Options{
		Session: session.Config{Home: p.home}, Dataset: p.dataset, Repeats: 2, Runtimes: []string{"runsc", "runc"},
		Profile: "swebench", Limits: eval.DefaultLimits(), MaxTries: 3,
	}
}

func (p *place) store() *dir.Store {
	p.t.Helper()
	s, err := dir.Open(filepath.Join(p.home, "artifacts"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = s.Close() })
	return s
}

// execute stores the runs of a calibration as if they had been carried out. What
// lost says is not there.
func (p *place) execute(o Options, lost func(eval.RunSpec, eval.ShardEntry) bool) {
	p.t.Helper()
	ctx, store := p.t.Context(), p.store()
	j, err := prepare(ctx, p.app(), o)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range j.runs {
		planned, err := runs.Plan(ctx, store, c.req)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, ref := range planned.Spec.Shards {
			shard, err := activities.LoadShard(ctx, store, ref)
			if err != nil {
				p.t.Fatal(err)
			}
			for _, e := range shard.Entries {
				if lost == nil || !lost(planned.Spec, e) {
					p.put(ctx, store, planned.Spec, e)
				}
			}
		}
	}
}

func (p *place) put(ctx context.Context, store artifacts.Store, spec eval.RunSpec, e eval.ShardEntry) {
	p.t.Helper()
	passes := spec.Candidate == eval.CandidateGold
	if spec.Runtime == "runsc" && e.InstanceID == "task-0001" && e.Attempt == 2 {
		passes = !passes
	}
	r := eval.TrialResult{
		Schema: 1, TrialID: eval.TrialID{RunID: spec.RunID, InstanceID: e.InstanceID, Attempt: e.Attempt, Round: 1},
		Repo: "some/repo", Outcome: eval.Unresolved, Limits: spec.Limits, Tries: 1,
		Tests: []eval.TestResult{
			{Name: "test_f.py::test_fixed", Group: eval.GroupF2P, Status: "FAILED"},
			{Name: "test_f.py::test_kept", Group: eval.GroupP2P, Status: "PASSED"},
		},
		Exec: eval.ExecFacts{Runtime: spec.Runtime, RuntimeVersion: spec.Runtime + "-1", ImageDigest: "sha256:abc"},
	}
	if passes {
		r.Outcome, r.Tests[0].Status = eval.Resolved, "PASSED"
	}
	data, err := json.Marshal(r)
	if err == nil {
		_, err = artifacts.PutBytes(ctx, store, eval.ResultKey(r.TrialID), data, artifacts.PutOptions{CreateOnly: true})
	}
	if err != nil && !errors.Is(err, artifacts.ErrExists) {
		p.t.Fatal(err)
	}
}

// TestRun makes the table from runs that are finished: nothing is started.
func TestRun(t *testing.T) {
	p := newPlace(t)
	p.execute(p.options(), nil)
	if err := Run(t.Context(), p.app(), p.options()); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"all 4 runs of this calibration are finished", "1 task without a gold patch or solution: task-0002"} {
		if !strings.Contains(p.err.String(), part) {
			t.Errorf("%q is not in the notes:\n%s", part, p.err.String())
		}
	}
	beside := strings.TrimSuffix(p.dataset, ".parquet") + ".calibration.parquet"
	for _, part := range []string{
		"calibration of three, 3 tasks, profile swebench", "\nrunsc    3 of 4         1 of 4              1           1    1        4      1\n",
		"\nrunc     4 of 4         0 of 4              2           0    1        4      0\n",
		"task-0001  runsc    gold_unsteady, noop_unsteady  resolved 1, unresolved 1  resolved 1, unresolved 1",
		"task-0002  runc     no_gold_patch", "test_f.py::test_fixed  F2P    flaky", beside,
		"tasks that end otherwise under another runtime: 0\n", "tests that behave otherwise under another runtime: 0\n",
	} {
		if !strings.Contains(p.out.String(), part) {
			t.Errorf("%q is not in:\n%s", part, p.out.String())
		}
	}

	var got []calibration.Task
	facts, err := reports.EachCalibrated(t.Context(), beside, func(task calibration.Task) error {
		got = append(got, task)
		return nil
	})
	if err != nil || facts.Dataset != "three" || facts.Profile != "swebench" || len(got) != 6 {
		t.Fatalf("%d tasks of %+v, %v", len(got), facts, err)
	}
	var order []string
	for _, task := range got {
		order = append(order, task.InstanceID+" "+task.Runtime)
	}
	want := []string{"task-0000 runsc", "task-0000 runc", "task-0001 runsc", "task-0001 runc", "task-0002 runsc", "task-0002 runc"}
	if !slices.Equal(order, want) {
		t.Errorf("order %q", order)
	}
	if f := got[2].Tests[0]; f.Gold.Flake == nil || f.Gold.Flake.Rate != 0.5 || !reflect.DeepEqual(f.Reasons, []string{calibration.Flaky}) {
		t.Errorf("the flaky test: %+v", f)
	}
	if got[0].RuntimeVersion != "runsc-1" || got[1].ImageDigest != "sha256:abc" || got[1].GoldRun == got[0].GoldRun {
		t.Errorf("where it was seen: %+v", got[:2])
	}

	o := p.options()
	o.JSON = true
	if err := Run(t.Context(), p.app(), o); err != nil {
		t.Fatal(err)
	}
	var sum Summary
	if err := json.Unmarshal(p.out.Bytes(), &sum); err != nil {
		t.Fatal(err)
	}
	if sum.File != beside || sum.Tasks != 3 || len(sum.Runtimes) != 2 || sum.Runtimes[0].Calibrated != 1 || len(sum.NotOK) != 3 || len(sum.Quarantined) != 1 {
		t.Errorf("as JSON: %+v", sum)
	}
}

// A repeat that is missing, or ended in a fault of ours, is no failure.
func TestRunWithFaults(t *testing.T) {
	p := newPlace(t)
	lost := func(s eval.RunSpec, e eval.ShardEntry) bool {
		return s.Runtime == "runc" && e.InstanceID == "task-0000" && (s.Candidate == eval.CandidateNoop || e.Attempt == 1)
	}
	p.execute(p.options(), lost)
	j, err := prepare(t.Context(), p.app(), p.options())
	if err != nil {
		t.Fatal(err)
	}
	store := p.store()
	if done, err := j.finished(t.Context(), store); err != nil || done {
		t.Errorf("finished: %v, %v", done, err)
	}
	for i := range j.runs {
		if j.runs[i].planned, err = runs.Load(t.Context(), store, j.runs[i].req.Spec.RunID); err != nil {
			t.Fatal(err)
		}
	}
	var exit *cli.ExitError
	if err := j.conclude(t.Context(), store); !errors.As(err, &exit) || exit.Code != cli.ExitMissing || !strings.Contains(exit.Msg, "1 judgement could not be measured") {
		t.Errorf("got %v", err)
	}
	for _, part := range []string{"runc     3 of 3 (4 planned)  0 of 2 (4 planned)", "task-0000  runc     noop_unknown"} {
		if !strings.Contains(p.out.String(), part) {
			t.Errorf("%q is not in:\n%s", part, p.out.String())
		}
	}
	// What was missing is done by now.
	p.execute(p.options(), nil)
	if err := Run(t.Context(), p.app(), p.options()); err != nil {
		t.Error(err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	p := newPlace(t)
	for _, c := range []struct {
		change func(*Options)
		says   string
	}{
		{func(o *Options) { o.Dataset = "" }, "no dataset"},
		{func(o *Options) { o.Dataset = filepath.Join(p.home, "absent.jsonl") }, "does not exist"},
		{func(o *Options) { o.Repeats = 0 }, "-n 0"},
		{func(o *Options) { o.NoopRepeats = -1 }, "--noop-runs -1"},
		{func(o *Options) { o.Runtimes = nil }, "no runtime"},
		{func(o *Options) { o.Runtimes = []string{"runsc", "runsc"} }, "names runsc twice"},
		{func(o *Options) { o.Runtimes = []string{"docker"} }, `runtime "docker" is not known`},
		{func(o *Options) { o.Profile = "none" }, `grading profile "none" is not known`},
		{func(o *Options) { o.IDs = []string{"task-0000"} }, "say with -o"},
		{func(o *Options) { o.IDs, o.Out = []string{"task-0002"}, "x.parquet" }, "no selected task"},
		{func(o *Options) { o.IDs, o.Out = []string{"task-9"}, "x.parquet" }, "has no task"},
		{func(o *Options) { o.Out = p.home }, "it is not a file"},
		{func(o *Options) { o.Window = -1 }, "-j -1"},
		{func(o *Options) { o.Profile = "harbor" }, "harbor"},
	} {
		t.Chdir(t.TempDir())
		o := p.options()
		c.change(&o)
		_, err := prepare(t.Context(), p.app(), o)
		var usage *cli.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: got %v", c.says, err)
		}
	}
	if left, err := os.ReadDir(p.home); err != nil || len(left) > 0 {
		t.Errorf("something was stored: %v, %v", left, err)
	}
}

// The runs of a calibration are the same ones whenever, whichever build plans them.
func TestRunIDs(t *testing.T) {
	p := newPlace(t)
	ids := func(change func(*Options)) []string {
		o := p.options()
		if change != nil {
			change(&o)
		}
		j, err := prepare(t.Context(), p.app(), o)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range j.runs {
			if err := eval.ValidateRunID(c.req.Spec.RunID); err != nil {
				t.Error(err)
			}
			out = append(out, c.req.Spec.RunID)
		}
		return out
	}
	base := ids(nil)
	if len(base) != 4 || !strings.HasPrefix(base[0], "calibrate-runsc-gold-") || !strings.HasPrefix(base[3], "calibrate-runc-noop-") {
		t.Errorf("runs %q", base)
	}
	if !slices.Equal(base, ids(nil)) {
		t.Error("the same calibration has other runs the next time")
	}
	if got := ids(func(o *Options) { o.Runtimes = []string{"runc"} }); !slices.Equal(got, base[2:]) {
		t.Errorf("runs of a runtime depend on the other one: %q", got)
	}
	if got := ids(func(o *Options) { o.NoopRepeats = 1 }); got[0] != base[0] || got[1] == base[1] {
		t.Errorf("with one unpatched repeat: %q", got)
	}
	for name, change := range map[string]func(*Options){
		"limits":    func(o *Options) { o.Limits.CPUs = 2 },
		"profile":   func(o *Options) { o.Profile = "swebench-2" },
		"selection": func(o *Options) { o.IDs, o.Out = []string{"task-0001"}, filepath.Join(t.TempDir(), "x.parquet") },
		"runtime":   func(o *Options) { o.Runtimes = []string{"io.containerd." + strings.Repeat("x", 200) + ".v2"} },
	} {
		if got := ids(change); slices.Contains(base, got[0]) {
			t.Errorf("another %s, and the same run", name)
		}
	}
}
