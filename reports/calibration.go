package reports

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"harness/scoring/calibration"
)

// CalibrationFacts are what all rows of a calibration table have in common.
type CalibrationFacts struct {
	Dataset        string `json:"dataset"`
	DatasetDigest  string `json:"dataset_digest"`
	Profile        string `json:"profile"`
	HarnessVersion string `json:"harness_version"`
}

// calibrationTable is the name under which the file says what it is.
const calibrationTable = "calibration"

// calibrationRow is a row of a task, or of one of its tests.
type calibrationRow struct {
	facts *CalibrationFacts
	task  *calibration.Task
	test  *calibration.Test // nil on a task's own row
}

// Values of the column level.
const (
	levelTask = "task"
	levelTest = "test"
)

const (
	ofTasks = "the row is a test's"
	ofTests = "the row is a task's"
)

// WriteCalibration writes the judgements on tasks as one Parquet file, a row for
// each task and runtime followed by one for each of its tests, and returns the
// number of rows. The file takes its place only after it was read back and
// compared with what was written; a failure leaves a former one as it was.
func WriteCalibration(ctx context.Context, path string, facts CalibrationFacts, tasks iter.Seq2[calibration.Task, error]) (rows int64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write calibration %s: %w", path, err)
		}
	}()
	// In the same folder, so that it can be moved into place at once.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".calibration-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, p := range []*string{&facts.Dataset, &facts.DatasetDigest, &facts.Profile, &facts.HarnessVersion} {
		*p = storedText(*p, maxWord)
	}
	tmp := filepath.Join(dir, filepath.Base(path))
	table, err := createTable(tmp, calibrationTable, calibrationColumns(), func(r calibrationRow) int {
		if r.test == nil {
			return maxWord
		}
		return len(r.test.Name) + 16*(r.test.Gold.Planned+r.test.Noop.Planned)
	})
	if err != nil {
		return 0, err
	}
	defer table.close()
	for task, err := range tasks {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
		cleanCalibration(&task)
		if err := table.add(calibrationRow{facts: &facts, task: &task}); err != nil {
			return 0, err
		}
		for i := range task.Tests {
			if err := table.add(calibrationRow{&facts, &task, &task.Tests[i]}); err != nil {
				return 0, err
			}
		}
	}
	want, err := table.finish()
	if err != nil {
		return 0, err
	}
	if err := verifyAgainst(ctx, tmp, want); err != nil {
		return 0, err
	}
	return want.Rows, os.Rename(tmp, path)
}

// cleanCalibration brings what the code under test wrote to what tables hold.
func cleanCalibration(t *calibration.Task) {
	t.RuntimeVersion = storedText(t.RuntimeVersion, maxWord)
	t.ImageDigest = storedText(t.ImageDigest, maxWord)
	t.Tests = cleanEach(t.Tests, func(test *calibration.Test) {
		test.Name = storedText(test.Name, maxName)
		test.Group = storedText(test.Group, maxWord)
		test.Gold.Seen = storedTexts(test.Gold.Seen, maxWord)
		test.Noop.Seen = storedTexts(test.Noop.Seen, maxWord)
	})
}

func (r calibrationRow) gold() *calibration.Repeats {
	if r.test != nil {
		return &r.test.Gold
	}
	return &r.task.Gold
}

func (r calibrationRow) noop() *calibration.Repeats {
	if r.test != nil {
		return &r.test.Noop
	}
	return &r.task.Noop
}

func calibrationColumns() []column[calibrationRow] {
	type R = calibrationRow
	cols := []column[R]{
		text("level", "what the row is about: task or test", func(r R) string {
			if r.test == nil {
				return levelTask
			}
			return levelTest
		}).key(),
		text("dataset", "name of the dataset", func(r R) string { return r.facts.Dataset }),
		text("dataset_digest", "digest over all tasks of the dataset", func(r R) string { return r.facts.DatasetDigest }).key(),
		text("instance_id", "id of the task", func(r R) string { return r.task.InstanceID }).key(),
		text("task_digest", "SHA-256 of the task's canonical JSON", func(r R) string { return r.task.Digest }).key(),
		text("profile", "profile under which all was executed and graded", func(r R) string { return r.facts.Profile }).key(),
		text("runtime", "sandbox runtime", func(r R) string { return r.task.Runtime }).key(),
		text("runtime_version", "version of the runtime", func(r R) string { return r.task.RuntimeVersion }).null(notRun),
		text("image_digest", "digest of the image", func(r R) string { return r.task.ImageDigest }).null(notRun),
		text("test", "name of the test", func(r R) string {
			if r.test == nil {
				return ""
			}
			return r.test.Name
		}).unique().null(ofTests),
		text("group", "F2P, P2P or other", func(r R) string {
			if r.test == nil {
				return ""
			}
			return r.test.Group
		}).null(ofTests),
	}
	cols = append(cols, repeatColumns("gold", "gold", R.gold)...)
	cols = append(cols, repeatColumns("noop", "unpatched", R.noop)...)
	return append(cols,
		bools("calibrated", "whether each gold repeat resolves the task and no unpatched one does", func(r R) *bool {
			if r.test != nil {
				return nil
			}
			return r.task.Calibrated
		}).null("no result of one of the two, or "+ofTasks),
		bools("fails_on_gold", "whether no gold repeat is good", func(r R) *bool {
			if r.test != nil {
				return r.test.FailsOnGold
			}
			return share(r.task.Gold, 0)
		}).null("no gold repeat has a result, or no list expects the test"),
		bools("passes_on_noop", "whether each unpatched repeat is good", func(r R) *bool {
			if r.test != nil {
				return r.test.PassesOnNoop
			}
			return share(r.task.Noop, r.task.Noop.Measured)
		}).null("no unpatched repeat has a result"),
		bools("differs_between_runtimes", "whether nothing seen under this runtime was seen under another", func(r R) *bool {
			if r.test != nil {
				return r.test.Differs
			}
			return r.task.Differs
		}).null("measured under one runtime only"),
		bools("quarantined", "whether a test that decides the task should not be believed", func(r R) *bool {
			if r.test == nil {
				return nil
			}
			return r.test.Quarantined
		}).null("nothing was measured, no list expects the test, or "+ofTests),
		lists("reasons", "why a task is not calibrated, a test quarantined; in a fixed order", func(r R) ([]string, bool) {
			if r.test == nil {
				return r.task.Reasons, true
			}
			return r.test.Reasons, r.test.Quarantined != nil
		}).null("quarantined is null"),
		floats("limit_cpu", "CPU limit", func(r R) *float64 { return ofTask(r, positive(r.task.Limits.CPUs)) }).in("cores").null(ofTasks+", or "+notRun),
		int64s("limit_memory_bytes", "memory limit", func(r R) *int64 { return ofTask(r, positive(r.task.Limits.MemoryBytes)) }).in("bytes").null(ofTasks+", or "+notRun),
		int64s("limit_wall_s", "wall-clock limit of the test phase", func(r R) *int64 { return ofTask(r, positive(r.task.Limits.WallSeconds)) }).in("s").null(ofTasks+", or "+notRun),
		text("gold_run_id", "run of the gold repeats", func(r R) string { return ofTask(r, r.task.GoldRun) }).null(ofTasks+", or "+notRun),
		text("noop_run_id", "run of the unpatched repeats", func(r R) string { return ofTask(r, r.task.NoopRun) }).null(ofTasks+", or "+notRun),
		text("harness_version", "version of the harness that wrote the table", func(r R) string { return r.facts.HarnessVersion }).volatile(),
	)
}

// repeatColumns are those of one candidate.
func repeatColumns(prefix, what string, of func(calibrationRow) *calibration.Repeats) []column[calibrationRow] {
	type R = calibrationRow
	flake := func(r R, part func(*calibration.Flake) float64) *float64 {
		if f := of(r).Flake; f != nil {
			return some(part(f))
		}
		return nil
	}
	const few = "less than two repeats have a result"
	return []column[R]{
		int32s(prefix+"_planned", what+" repeats that were asked for", func(r R) *int32 { return some(int32(of(r).Planned)) }).key(),
		int32s(prefix+"_measured", what+" repeats that have a result", func(r R) *int32 { return some(int32(of(r).Measured)) }).key(),
		int32s(prefix+"_good", what+" repeats that resolved the task, in which the test passed", func(r R) *int32 { return some(int32(of(r).Good)) }).key(),
		lists(prefix+"_seen", "outcome or status in each "+what+" repeat, in their order; "+calibration.Unknown+" for one without a result", func(r R) ([]string, bool) {
			return of(r).Seen, true
		}).key(),
		floats(prefix+"_flake_rate", "share of the measured "+what+" repeats that did not behave as most did", func(r R) *float64 {
			return flake(r, func(f *calibration.Flake) float64 { return f.Rate })
		}).null(few),
		floats(prefix+"_flake_low", "lower end of its 95 % Wilson interval", func(r R) *float64 {
			return flake(r, func(f *calibration.Flake) float64 { return f.Low })
		}).null(few),
		floats(prefix+"_flake_high", "upper end of its 95 % Wilson interval", func(r R) *float64 {
			return flake(r, func(f *calibration.Flake) float64 { return f.High })
		}).null(few),
	}
}

// share reports whether exactly good of the measured repeats are, nil when none
// was measured.
func share(r calibration.Repeats, good int) *bool {
	if r.Measured == 0 {
		return nil
	}
	return some(r.Good == good)
}

// ofTask returns v on a task's own row, else nothing.
func ofTask[T any](r calibrationRow, v T) T {
	if r.test != nil {
		var none T
		return none
	}
	return v
}
