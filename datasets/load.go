package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"harness/datasets/internal/source"
	"harness/datasets/internal/strictjson"
	"harness/datasets/internal/tree"
	"harness/eval"
)

// Dataset is a loaded file of tasks. Tasks keep the file's order.
type Dataset struct {
	Name   string // for people: of the file or its directory
	Split  string // "" when nothing says it
	Digest string // see Digest
	Path   string // the file that was read, or the folder of several
	Source string // the address that the tasks came from, with its revision fixed; "" when they are this machine's
	Tasks  []eval.Task
	// Warnings do not keep a row from being used.
	Warnings []Problem
	// Problems are rows that were left out; empty unless Options.Lenient was set.
	Problems []Problem
}

// Options of Load and Validate; the zero value is ready for use.
type Options struct {
	Name  string // overrides the name taken from the path
	Split string // which split of a directory; "" when there is one only
	// Files are those of the split when somebody else has looked them up, in
	// order and relative to the directory that is loaded; nil looks for them.
	Files  []string
	Source string // becomes that of the Dataset
	// Family says whose row schema the file has, one of FamilyNames; "" finds it
	// out from the rows.
	Family string
	// Grading loads rows for grading alone: those may lack what only an execution
	// needs, the patches and the base commit.
	Grading bool
	// Lenient loads the good rows of a file with bad ones. It is for looking at
	// datasets, not for evaluating.
	Lenient bool

	MaxRecordBytes int   // longest row; 0 means 64 MiB, more than a run stores of a task
	MaxBytes       int64 // most a file may hold once unpacked; 0 means 8 GiB
	MaxProblems    int   // problems kept, and warnings kept; 0 means 1,000
}

// Errors of a file as a whole, wrapped, for errors.Is.
var (
	// ErrEmpty: the file holds no rows.
	ErrEmpty = errors.New("the file holds no rows")
	// ErrDigest: the tasks are not those that the file says it was written from.
	ErrDigest = errors.New("dataset digest mismatch")
)

// errBadRecord marks an error that concerns one record: the rest can be read.
var errBadRecord = errors.New("the record can't be read")

// maxRecord is the default for the longest row. Those of real datasets stay
// below 4 MB.
const maxRecord = 64 << 20

// Load reads the dataset at path: a .jsonl, .json (one list), .csv or .parquet
// file, each of them also as .gz or .zst, a directory that holds one of them or
// its shards, or a folder as Hugging Face's save_to_disk writes it. One bad row
// refuses the file with a *LoadError that lists all of them, unless opts.Lenient
// is set. Rows of another schema are a *FamilyError.
func Load(ctx context.Context, path string, opts Options) (*Dataset, error) {
	l, err := read(ctx, path, opts, false)
	if err != nil {
		return nil, err
	}
	if len(l.ds.Problems) > 0 && !opts.Lenient {
		return nil, &LoadError{File: l.ds.Path, Rows: l.total, Problems: l.ds.Problems, More: l.more}
	}
	return l.ds, nil
}

// Validate reads like Load and returns the good rows together with what is
// wrong with the others. A file that is damaged is a problem, too: what can be
// read of it, and the other shards, are still looked at. The error is for a path
// at which there is no dataset.
func Validate(ctx context.Context, path string, opts Options) (*Dataset, []Problem, error) {
	l, err := read(ctx, path, opts, true)
	if err != nil {
		return nil, nil, err
	}
	if l.more > 0 {
		l.ds.Problems = append(l.ds.Problems, Problem{File: l.ds.Path, Reason: fmt.Sprintf("%s more are not listed", plural(l.more, "problem"))})
	}
	return l.ds, l.ds.Problems, nil
}

// loader collects rows, whatever they are read from.
type loader struct {
	tolerant bool // damage is a problem like that of a row
	opts     Options
	ds       *Dataset // Path is the file that is being read
	digest   *digester
	rows     int // of this file
	total    int // of the files before it, too
	more     int // problems not kept
	family   familyWatch
	first    map[string]position // where an id was seen first
	lower    map[string]string   // lower case -> id as first seen
	declared string              // digest that the file names, "" when it names none
}

// read loads what is at path. With tolerant, damage to a file is a problem like
// that of a row; otherwise it is the error.
func read(ctx context.Context, path string, opts Options, tolerant bool) (*loader, error) {
	if opts.MaxRecordBytes <= 0 {
		opts.MaxRecordBytes = maxRecord
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = source.MaxBytes
	}
	if opts.MaxProblems <= 0 {
		opts.MaxProblems = 1000
	}
	loc, err := resolve(path, opts)
	if err != nil {
		return nil, err
	}
	l := &loader{
		opts: opts, tolerant: tolerant, digest: newDigester(),
		ds:    &Dataset{Name: loc.name, Split: loc.split, Source: opts.Source},
		first: make(map[string]position), lower: make(map[string]string),
	}
	if err := l.family.name(opts.Family); err != nil {
		return nil, fmt.Errorf("load dataset %s: %w", loc.path, err)
	}
	for _, file := range loc.files {
		l.ds.Path, l.rows = file, 0
		if err := l.readLocation(ctx, loc); err != nil {
			if !tolerant || ctx.Err() != nil || errors.As(err, new(*FamilyError)) || errors.Is(err, tree.ErrNoSplit) {
				return nil, err
			}
			l.damage(err)
		}
		l.total += l.rows
	}
	l.ds.Path = loc.path
	if len(loc.files) > 1 {
		// What a shard says of itself does not hold for all of them.
		l.ds.Name, l.ds.Split, l.declared = loc.name, loc.split, ""
	}
	if opts.Name != "" {
		l.ds.Name = opts.Name
	}
	if opts.Source != "" || len(loc.files) > 1 {
		l.ds.Source = opts.Source
	}
	if l.total == 0 && len(l.ds.Problems) == 0 {
		return nil, fmt.Errorf("load dataset %s: %w; check that the right file was given", loc.path, ErrEmpty)
	}
	if err := l.family.err(loc.path); err != nil {
		return nil, err
	}
	l.ds.Digest = l.digest.sum()
	if l.declared != "" && l.declared != l.ds.Digest && len(l.ds.Problems) == 0 {
		err := fmt.Errorf("%w: the file was written from tasks with digest %.12s, its rows have %.12s; it was changed or damaged, import it again", ErrDigest, l.declared, l.ds.Digest)
		if !tolerant {
			return nil, fmt.Errorf("load dataset %s: %w", loc.path, err)
		}
		l.damage(err)
	}
	return l, nil
}

func (l *loader) readLocation(ctx context.Context, loc location) error {
	if loc.tasks != nil {
		return l.readTasks(ctx, loc.tasks)
	}
	return l.readFile(ctx)
}

func (l *loader) readFile(ctx context.Context) error {
	var err error
	switch source.ParseName(l.ds.Path).Format {
	case source.JSONL:
		err = l.readJSONL(ctx)
	case source.JSON:
		err = l.readJSON(ctx)
	case source.CSV:
		err = l.readCSV(ctx)
	case source.Parquet:
		err = l.readParquet(ctx)
	case source.Arrow:
		err = l.readArrow(ctx)
	}
	if err != nil && !errors.As(err, new(*FamilyError)) { // which names the file itself
		err = fmt.Errorf("load dataset %s: %w", l.ds.Path, err)
	}
	return err
}

// damage notes why a file can't be read on.
func (l *loader) damage(err error) {
	if p := (*tree.Problem)(nil); errors.As(err, &p) {
		l.ds.Path = p.File
		l.problem(position{line: p.Line}, "", rowProblem{field: p.Field, reason: p.Reason, fix: p.Fix})
		return
	}
	reason := strings.TrimPrefix(err.Error(), "load dataset "+l.ds.Path+": ")
	if l.rows > 0 && !errors.Is(err, ErrDigest) {
		reason = fmt.Sprintf("behind row %d it can't be read: %s", l.rows, reason)
	}
	fix := "get the file again, or write it again"
	if kind := (*source.KindError)(nil); errors.As(err, &kind) {
		reason, fix = strings.TrimSuffix(reason, "; "+kind.Fix), kind.Fix
	}
	l.problem(position{}, "", rowProblem{reason: reason, fix: fix})
}

func (l *loader) readJSONL(ctx context.Context) error {
	f, err := source.Open(l.ds.Path, l.opts.MaxBytes)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	lines := strictjson.NewLines(f, l.opts.MaxRecordBytes)
	var r row
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if l.rows == 0 && err == nil && rec[0] == '[' {
			return errors.New("the file is a JSON list, not one row a line; name it .json")
		}
		if err := l.record(&r, rec, line, err); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func (l *loader) readJSON(ctx context.Context) error {
	f, err := source.Open(l.ds.Path, l.opts.MaxBytes)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	doc, err := strictjson.NewDocument(f, l.opts.MaxRecordBytes)
	if err != nil {
		return err
	}
	if !doc.IsList() {
		return l.readObject(doc)
	}
	var r row
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, line, err := doc.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err := l.record(&r, rec, line, err); err != nil {
			return err
		}
	}
}

// readObject reads a file that is one row.
func (l *loader) readObject(doc *strictjson.Document) error {
	rec, isRow := []byte("{"), false
	for {
		member, line, err := doc.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && len(rec)+len(member) > l.opts.MaxRecordBytes {
			err = &strictjson.TooLargeError{Max: l.opts.MaxRecordBytes}
		}
		if err != nil {
			return fmt.Errorf("line %d: %w; if the file has one row a line, name it .jsonl", line, err)
		}
		isRow = isRow || bytes.HasPrefix(member, []byte(`{"instance_id"`)) || bytes.HasPrefix(member, []byte(`{"org"`))
		if len(rec) > 1 {
			rec = append(rec, ',')
		}
		rec = append(rec, member[1:len(member)-1]...)
	}
	if !isRow {
		return errors.New("the file starts with an object, a list of rows is expected; if it has one row a line, name it .jsonl")
	}
	var r row
	return l.record(&r, append(rec, '}'), 1, nil)
}

// record takes one JSON record, or the error in its place. Errors that leave
// the rest of the stream readable become problems.
func (l *loader) record(r *row, rec []byte, line int, err error) error {
	if err != nil && !errors.As(err, new(*strictjson.TooLargeError)) && !errors.Is(err, errBadRecord) {
		return err
	}
	pos := position{row: l.rows + 1, line: line}
	if err == nil {
		err = jsonRow(rec, r)
	}
	if err != nil {
		l.rows++
		l.family.rows++
		l.problem(pos, "", rowProblem{reason: err.Error(), fix: "correct the row or remove it"})
		return nil
	}
	return l.add(r, pos)
}

// add takes a row that was taken apart.
func (l *loader) add(r *row, pos position) error {
	l.rows++
	if err := r.checkSize(l.opts.MaxRecordBytes); err != nil {
		l.family.rows++
		l.problem(pos, "", rowProblem{reason: err.Error(), fix: "shorten the row or remove it"})
		return nil
	}
	fam, other := l.family.of(r, pos, l.ds.Path)
	t, problems := r.build(fam)
	if l.opts.Grading {
		problems = slices.DeleteFunc(problems, func(p rowProblem) bool {
			return p.missing && (p.field == "patch" || p.field == "test_patch" || p.field == "base_commit")
		})
	}
	l.family.row(r, fam, problems)
	if other != nil {
		problems = append(problems, *other)
	}
	bad := false
	for _, p := range problems {
		bad = bad || !p.warning
		l.problem(pos, t.InstanceID, p)
	}
	if p := l.twin(t.InstanceID, pos); p != nil {
		bad = true
		l.problem(pos, t.InstanceID, *p)
	}
	if bad {
		return nil
	}
	if _, err := l.digest.add(&t); err != nil {
		return err
	}
	l.ds.Tasks = append(l.ds.Tasks, t)
	return nil
}
