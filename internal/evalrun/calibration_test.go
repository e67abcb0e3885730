package evalrun

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/activities"
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

// calibrated makes a dataset of three tasks in a folder of its own, and the table
// that change makes of a calibration of it, under the given name beside it.
func calibrated(t *testing.T, name string, change func(facts *reports.CalibrationFacts, tasks []calibration.Task)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "three.parquet")
	tasks := runstest.Tasks(3)
	if err := datasets.WriteFile(t.Context(), path, &datasets.Dataset{Name: "three", Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	digest, err := datasets.Digest(tasks)
	if err != nil {
		t.Fatal(err)
	}
	facts := reports.CalibrationFacts{Dataset: "three", DatasetDigest: digest, Profile: "swebench"}
	var judged []calibration.Task
	for i := range tasks {
		sum, err := TaskDigest(&tasks[i])
		if err != nil {
			t.Fatal(err)
		}
		good := i != 1
		judged = append(judged, calibration.Task{InstanceID: tasks[i].InstanceID, Digest: sum, Runtime: "runsc", ImageDigest: "sha256:abc", Calibrated: &good})
	}
	if change != nil {
		change(&facts, judged)
	}
	all := func(yield func(calibration.Task, error) bool) {
		for _, task := range judged {
			if !yield(task, nil) {
				return
			}
		}
	}
	if _, err := reports.WriteCalibration(t.Context(), filepath.Join(filepath.Dir(path), name), facts, all); err != nil {
		t.Fatal(err)
	}
	return path
}

func calibrationOptions(dataset string) Options {
	return Options{
		Session: session.Config{}, Dataset: dataset, Noop: true, Profile: "swebench", Runtime: "runsc", Network: "none",
		Limits: eval.DefaultLimits(), Attempts: 1, MaxTries: 1,
	}
}

func quiet(notes *bytes.Buffer) *cli.App {
	return &cli.App{Out: notes, Err: notes, Getenv: func(string) string { return "" }, Now: time.Now}
}

const beside = "three.calibration.parquet"

func TestCalibrationIsFound(t *testing.T) {
	type facts = reports.CalibrationFacts
	changeOne := func(_ *facts, tasks []calibration.Task) { tasks[0].Digest = "another" }
	changeAll := func(f *facts, tasks []calibration.Task) {
		f.DatasetDigest = strings.Repeat("0", 64)
		for i := range tasks {
			tasks[i].Digest = "another"
		}
	}
	for _, c := range []struct {
		name   string
		file   string
		change func(*facts, []calibration.Task)
		given  string // in the dataset's folder, or a word
		used   string // "" for none
		says   string
		fails  bool
	}{
		{name: "beside the file", file: beside, used: "true false true", says: "of 3 of 3 tasks"},
		{name: "beside it, for the whole folder", file: "calibration.parquet", used: "true false true", says: "of 3 of 3 tasks"},
		{name: "another dataset's", file: "four.calibration.parquet"},
		{name: "given", file: "x.parquet", given: "x.parquet", used: "true false true", says: "of 3 of 3 tasks"},
		{name: "not wanted", file: beside, given: NoCalibration},
		{name: "given and not there", file: beside, given: "absent.parquet", fails: true, says: "--calibration"},
		{name: "one task has changed", file: beside, change: changeOne, used: "null false true", says: "1 task changed since, so what it says of them is not used: task-0000"},
		{name: "one task is not in it", file: beside, change: func(_ *facts, tasks []calibration.Task) { tasks[0].InstanceID = "z" }, used: "null false true", says: "1 task not in it: task-0000"},
		{name: "nothing was measured of one", file: beside, change: func(_ *facts, tasks []calibration.Task) { tasks[0].Calibrated = nil }, used: "null false true", says: "of 3 of 3 tasks"},
		{name: "another dataset with a task of this one", file: beside, change: func(f *facts, tasks []calibration.Task) { changeAll(f, tasks[1:]) }, used: "true null null", says: "of 1 of 3 tasks"},
		{name: "stale", file: beside, change: changeAll, says: "calibration ignored: "},
		{name: "stale and given", file: "x.parquet", given: "x.parquet", change: changeAll, fails: true, says: "fits no task of this run"},
		{name: "another runtime", file: beside, change: func(_ *facts, tasks []calibration.Task) {
			for i := range tasks {
				tasks[i].Runtime = "runc"
			}
		}, says: "knows the runtimes runc, and not runsc"},
		{name: "another profile", file: beside, change: func(f *facts, _ []calibration.Task) { f.Profile = "strict" }, says: "was made under profile strict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := calibrationOptions(calibrated(t, c.file, c.change))
			if o.Calibration = c.given; c.given != "" && c.given != NoCalibration {
				o.Calibration = filepath.Join(filepath.Dir(o.Dataset), c.given)
			}
			var notes bytes.Buffer
			req, err := request(t.Context(), quiet(&notes), &o)
			var usage *cli.UsageError
			if c.fails {
				if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(notes.String(), c.says) || c.says == "" && notes.Len() > 0 {
				t.Errorf("it says %q, want %q", notes.String(), c.says)
			}
			if got := frozen(t, &o, req); got != c.used {
				t.Errorf("calibrated are %q, want %q", got, c.used)
			}
		})
	}
}

// frozen stores the run and returns what its entries say, "" without a calibration.
func frozen(t *testing.T, o *Options, req runs.Request) string {
	t.Helper()
	store := runstest.Store(t)
	if err := o.storeCalibration(t.Context(), store, &req); err != nil {
		t.Fatal(err)
	}
	spec := runstest.Plan(t, store, req).Spec
	if spec.Calibration == nil {
		return ""
	}
	shard, err := activities.LoadShard(t.Context(), store, spec.Shards[0])
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, e := range shard.Entries {
		switch c := e.Calibration.In("sha256:abc"); {
		case c == nil:
			words = append(words, "null")
		case *c:
			words = append(words, "true")
		default:
			words = append(words, "false")
		}
		if e.Calibration.In("sha256:another") != nil {
			t.Errorf("%s is calibrated in an image that nobody looked at", e.InstanceID)
		}
	}
	return strings.Join(words, " ")
}

// TestCalibrationStays: the report of a run does not depend on the file any more.
func TestCalibrationStays(t *testing.T) {
	o := calibrationOptions(calibrated(t, beside, nil))
	var notes bytes.Buffer
	req, err := request(t.Context(), quiet(&notes), &o)
	if err != nil {
		t.Fatal(err)
	}
	store, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := o.storeCalibration(t.Context(), store, &req); err != nil {
		t.Fatal(err)
	}
	p := runstest.Plan(t, store, req)
	if err := os.RemoveAll(filepath.Dir(o.Dataset)); err != nil {
		t.Fatal(err)
	}
	sum, err := activities.BuildReport(t.Context(), store, p.Spec, reports.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := sum.Harness.Calibration
	if c == nil || c.Tasks != 2 || c.SHA256 != p.Spec.Calibration.SHA256 || len(c.LeftOut) != 1 || c.LeftOut[0].InstanceID != "task-0001" {
		t.Errorf("calibration in the report: %+v", c)
	}
	if i := slices.Index(sum.IncompleteIDs, "task-0000"); i < 0 {
		t.Errorf("unfinished trials are %q", sum.IncompleteIDs)
	}

	// The digest is part of the run: the same id with another calibration is another run.
	req.Spec.RunID, req.Spec.Calibration = p.Spec.RunID, nil
	if _, err := runs.Plan(t.Context(), store, req); !errors.Is(err, runs.ErrDifferent) || !strings.Contains(err.Error(), "calibration") {
		t.Errorf("without the calibration: %v", err)
	}
}
