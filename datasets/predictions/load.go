package predictions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"harness/datasets/internal/source"
	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// NoModel is the model of predictions that do not name one, as the official
// harness calls it.
const NoModel = "None"

// File is a predictions file that was read to its end.
type File struct {
	Path  string
	Model string // the one model of all records
	// ByID holds the prediction that counts for each id: the last one.
	ByID      map[string]eval.Prediction
	Records   int      // all records, malformed and duplicate ones too
	Duplicate []string // ids given more than once, sorted
	Malformed []string // "file:line: reason" for records that were left out, in file order
}

// Options of Load; the zero value is ready for use.
type Options struct {
	MaxRecordBytes int   // longest record; 0 means 256 MiB
	MaxBytes       int64 // most the file may hold once unpacked; 0 means 8 GiB
	MaxMalformed   int   // entries kept in Malformed; 0 means 1,000
}

// ErrNothingRead: not one record of the file could be read as a prediction.
var ErrNothingRead = errors.New("no prediction could be read")

// Load reads a .jsonl or .json file, also as .gz or .zst. Records that are not
// predictions are listed in Malformed. It is an error when none is left
// (ErrNothingRead), when the file breaks off, so that an unknown number of
// records is lost, and when the records name several models (*ModelsError).
func Load(ctx context.Context, path string, opts Options) (*File, error) {
	if opts.MaxRecordBytes <= 0 {
		opts.MaxRecordBytes = strictjson.MaxRecord
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = source.MaxBytes
	}
	if opts.MaxMalformed <= 0 {
		opts.MaxMalformed = 1000
	}
	l := &loader{
		opts: opts, name: source.ParseName(path),
		file:   &File{Path: path, ByID: make(map[string]eval.Prediction)},
		models: make(map[string]int), twice: make(map[string]bool),
	}
	if err := l.read(ctx); err != nil {
		return nil, fmt.Errorf("load predictions %s: %w", path, err)
	}
	return l.file, nil
}

type loader struct {
	opts   Options
	name   source.Name
	file   *File
	models map[string]int // records of each
	twice  map[string]bool
	bad    int
}

func (l *loader) read(ctx context.Context) error {
	if l.name.Format != source.JSONL && l.name.Format != source.JSON {
		return errors.New("the file name does not say what it holds; name it .jsonl (one prediction a line) or .json (a list, or an object of predictions)")
	}
	f, err := source.Open(l.file.Path, l.opts.MaxBytes)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if l.name.Format == source.JSONL {
		err = l.lines(ctx, f)
	} else {
		err = l.document(ctx, f)
	}
	if err != nil {
		return err
	}
	return l.finish()
}

func (l *loader) lines(ctx context.Context, r io.Reader) error {
	in := strictjson.NewLines(r, l.opts.MaxRecordBytes)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, line, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && l.file.Records == 0 && rec[0] == '[' {
			return errors.New("the file is a JSON list, not one prediction a line; name it .json")
		}
		if err := l.record(rec, fmt.Sprintf(":%d", line), err, false); err != nil {
			return err
		}
	}
}

func (l *loader) document(ctx context.Context, r io.Reader) error {
	doc, err := strictjson.NewDocument(r, l.opts.MaxRecordBytes)
	if err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, line, err := doc.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		where := fmt.Sprintf(":%d: record %d", line, l.file.Records+1)
		if err := l.record(rec, where, err, !doc.IsList()); err != nil {
			return err
		}
	}
}

// record takes one record, or the error in its place. In a map the record is
// wrapped in an object with one member, whose key the official harness ignores.
func (l *loader) record(rec []byte, where string, err error, inMap bool) error {
	if err != nil && !errors.As(err, new(*strictjson.TooLargeError)) {
		return err
	}
	l.file.Records++
	if err == nil && inMap {
		rec, err = mapValue(rec)
		if errors.Is(err, errOnePrediction) && l.file.Records == 1 {
			return err
		}
	}
	var p eval.Prediction
	if err == nil {
		p, err = parse(rec)
	}
	if err != nil {
		if l.bad++; l.bad <= l.opts.MaxMalformed {
			l.file.Malformed = append(l.file.Malformed, fmt.Sprintf("%s%s: %v", filepath.Base(l.file.Path), where, err))
		}
		return nil
	}
	l.models[p.Model]++
	if _, ok := l.file.ByID[p.InstanceID]; ok {
		l.twice[p.InstanceID] = true
	}
	l.file.ByID[p.InstanceID] = p
	return nil
}

func (l *loader) finish() error {
	f := l.file
	if more := l.bad - len(f.Malformed); more > 0 {
		f.Malformed = append(f.Malformed, fmt.Sprintf("%s: %d more malformed records are not listed", filepath.Base(f.Path), more))
	}
	switch {
	case f.Records == 0:
		return fmt.Errorf("%w: the file holds no records", ErrNothingRead)
	case len(f.ByID) == 0:
		return fmt.Errorf("%w: all of its %d records are malformed, the first one is %s; a prediction is {\"instance_id\": ..., \"model_name_or_path\": ..., \"model_patch\": ...}", ErrNothingRead, f.Records, f.Malformed[0])
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
