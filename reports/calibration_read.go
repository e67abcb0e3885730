package reports

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"harness/eval"
	"harness/scoring/calibration"
)

// Calibration is what a calibration table says about one runtime, as far as the
// report of a run needs it.
type Calibration struct {
	CalibrationFacts
	SHA256         string // of the file, "" when not known
	Runtime        string
	RuntimeVersion string
	Runtimes       []string // all that the table has, in the order of its rows
	Tasks          map[string]CalibratedTask
}

// CalibratedTask is the judgement on a task, with its quarantined tests only.
type CalibratedTask struct {
	Digest      string
	ImageDigest string
	Calibrated  *bool
	Reasons     []string
	Quarantined []calibration.Test
}

// Of is what the calibration says of a task in the form that has the digest; nil
// when it says nothing of that form.
func (c *Calibration) Of(instance, digest string) *eval.TaskCalibration {
	t, ok := c.Tasks[instance]
	if !ok || t.Digest != digest || t.Calibrated == nil {
		return nil
	}
	return &eval.TaskCalibration{Calibrated: *t.Calibrated, ImageDigest: t.ImageDigest}
}

// ErrNotCalibration: a file is not a calibration table.
var ErrNotCalibration = errors.New("it is not a calibration; `harness dataset calibrate` makes one")

// MaxCalibrationBytes is how large a calibration file may be.
const MaxCalibrationBytes = 256 << 20

// ReadCalibration reads from r what a calibration file says about the runtime.
// Errors call the file by name; its bytes are kept below tempDir ("" means the
// system's) meanwhile.
func ReadCalibration(ctx context.Context, r io.Reader, name, tempDir, runtime string) (_ *Calibration, err error) {
	dir, err := os.MkdirTemp(tempDir, "harness-calibration-*")
	if err != nil {
		return nil, fmt.Errorf("read calibration %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, calibrationTable)
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("read calibration %s: %w", name, err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(r, MaxCalibrationBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read calibration %s: %w", name, err)
	}
	if n > MaxCalibrationBytes {
		return nil, fmt.Errorf("read calibration %s: it has more than %d bytes", name, MaxCalibrationBytes)
	}
	c := &Calibration{Runtime: runtime, SHA256: hex.EncodeToString(sum.Sum(nil)), Tasks: map[string]CalibratedTask{}}
	c.CalibrationFacts, err = eachCalibrated(ctx, path, name, c.add)
	return c, err
}

func (c *Calibration) add(t calibration.Task) error {
	if !slices.Contains(c.Runtimes, t.Runtime) {
		c.Runtimes = append(c.Runtimes, t.Runtime)
	}
	if t.Runtime != c.Runtime {
		return nil
	}
	if _, twice := c.Tasks[t.InstanceID]; twice {
		return fmt.Errorf("%w: task %s is there twice for runtime %s", ErrDamaged, storedText(t.InstanceID, maxWord), storedText(t.Runtime, maxWord))
	}
	c.RuntimeVersion = cmp.Or(c.RuntimeVersion, t.RuntimeVersion)
	task := CalibratedTask{Digest: t.Digest, ImageDigest: t.ImageDigest, Calibrated: t.Calibrated, Reasons: t.Reasons}
	for _, test := range t.Tests {
		if test.Quarantined != nil && *test.Quarantined {
			task.Quarantined = append(task.Quarantined, test)
		}
	}
	c.Tasks[t.InstanceID] = task
	return nil
}

// EachCalibrated gives every judgement of the file to each, in the order of its
// rows, one task with its tests in memory at a time. The file is checked against
// its own record of what was written first.
func EachCalibrated(ctx context.Context, path string, each func(calibration.Task) error) (CalibrationFacts, error) {
	return eachCalibrated(ctx, path, path, each)
}

func eachCalibrated(ctx context.Context, path, name string, each func(calibration.Task) error) (facts CalibrationFacts, err error) {
	defer func() {
		// The Parquet library panics over some kinds of damage.
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
		if err != nil {
			err = fmt.Errorf("read calibration %s: %w", name, err)
		}
	}()
	t, err := openTableAs(path, name)
	if err != nil {
		return facts, err
	}
	defer t.close()
	if table := t.reader.MetaData().KeyValueMetadata().FindValue(tableKey); table == nil || *table != calibrationTable {
		return facts, ErrNotCalibration
	}
	if err := t.verifySelf(ctx); err != nil {
		return facts, err
	}
	if t.reader.NumRows() == 0 {
		return facts, nil
	}
	batches, err := t.arrow.GetRecordReader(ctx, nil, nil)
	if err != nil {
		return facts, err
	}
	defer batches.Release()
	g := grouper{each: each}
	for batches.Next() {
		rows, err := newCalibrationRows(batches.RecordBatch())
		if err != nil {
			return facts, err
		}
		for i := range int(batches.RecordBatch().NumRows()) {
			if err := ctx.Err(); err != nil {
				return facts, err
			}
			if facts == (CalibrationFacts{}) {
				facts = rows.facts(i)
			}
			if err := g.add(rows, i); err != nil {
				return facts, err
			}
		}
	}
	if err := batches.Err(); err != nil {
		return facts, err
	}
	return facts, g.flush()
}

// grouper joins the rows of tests to those of their task.
type grouper struct {
	each func(calibration.Task) error
	task *calibration.Task
}

func (g *grouper) add(rows *calibrationRows, i int) error {
	if rows.text("level", i) == levelTask {
		if err := g.flush(); err != nil {
			return err
		}
		g.task = rows.task(i)
		return nil
	}
	if g.task == nil || g.task.InstanceID != rows.text("instance_id", i) || g.task.Runtime != rows.text("runtime", i) {
		return fmt.Errorf("%w: the row of a test does not follow the one of its task", ErrDamaged)
	}
	g.task.Tests = append(g.task.Tests, rows.test(i))
	return nil
}

func (g *grouper) flush() error {
	if g.task == nil {
		return nil
	}
	t := *g.task
	g.task = nil
	return g.each(t)
}

// calibrationRows reads the values of a batch by column name.
type calibrationRows struct{ cols map[string]arrow.Array }

func newCalibrationRows(rec arrow.RecordBatch) (*calibrationRows, error) {
	r := &calibrationRows{cols: map[string]arrow.Array{}}
	for i, f := range rec.Schema().Fields() {
		r.cols[f.Name] = rec.Column(i)
	}
	for _, c := range calibrationColumns() {
		col, ok := r.cols[c.name]
		if !ok {
			return nil, fmt.Errorf("there is no column %s: another version of the harness wrote the file; calibrate again", c.name)
		}
		if col.DataType().ID() != c.typ.ID() {
			return nil, fmt.Errorf("column %s is %s, not %s: another version of the harness wrote the file; calibrate again", c.name, col.DataType(), c.typ)
		}
	}
	return r, nil
}

// value reads a cell; the zero value, and false, for null.
func value[T any, A interface {
	arrow.Array
	Value(int) T
}](r *calibrationRows, name string, i int) (v T, ok bool) {
	col := r.cols[name].(A)
	if col.IsNull(i) {
		return v, false
	}
	return col.Value(i), true
}

func (r *calibrationRows) text(name string, i int) string {
	s, _ := value[string, *array.String](r, name, i)
	return strings.Clone(s) // the batch's memory is reused
}

func (r *calibrationRows) int(name string, i int) int {
	n, _ := value[int32, *array.Int32](r, name, i)
	return int(n)
}

func (r *calibrationRows) int64(name string, i int) int64 {
	n, _ := value[int64, *array.Int64](r, name, i)
	return n
}

func (r *calibrationRows) float(name string, i int) *float64 {
	if f, ok := value[float64, *array.Float64](r, name, i); ok {
		return &f
	}
	return nil
}

func (r *calibrationRows) bool(name string, i int) *bool {
	if b, ok := value[bool, *array.Boolean](r, name, i); ok {
		return &b
	}
	return nil
}

// list is nil for an empty list as for null: the judgements do not tell them apart.
func (r *calibrationRows) list(name string, i int) []string {
	col := r.cols[name].(*array.List)
	if col.IsNull(i) {
		return nil
	}
	values := &calibrationRows{map[string]arrow.Array{name: col.ListValues()}}
	var out []string
	for start, end := col.ValueOffsets(i); start < end; start++ {
		out = append(out, values.text(name, int(start)))
	}
	return out
}

func (r *calibrationRows) facts(i int) CalibrationFacts {
	return CalibrationFacts{
		Dataset: r.text("dataset", i), DatasetDigest: r.text("dataset_digest", i),
		Profile: r.text("profile", i), HarnessVersion: r.text("harness_version", i),
	}
}

func (r *calibrationRows) repeats(prefix string, i int) calibration.Repeats {
	out := calibration.Repeats{
		Planned: r.int(prefix+"_planned", i), Measured: r.int(prefix+"_measured", i), Good: r.int(prefix+"_good", i),
		Seen: r.list(prefix+"_seen", i),
	}
	rate, low, high := r.float(prefix+"_flake_rate", i), r.float(prefix+"_flake_low", i), r.float(prefix+"_flake_high", i)
	if rate != nil && low != nil && high != nil {
		out.Flake = &calibration.Flake{Rate: *rate, Low: *low, High: *high}
	}
	return out
}

func (r *calibrationRows) task(i int) *calibration.Task {
	t := &calibration.Task{
		InstanceID: r.text("instance_id", i), Digest: r.text("task_digest", i),
		Runtime: r.text("runtime", i), RuntimeVersion: r.text("runtime_version", i), ImageDigest: r.text("image_digest", i),
		GoldRun: r.text("gold_run_id", i), NoopRun: r.text("noop_run_id", i),
		Gold: r.repeats("gold", i), Noop: r.repeats("noop", i),
		Calibrated: r.bool("calibrated", i), Differs: r.bool("differs_between_runtimes", i), Reasons: r.list("reasons", i),
	}
	if cpus := r.float("limit_cpu", i); cpus != nil {
		t.Limits.CPUs = *cpus
	}
	t.Limits.MemoryBytes, t.Limits.WallSeconds = r.int64("limit_memory_bytes", i), r.int64("limit_wall_s", i)
	return t
}

func (r *calibrationRows) test(i int) calibration.Test {
	return calibration.Test{
		Name: r.text("test", i), Group: r.text("group", i), Gold: r.repeats("gold", i), Noop: r.repeats("noop", i),
		Differs: r.bool("differs_between_runtimes", i), FailsOnGold: r.bool("fails_on_gold", i), PassesOnNoop: r.bool("passes_on_noop", i),
		Quarantined: r.bool("quarantined", i), Reasons: r.list("reasons", i),
	}
}
