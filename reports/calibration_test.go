package reports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"harness/eval"
	"harness/scoring/calibration"
)

var calibrationFacts = CalibrationFacts{Dataset: "verified", DatasetDigest: strings.Repeat("d", 64), Profile: "swebench", HarnessVersion: "0.1.0"}

// calibratedTasks are three tasks under two runtimes: one as it should be, one
// with a flaky test, one without a gold patch.
func calibratedTasks() []calibration.Task {
	flake := &calibration.Flake{Rate: 1.0 / 3, Low: 0.25, High: 0.75}
	steady := &calibration.Flake{High: 0.5614970}
	var out []calibration.Task
	for _, id := range []string{"task-00", "task-01"} {
		for _, runtime := range []string{"runsc", "runc"} {
			t := calibration.Task{
				InstanceID: id, Digest: "digest of " + id, Runtime: runtime, RuntimeVersion: runtime + " 1.0", ImageDigest: "sha256:abc",
				GoldRun: "gold-" + runtime, NoopRun: "noop-" + runtime,
				Limits:     eval.Limits{CPUs: 1, MemoryBytes: 4 * eval.GiB, WallSeconds: 1800},
				Gold:       calibration.Repeats{Planned: 3, Measured: 3, Good: 3, Seen: []string{"resolved", "resolved", "resolved"}, Flake: steady},
				Noop:       calibration.Repeats{Planned: 1, Measured: 1, Seen: []string{"unresolved"}},
				Calibrated: some(true), Differs: some(false),
				Tests: []calibration.Test{{
					Name: "tests/test_a.py::test_one", Group: eval.GroupF2P,
					Gold:    calibration.Repeats{Planned: 3, Measured: 3, Good: 3, Seen: []string{"PASSED", "PASSED", "PASSED"}, Flake: steady},
					Noop:    calibration.Repeats{Planned: 1, Measured: 1, Seen: []string{"FAILED"}},
					Differs: some(false), FailsOnGold: some(false), PassesOnNoop: some(false), Quarantined: some(false),
				}, {
					Name: "tests/test_a.py::test_two[é]", Group: eval.GroupP2P,
					Gold: calibration.Repeats{Planned: 3, Seen: []string{"UNKNOWN", "UNKNOWN", "UNKNOWN"}}, Noop: calibration.Repeats{Planned: 1, Seen: []string{"UNKNOWN"}},
				}},
			}
			if id == "task-01" && runtime == "runsc" {
				t.Calibrated, t.Reasons = some(false), []string{calibration.GoldUnsteady}
				t.Tests[0].Gold = calibration.Repeats{Planned: 3, Measured: 3, Good: 2, Seen: []string{"PASSED", "FAILED", "PASSED"}, Flake: flake}
				t.Tests[0].Quarantined, t.Tests[0].Reasons = some(true), []string{calibration.Flaky, calibration.Differs}
			}
			out = append(out, t)
		}
	}
	return append(out, calibration.NotMeasured(&eval.Task{InstanceID: "task-02"}, "digest of task-02", "runsc", calibration.NoGoldPatch))
}

func eachTask(tasks []calibration.Task, last error) iter.Seq2[calibration.Task, error] {
	return func(yield func(calibration.Task, error) bool) {
		for _, t := range tasks {
			if !yield(t, nil) {
				return
			}
		}
		if last != nil {
			yield(calibration.Task{}, last)
		}
	}
}

func writeCalibrated(t *testing.T, tasks []calibration.Task) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calibration.parquet")
	if _, err := WriteCalibration(t.Context(), path, calibrationFacts, eachTask(tasks, nil)); err != nil {
		t.Fatal(err)
	}
	return path
}

func readCalibrated(t *testing.T, path, runtime string) (*Calibration, error) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return ReadCalibration(t.Context(), bytes.NewReader(data), "cal", t.TempDir(), runtime)
}

func TestCalibrationRoundTrip(t *testing.T) {
	want := calibratedTasks()
	path := writeCalibrated(t, want)
	var got []calibration.Task
	facts, err := EachCalibrated(t.Context(), path, func(task calibration.Task) error {
		got = append(got, task)
		return nil
	})
	if err != nil || facts != calibrationFacts {
		t.Fatalf("facts %+v, %v", facts, err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d tasks come back, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("task %d comes back as\n%+v, want\n%+v", i, got[i], want[i])
		}
	}
	again := writeCalibrated(t, want)
	a, errA := os.ReadFile(path)
	b, errB := os.ReadFile(again)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Error("the same judgements are stored as other bytes")
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the file there is %v, %v", left, err)
	}
}

func TestCalibrationRows(t *testing.T) {
	rows := readRows(t, writeCalibrated(t, calibratedTasks()))
	row := func(more map[string]string) map[string]string {
		out := map[string]string{
			"dataset": "verified", "dataset_digest": strings.Repeat("d", 64), "instance_id": "task-01", "task_digest": "digest of task-01",
			"profile": "swebench", "runtime": "runsc", "runtime_version": "runsc 1.0", "image_digest": "sha256:abc", "harness_version": "0.1.0",
			"gold_planned": "3", "gold_measured": "3", "noop_planned": "1", "noop_measured": "1", "noop_good": "0",
			"fails_on_gold": "false", "passes_on_noop": "false", "differs_between_runtimes": "false",
		}
		maps.Copy(out, more)
		return out
	}
	compareRow(t, rows[6], row(map[string]string{
		"level": "task", "gold_good": "3", "gold_seen": `["resolved","resolved","resolved"]`, "noop_seen": `["unresolved"]`,
		"gold_flake_rate": "0", "gold_flake_low": "0", "gold_flake_high": "0.561497",
		"calibrated": "false", "reasons": `["gold_unsteady"]`, "limit_cpu": "1", "limit_memory_bytes": "4294967296", "limit_wall_s": "1800",
		"gold_run_id": "gold-runsc", "noop_run_id": "noop-runsc",
	}))
	compareRow(t, rows[7], row(map[string]string{
		"level": "test", "test": "tests/test_a.py::test_one", "group": "F2P",
		"gold_good": "2", "gold_seen": `["PASSED","FAILED","PASSED"]`, "noop_seen": `["FAILED"]`,
		"gold_flake_rate": "0.3333333333333333", "gold_flake_low": "0.25", "gold_flake_high": "0.75",
		"quarantined": "true", "reasons": `["flaky","differs_between_runtimes"]`,
	}))
	compareRow(t, rows[len(rows)-1], map[string]string{ // a task without gold patch: nothing is known, and nothing is false
		"level": "task", "dataset": "verified", "dataset_digest": strings.Repeat("d", 64), "instance_id": "task-02", "task_digest": "digest of task-02",
		"profile": "swebench", "runtime": "runsc", "harness_version": "0.1.0", "reasons": `["no_gold_patch"]`,
		"gold_planned": "0", "gold_measured": "0", "gold_good": "0", "gold_seen": "[]", "noop_planned": "0", "noop_measured": "0", "noop_good": "0", "noop_seen": "[]",
	})
}

func TestCalibrationOfARuntime(t *testing.T) {
	path := writeCalibrated(t, calibratedTasks())
	c, err := readCalibrated(t, path, "runsc")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Runtimes, []string{"runsc", "runc"}) || c.RuntimeVersion != "runsc 1.0" || len(c.Tasks) != 3 || len(c.SHA256) != 64 {
		t.Errorf("read %+v", c)
	}
	if q := c.Tasks["task-01"].Quarantined; len(q) != 1 || q[0].Name != "tests/test_a.py::test_one" {
		t.Errorf("quarantined: %+v", q)
	}
	for _, k := range []struct {
		id, digest string
		want       *eval.TaskCalibration
	}{
		{"task-00", "digest of task-00", &eval.TaskCalibration{Calibrated: true, ImageDigest: "sha256:abc"}},
		{"task-01", "digest of task-01", &eval.TaskCalibration{ImageDigest: "sha256:abc"}},
		{"task-01", "digest of something else", nil},
		{"task-02", "digest of task-02", nil}, // nothing was measured
		{"task-03", "", nil},
	} {
		if got := c.Of(k.id, k.digest); !reflect.DeepEqual(got, k.want) {
			t.Errorf("%s with %q: %+v, want %+v", k.id, k.digest, got, k.want)
		}
	}
	other, err := readCalibrated(t, path, "kata")
	if err != nil || len(other.Tasks) != 0 || len(other.Runtimes) != 2 {
		t.Errorf("a runtime that was not measured: %+v, %v", other, err)
	}
}

func TestCalibrationFilesThatAreNone(t *testing.T) {
	good, err := os.ReadFile(writeCalibrated(t, calibratedTasks()))
	if err != nil {
		t.Fatal(err)
	}
	store := newMemStore()
	mustBuild(t, store, testSpec("r1", 1), each(trial("r1", "task-00", eval.Resolved)))
	trials, err := os.ReadFile(store.file(t, "r1", FileTrials))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[100] ^= 0xff
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, ErrDamaged},
		{"not Parquet", []byte("instance_id,calibrated\n"), ErrDamaged},
		{"cut", good[:len(good)/2], ErrDamaged},
		{"a byte is another", flipped, ErrDamaged},
		{"another table", trials, ErrNotCalibration},
		{"twice the same task", nil, ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := c.data
			if c.name == "twice the same task" {
				tasks := calibratedTasks()
				if data, err = os.ReadFile(writeCalibrated(t, append(tasks, tasks[0]))); err != nil {
					t.Fatal(err)
				}
			}
			_, err := ReadCalibration(t.Context(), bytes.NewReader(data), "some.parquet", t.TempDir(), "runsc")
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "some.parquet") {
				t.Errorf("got %v, want %v about some.parquet", err, c.want)
			}
		})
	}
}

func TestCalibrationKeepsTheFormerFile(t *testing.T) {
	path := writeCalibrated(t, calibratedTasks())
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the store is gone")
	if _, err := WriteCalibration(t.Context(), path, calibrationFacts, eachTask(calibratedTasks()[:2], broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := WriteCalibration(ctx, path, calibrationFacts, eachTask(calibratedTasks(), nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the former file is another, %v", err)
	}
}

// TestReportAgainstCalibration: two attempts at each of five tasks, under a
// calibration that knows three of them, one of those in another form.
func TestReportAgainstCalibration(t *testing.T) {
	cal, err := readCalibrated(t, writeCalibrated(t, calibratedTasks()), "runsc")
	if err != nil {
		t.Fatal(err)
	}
	cal.Tasks["task-03"] = CalibratedTask{Calibrated: some(true), Quarantined: cal.Tasks["task-01"].Quarantined}
	var trials []eval.TrialResult
	for i, c := range []struct {
		outcome    eval.Outcome
		calibrated *bool
	}{{eval.Resolved, some(true)}, {eval.Unresolved, some(false)}, {eval.Resolved, nil}, {eval.Unresolved, nil}, {eval.InfraError, nil}} {
		for attempt := range 2 {
			r := trial("r1", fmt.Sprintf("task-%02d", i), c.outcome)
			r.Attempt, r.Calibrated = attempt+1, c.calibrated
			trials = append(trials, r)
		}
	}
	trials[1].Outcome = eval.Cancelled
	trials[2].Tests[0].Status, trials[2].Tests[1].Status = "FAILED", "PASSED"
	trials[2].Counts = eval.TestCounts{F2PPassed: some(0), F2PTotal: some(1), P2PPassed: some(1), P2PTotal: some(1)}
	spec := testSpec("r1", 5)
	spec.Attempts = 2
	store := newMemStore()
	sum, err := Build(t.Context(), store, spec, each(trials...), Options{TempDir: t.TempDir(), Calibration: cal})
	if err != nil {
		t.Fatal(err)
	}
	c := sum.Harness.Calibration
	if c.Tasks != 1 || c.Resolved.Resolved != 1 || c.Resolved.Of != 1 || c.ResolvedAll != sum.Harness.Rates.All || c.Runtime != "runsc" || c.Dataset != "verified" || c.SHA256 != cal.SHA256 {
		t.Errorf("summary %+v", c)
	}
	wantOut := []LeftOut{
		{"task-01", []string{"gold_unsteady"}}, {"task-02", []string{"no_gold_patch"}}, {"task-03", []string{ReasonChanged}}, {"task-04", []string{ReasonAbsent}},
	}
	if !reflect.DeepEqual(c.LeftOut, wantOut) {
		t.Errorf("left out: %+v", c.LeftOut)
	}
	if len(c.Quarantined) != 1 || c.Quarantined[0].InstanceID != "task-01" || c.Quarantined[0].FlakeRate == nil || *c.Quarantined[0].FlakeRate != 1.0/3 {
		t.Errorf("quarantined: %+v", c.Quarantined)
	}
	// The first attempt at task-01 failed by its flaky test; of the second another
	// test stands against it.
	if !reflect.DeepEqual(c.OnlyQuarantined, []OnlyQuarantined{{"task-01", 1, []string{"tests/test_a.py::test_one"}}}) {
		t.Errorf("only quarantined: %+v", c.OnlyQuarantined)
	}
	if got := sum.Harness.Outcomes["unresolved"]; got != 4 {
		t.Errorf("%d unresolved attempts: a calibration changed an outcome", got)
	}

	md, err := os.ReadFile(store.file(t, "r1", FileSummary))
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := RenderTable(&table, sum, 0); err != nil {
		t.Fatal(err)
	}
	for text, parts := range map[string][]string{
		string(md): {
			"| calibrated tasks only | 1 of 1 | 100.0 % |", "**Calibration**: 1 of 5 tasks calibrated under `runsc`", "| `task-04` | `not_in_calibration` |",
			"Quarantined tests (shown only, they change no verdict): 1", "| `flaky, differs_between_runtimes` | 33.3 % |", "alone: 1: `task-01`",
		},
		table.String(): {
			"calibrated tasks only", "1 of 1", "calibration: 1 of 5 tasks calibrated under runsc", "task-01 (gold_unsteady), task-02 (no_gold_patch), task-03 (changed_since_calibration) and 1 more",
			"quarantined tests (shown only, they change no verdict): 1: task-01 tests/test_a.py::test_one (flaky, differs_between_runtimes)",
			"not resolved through quarantined tests alone: 1: task-01",
		},
	} {
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("%q is not in:\n%s", p, text)
			}
		}
	}

	without, err := Build(t.Context(), newMemStore(), spec, each(trials...), Options{TempDir: t.TempDir()})
	if err != nil || without.Harness.Calibration != nil {
		t.Errorf("without a calibration: %+v, %v", without.Harness.Calibration, err)
	}
}

// TestDocumentedCalibration holds docs/calibration.md to the schema.
func TestDocumentedCalibration(t *testing.T) {
	tr, err := openTable(writeCalibrated(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	documented(t, "../docs/calibration.md", map[string][]arrow.Field{calibrationTable: tr.schema.Fields()}, []string{calibrationTable})
}

// TestExampleCalibration reads the table that the project keeps as an example.
func TestExampleCalibration(t *testing.T) {
	calibrated := map[string]int{}
	facts, err := EachCalibrated(t.Context(), "../examples/calibration/release-pinned.parquet", func(task calibration.Task) error {
		if task.Calibrated != nil && *task.Calibrated {
			calibrated[task.Runtime]++
		}
		return nil
	})
	if err != nil || facts.Profile != "swebench" {
		t.Fatalf("facts %+v, %v", facts, err)
	}
	if want := map[string]int{"runsc": 77, "runc": 77}; !maps.Equal(calibrated, want) {
		t.Errorf("calibrated tasks are %v, its README says %v", calibrated, want)
	}
}
