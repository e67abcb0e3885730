package predictions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"harness/datasets/internal/source"
	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// NoModel is the model of predictions that do not name one, as the official
// harness calls it.
const NoModel = "None"

// File is a predictions file, or a folder of such, that was read to its end.
type File struct {
	Path    string
	Dialect string // name of the dialect that it was read as
	Model   string // the one model of all records
	// ByID holds the prediction that counts for each id: the last one.
	ByID      map[string]eval.Prediction
	Records   int      // all records, malformed and duplicate ones too
	Duplicate []string // ids given more than once, sorted
	Malformed []string // "file:line: reason" for records that were left out, in file order
}

// Options of Load; the zero value is ready for use.
type Options struct {
	Format         string // name of the dialect; "" detects it
	Model          string // of records that name none; "" means NoModel
	MaxRecordBytes int    // longest record; 0 means 256 MiB
	MaxBytes       int64  // most the file may hold once unpacked; 0 means 8 GiB
	MaxPatchBytes  int64  // most that the patches that count may hold together; 0 means 2 GiB
	MaxMalformed   int    // entries kept in Malformed; 0 means 1,000
}

// Bounds on what is kept. All ids end in the run's spec, which must stay small
// enough to be read as a whole.
const (
	maxIDs        = 100_000
	maxIDBytes    = 4 << 20
	maxPatchBytes = 2 << 30
)

// ErrNothingRead: not one record of the file could be read as a prediction.
var ErrNothingRead = errors.New("no prediction could be read")

// Load reads a .jsonl, .json or .pred file, also as .gz or .zst, or a folder of
// .pred, .patch or .diff files. Records that are not predictions are listed in
// Malformed. It is an error when none is left (ErrNothingRead), when the file
// breaks off, so that an unknown number of records is lost, when the records
// name several models (*ModelsError), when the dialect is open (*AmbiguousError)
// and when the one asked for is not known (*UnknownFormatError).
func Load(ctx context.Context, path string, opts Options) (*File, error) {
	if opts.MaxRecordBytes <= 0 {
		opts.MaxRecordBytes = strictjson.MaxRecord
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = source.MaxBytes
	}
	if opts.MaxPatchBytes <= 0 {
		opts.MaxPatchBytes = maxPatchBytes
	}
	if opts.MaxMalformed <= 0 {
		opts.MaxMalformed = 1000
	}
	if opts.Model == "" {
		opts.Model = NoModel
	}
	l := &loader{
		opts: opts, name: source.ParseName(path),
		file:   &File{Path: path, ByID: make(map[string]eval.Prediction)},
		models: make(map[string]int), twice: make(map[string]bool),
	}
	if err := l.load(ctx); err != nil {
		return nil, fmt.Errorf("load predictions %s: %w", path, err)
	}
	return l.file, nil
}

type loader struct {
	opts   Options
	name   source.Name
	form   form
	reader *reader
	file   *File
	models map[string]int // records of each
	twice  map[string]bool
	bad    int

	idBytes, patchBytes int64 // of what is kept
}

// form is how records are laid out.
type form uint8

const (
	formLines form = iota + 1
	formList
	formMap
	formSingle
	formFolder
)

func (l *loader) load(ctx context.Context) error {
	if err := eval.ValidateModelName(l.opts.Model); err != nil {
		return err
	}
	info, err := os.Stat(l.file.Path)
	if err != nil {
		return err
	}
	var d Dialect
	if l.opts.Format != "" {
		if d, err = ByName(l.opts.Format); err != nil {
			return err
		}
	}
	if info.IsDir() {
		return l.folder(ctx, d)
	}
	return l.single(ctx, d)
}

func (l *loader) use(d Dialect) {
	l.file.Dialect = d.Name
	l.reader = newReader(d, l.opts.Model, l.opts.Format == "")
}

func (l *loader) folder(ctx context.Context, d Dialect) error {
	l.form = formFolder
	root, err := os.OpenRoot(l.file.Path)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	f := &folder{root: root, limit: l.opts.MaxRecordBytes, left: l.opts.MaxBytes, total: l.opts.MaxBytes}
	list, err := f.list(ctx)
	if err != nil {
		return err
	}
	switch {
	case d.Name == "":
		if d, err = list.dialect(l.file.Path); err != nil {
			return err
		}
	case len(d.files) == 0:
		return fmt.Errorf("it is a folder, and %s is not read from folders; give the file in it", d.Name)
	case len(list.files[d.Name]) == 0:
		return list.nothing(l.file.Path, d)
	}
	l.use(d)
	return l.all(ctx, f.records(d, list.files[d.Name]))
}

func (l *loader) single(ctx context.Context, d Dialect) error {
	pred := l.name.Format == "" && named("swe-agent").isFile(l.file.Path, l.name)
	if l.name.Format != source.JSONL && l.name.Format != source.JSON && !pred {
		return errors.New("the file name does not say what it holds; name it .jsonl (one prediction a line), .json (a list, or an object of predictions) or .pred (one prediction)")
	}
	switch {
	case d.bare:
		return fmt.Errorf("it is a file, and %s is a folder of patches; give the folder", d.Name)
	case d.Name == "" && pred:
		d = named("swe-agent")
	case d.Name == "":
		err := l.open(pred, func(next stream) (err error) {
			d, err = detect(ctx, next)
			return err
		})
		if err != nil {
			return err
		}
	}
	l.use(d)
	return l.open(pred, func(next stream) error { return l.all(ctx, next) })
}

// open gives f the records of the file from its beginning.
func (l *loader) open(pred bool, f func(stream) error) error {
	r, err := source.Open(l.file.Path, l.opts.MaxBytes)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	name, limit := filepath.Base(l.file.Path), l.opts.MaxRecordBytes
	switch {
	case pred:
		l.form = formSingle
		return f(single(r, name, limit))
	case l.name.Format == source.JSONL:
		l.form = formLines
		return f(lines(r, name, limit))
	}
	doc, isMap, err := document(r, name, limit)
	if err != nil {
		return err
	}
	if l.form = formList; isMap {
		l.form = formMap
	}
	return f(doc)
}

// all reads the records to their end.
func (l *loader) all(ctx context.Context, next stream) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := next()
		if errors.Is(err, io.EOF) {
			return l.finish()
		}
		if err != nil {
			return err
		}
		if err := l.record(rec); err != nil {
			return err
		}
	}
}

func (l *loader) record(rec record) error {
	l.file.Records++
	var p eval.Prediction
	err := rec.err
	if err == nil {
		p, err = l.reader.prediction(rec)
	}
	if err != nil {
		if l.bad++; l.bad <= l.opts.MaxMalformed {
			l.file.Malformed = append(l.file.Malformed, fmt.Sprintf("%s: %v", rec.where, err))
		}
		return nil
	}
	l.models[p.Model]++
	if err := l.keep(p); err != nil {
		return fmt.Errorf("%s: %w", rec.where, err)
	}
	return nil
}

// keep puts a prediction into the file, within its bounds.
func (l *loader) keep(p eval.Prediction) error {
	old, again := l.file.ByID[p.InstanceID]
	if again {
		l.twice[p.InstanceID] = true
	} else {
		l.idBytes += int64(len(p.InstanceID))
	}
	l.patchBytes += patchLen(p) - patchLen(old)
	l.file.ByID[p.InstanceID] = p
	switch {
	case len(l.file.ByID) > maxIDs:
		return fmt.Errorf("with it the file has predictions for more than %d ids, which is the most; give those of the dataset only, or split it", maxIDs)
	case l.idBytes > maxIDBytes:
		return fmt.Errorf("with it the ids of the file hold more than %d bytes, which is the most; give those of the dataset only, or split it", maxIDBytes)
	case l.patchBytes > l.opts.MaxPatchBytes:
		return fmt.Errorf("with it the patches of the file hold more than %d bytes, which is the most; split it", l.opts.MaxPatchBytes)
	}
	return nil
}

func patchLen(p eval.Prediction) int64 {
	if p.Patch == nil {
		return 0
	}
	return int64(len(*p.Patch))
}

func (l *loader) finish() error {
	f := l.file
	if more := l.bad - len(f.Malformed); more > 0 {
		f.Malformed = append(f.Malformed, fmt.Sprintf("%s: %d more malformed records are not listed", filepath.Base(f.Path), more))
	}
	switch {
	case f.Records == 0:
		return fmt.Errorf("%w: it holds no records", ErrNothingRead)
	case len(f.ByID) == 0:
		return fmt.Errorf("%w: all of its %d records are malformed, the first one is %s; %s has %s", ErrNothingRead, f.Records, f.Malformed[0], l.reader.d.Name, l.reader.d.About)
	case len(l.models) > 1:
		return l.modelsError()
	}
	for m := range l.models {
		f.Model = m
	}
	f.Duplicate = make([]string, 0, len(l.twice))
	for id := range l.twice {
		f.Duplicate = append(f.Duplicate, id)
	}
	slices.Sort(f.Duplicate)
	return nil
}
