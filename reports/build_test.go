package reports

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"harness/artifacts"
	"harness/eval"
)

func everyOutcome(run string) []eval.TrialResult {
	var out []eval.TrialResult
	for i, o := range eval.Outcomes() {
		out = append(out, trial(run, fmt.Sprintf("task-%02d", i), o))
	}
	return out
}

func TestBuildWritesAllFilesReportLast(t *testing.T) {
	store := newMemStore()
	trials := everyOutcome("r1")
	s := mustBuild(t, store, testSpec("r1", len(trials)), each(trials...))
	if len(store.order) != 8 || store.order[7] != eval.ReportKey("r1", FileReport) {
		t.Fatalf("published %v: report.json must come last of 8", store.order)
	}
	for _, name := range tableFiles {
		if err := Verify(store.file(t, "r1", name)); err != nil {
			t.Error(err)
		}
	}
	if len(s.Harness.Files) != 7 {
		t.Errorf("report names %d files, want 7", len(s.Harness.Files))
	}
	for _, f := range s.Harness.Files {
		info, err := store.Stat(t.Context(), f.Key)
		if err != nil || info.SHA256 != f.SHA256 || info.Size != f.Size {
			t.Errorf("file %+v is stored as %+v, %v", f, info, err)
		}
	}
	rows := readRows(t, store.file(t, "r1", FileTrials))
	if len(rows) != len(trials) {
		t.Fatalf("%d trials, want %d", len(rows), len(trials))
	}
	want := map[string]string{
		"run_id": "r1", "dataset": "verified", "instance_id": "task-00", "repo": "owner/name", "language": "python", "difficulty": "<15 min fix",
		"agent": "predictions", "model": "vendor/model", "attempt": "1", "round": "1", "outcome": "resolved", "resolved": "true", "reward": "1",
		"profile": "swebench", "calibrated": "true", "f2p_passed": "1", "f2p_total": "1", "p2p_passed": "0", "p2p_total": "1",
		"score_functional": "0.5", "score_resource": "0.9", "score_security": "1", "score_maintainability": "0.7", "score_performance": "0.1",
		"tamper_flags": "[]", "limits_hit": "[]", "tries": "1", "network_policy": "none", "apply_method": "git-apply", "wall_s": "12.5", "cpu_s": "10",
		"queue_s": "1", "peak_memory_bytes": "1048576", "disk_bytes": "4096", "io_read_bytes": "1", "io_write_bytes": "2", "net_bytes": "0", "throttled_s": "0.25",
		"limit_cpu": "1", "limit_memory_bytes": "4294967296", "limit_wall_s": "1800", "tokens_in": "1000", "tokens_out": "50", "cost_usd": "0.25",
		"patch_sha256": strings.Repeat("a", 64), "patch_bytes": "120", "files_changed": "1", "lines_added": "3", "lines_removed": "0", "runtime": "runsc",
		"runtime_version": "1.0", "image_digest": "sha256:abc", "worker": "w1", "started_at": "2026-03-01T12:00:00.123456Z", "ended_at": "2026-03-01T12:01:30.123456Z",
		"cached": "false", "log_ref": "runs/r/log",
	}
	compareRow(t, rows[0], want)
	compareRow(t, rows[len(rows)-1], map[string]string{ // cancelled: nothing is known, and nothing is zero
		"run_id": "r1", "dataset": "verified", "instance_id": "task-13", "repo": "owner/name", "language": "python", "difficulty": "<15 min fix",
		"agent": "predictions", "model": "vendor/model", "attempt": "1", "round": "1", "outcome": "cancelled", "profile": "swebench", "tries": "1", "network_policy": "none",
		"limit_cpu": "1", "limit_memory_bytes": "4294967296", "limit_wall_s": "1800",
		"started_at": "2026-03-01T12:00:00.123456Z", "ended_at": "2026-03-01T12:01:30.123456Z", "cached": "false",
	})
	compareRow(t, readRows(t, store.file(t, "r1", FileTests))[1], map[string]string{
		"run_id": "r1", "instance_id": "task-00", "attempt": "1", "round": "1", "test": "tests/test_a.py::test_two[é]", "group": "P2P", "status": "MISSING",
	})
	compareRow(t, readRows(t, store.file(t, "r1", FileEvents))[0], map[string]string{
		"run_id": "r1", "instance_id": "task-00", "attempt": "1", "round": "1", "time": "2026-03-01T12:00:00.123456Z", "source": "host", "kind": "oom",
		"severity": "high", "detail": "none", "dropped": "0",
	})
	compareRow(t, readRows(t, store.file(t, "r1", FileRuns))[0], map[string]string{
		"run_id": "r1", "dataset": "verified", "dataset_digest": strings.Repeat("d", 64), "split": "test", "agent": "predictions", "model": "vendor/model",
		"profile": "swebench", "spec_digest": s.Harness.Run.SpecDigest, "harness_version": "0.1.0", "started_at": "2026-03-01T12:00:00.123456Z",
		"ended_at": "2026-03-01T12:10:00.123456Z", "tasks": "14", "resolved": "1", "unresolved": "1", "tests_errored": "1", "no_tests_ran": "1", "empty_patch": "1",
		"patch_rejected": "1", "patch_not_applied": "1", "timed_out": "1", "out_of_memory": "1", "out_of_disk": "1", "limit_exceeded": "1", "sandbox_died": "1",
		"infra_error": "1", "cancelled": "1",
	})
}

func compareRow(t *testing.T, got, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			t.Errorf("%s = %q (present: %v), want %q", k, g, ok, v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s = %q, want null", k, v)
		}
	}
}

func TestRowOrderDoesNotDependOnInputOrder(t *testing.T) {
	at := func(id string, attempt, round int) eval.TrialResult {
		r := trial("r1", id, eval.Unresolved)
		r.Attempt, r.Round = attempt, round
		return r
	}
	sorted := []eval.TrialResult{at("a", 1, 1), at("a", 1, 2), at("a", 2, 1), at("a", 10, 1), at("a-b", 1, 1), at("a.b", 1, 1), at("b", 1, 1)}
	shuffled := slices.Clone(sorted)
	slices.Reverse(shuffled)
	var got []string
	store := newMemStore()
	mustBuild(t, store, testSpec("r1", 4), each(shuffled...))
	for _, r := range readRows(t, store.file(t, "r1", FileTrials)) {
		got = append(got, r["instance_id"]+"/"+r["attempt"]+"/"+r["round"])
	}
	if want := []string{"a/1/1", "a/1/2", "a/2/1", "a/10/1", "a-b/1/1", "a.b/1/1", "b/1/1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	again := newMemStore()
	mustBuild(t, again, testSpec("r1", 4), each(sorted...))
	for _, name := range tableFiles {
		if string(store.objects[eval.ReportKey("r1", name)]) != string(again.objects[eval.ReportKey("r1", name)]) {
			t.Errorf("%s depends on the order of the input", name)
		}
	}
}

func TestZeroTrials(t *testing.T) {
	store := newMemStore()
	spec := testSpec("r0", 3)
	spec.Coverage.Missing = []string{"a", "b", "c"}
	s := mustBuild(t, store, spec, each())
	if s.Harness.Rates.All.Rate != nil || s.Harness.Rates.All.Of != 0 || len(s.IncompleteIDs) != 3 || s.TotalInstances != 3 || s.SubmittedInstances != 0 {
		t.Errorf("got %+v", s)
	}
	for _, name := range tableFiles {
		if err := Verify(store.file(t, "r0", name)); err != nil {
			t.Error(err)
		}
		want := 0
		if name == FileRuns {
			want = 1
		}
		if n := len(readRows(t, store.file(t, "r0", name))); n != want {
			t.Errorf("%s has %d rows, want %d", name, n, want)
		}
	}
	var b strings.Builder
	if err := RenderTable(&b, s, 80); err != nil || strings.Contains(b.String(), "NaN") {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestBadTrialsAreRefusedByName(t *testing.T) {
	other := trial("r2", "x", eval.Resolved)
	unfinished := trial("r1", "x", eval.Resolved)
	unfinished.Outcome = eval.OutcomeInvalid
	zeroth := trial("r1", "x", eval.Resolved)
	zeroth.Round = 0
	graded := trial("r1", "x", eval.Resolved)
	graded.Verdicts[0].Outcome = eval.OutcomeInvalid
	twin := trial("r1", "x", eval.Unresolved)
	for _, c := range []struct {
		name   string
		trials []eval.TrialResult
		want   string
	}{
		{"twice", []eval.TrialResult{trial("r1", "x", eval.Resolved), trial("r1", "a", eval.Resolved), twin}, "x attempt 1 round 1 is given twice"},
		{"other run", []eval.TrialResult{other}, `belongs to run "r2"`},
		{"no outcome", []eval.TrialResult{unfinished}, "x attempt 1 round 1 has no outcome"},
		{"round 0", []eval.TrialResult{zeroth}, "count from 1"},
		{"verdict without outcome", []eval.TrialResult{graded}, "the verdict of rules"},
		{"bad id", []eval.TrialResult{trial("r1", "../x", eval.Resolved)}, "is refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newMemStore()
			_, err := Build(t.Context(), store, testSpec("r1", 1), each(c.trials...), Options{TempDir: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if len(store.objects) != 0 {
				t.Errorf("a refused build published %v", store.order)
			}
		})
	}
}

func TestFailureLeavesTheFormerReport(t *testing.T) {
	store := newMemStore()
	spec := testSpec("r1", 1)
	mustBuild(t, store, spec, each(trial("r1", "x", eval.Unresolved)))
	former := string(store.objects[eval.ReportKey("r1", FileReport)])

	boom := errors.New("boom")
	broken := func(yield func(eval.TrialResult, error) bool) {
		_ = yield(trial("r1", "x", eval.Resolved), nil) && yield(eval.TrialResult{}, boom)
	}
	temp := t.TempDir()
	if _, err := Build(t.Context(), store, spec, broken, Options{TempDir: temp}); !errors.Is(err, boom) {
		t.Errorf("got %v, want the error of the input", err)
	}
	store.fail = func(key string) error {
		if strings.HasSuffix(key, FileSummary) {
			return boom
		}
		return nil
	}
	if _, err := Build(t.Context(), store, spec, each(trial("r1", "x", eval.Resolved)), Options{TempDir: temp}); !errors.Is(err, boom) {
		t.Errorf("got %v, want the error of the store", err)
	}
	if string(store.objects[eval.ReportKey("r1", FileReport)]) != former {
		t.Error("the former report.json is gone")
	}
	if s, err := ReadSummary(t.Context(), store, "r1"); err != nil || s.UnresolvedInstances != 1 {
		t.Errorf("former report reads %+v, %v", s, err)
	}
	if _, err := ReadSummary(t.Context(), store, "other"); !errors.Is(err, artifacts.ErrNotFound) {
		t.Errorf("got %v, want not found", err)
	}
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOtherTestsAreSortedByName(t *testing.T) {
	r := trial("r1", "x", eval.Resolved)
	r.Tests = []eval.TestResult{{Name: "z", Group: eval.GroupOther}, {Name: "q", Group: eval.GroupF2P}, {Name: "b", Group: eval.GroupOther}, {Name: "a", Group: eval.GroupP2P}}
	store := newMemStore()
	mustBuild(t, store, testSpec("r1", 1), each(r))
	var got []string
	for _, row := range readRows(t, store.file(t, "r1", FileTests)) {
		got = append(got, row["test"])
	}
	if want := []string{"q", "a", "b", "z"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A reward that the task's own tests gave stands as it is; nothing else of a
// number does.
func TestReward(t *testing.T) {
	trials := []eval.TrialResult{trial("r1", "a", eval.Unresolved), trial("r1", "b", eval.Unresolved), trial("r1", "c", eval.Resolved)}
	trials[0].Verdicts[0].Reward = some(0.25)
	trials[1].Verdicts[0].Reward = some(math.NaN())
	store := newMemStore()
	mustBuild(t, store, testSpec("r1", len(trials)), each(trials...))
	for i, row := range readRows(t, store.file(t, "r1", FileTrials)) {
		if want := []string{"0.25", "0", "1"}[i]; row["reward"] != want {
			t.Errorf("reward of %s is %v, want %s", row["instance_id"], row["reward"], want)
		}
	}
}
