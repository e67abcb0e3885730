package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"harness/datasets/internal/source"
	"harness/datasets/internal/strictjson"
)

// Keys of the file metadata that WriteParquet writes.
const (
	metaDigest = "harness.dataset.digest"
	metaName   = "harness.dataset.name"
	metaSplit  = "harness.dataset.split"
	metaSource = "harness.dataset.source" // only where there is one
)

// parquetBatch is how many rows are held besides the tasks already read.
const parquetBatch = 64

func (l *loader) readParquet(ctx context.Context) (err error) {
	// The Parquet library panics on some damaged files.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read parquet: the file is damaged: %v", r)
		}
	}()
	f, err := source.OpenAt(l.ds.Path, l.opts.MaxBytes)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := parquetWhole(f); err != nil {
		return err
	}
	pf, err := file.NewParquetReader(f)
	if err != nil {
		return parquetError(err)
	}
	defer func() { _ = pf.Close() }()
	if err := l.parquetHeader(pf); err != nil {
		return err
	}
	if pf.NumRows() == 0 {
		return nil
	}
	// The types of the columns do without the writer's own schema, whose form the
	// library trusts: a damaged one asks for any amount of memory.
	pf.MetaData().FileMetaData.KeyValueMetadata = nil
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: parquetBatch}, memory.NewGoAllocator())
	if err != nil {
		return parquetError(err)
	}
	leaves, err := l.parquetColumns(pf, fr)
	if err != nil {
		return err
	}
	end := 0 // of the rows so far, as the file says
	for g := range pf.NumRowGroups() {
		end += int(max(0, pf.MetaData().RowGroup(g).NumRows()))
		damage, err := l.rowGroup(ctx, fr, g, leaves)
		if err != nil {
			return err
		}
		if damage == nil && l.rows != end {
			damage = fmt.Errorf("read parquet: %d of %d rows could be read: the file is damaged", l.rows, end)
		}
		if damage == nil {
			continue
		}
		if !l.tolerant {
			return damage
		}
		// Row groups are stored apart, so the next one may be whole.
		l.problem(position{row: l.rows + 1}, "", rowProblem{
			reason: fmt.Sprintf("from here to row %d the file can't be read: %v", end, damage), fix: "get the file again, or write it again",
		})
		l.rows = end
	}
	if int64(end) != pf.NumRows() {
		return fmt.Errorf("read parquet: its row groups hold %d rows, and it says that it has %d: the file is damaged", end, pf.NumRows())
	}
	return ctx.Err()
}

// rowGroup reads the rows of one row group. Damage is what keeps it from being
// read to its end.
func (l *loader) rowGroup(ctx context.Context, fr *pqarrow.FileReader, g int, leaves []int) (damage, err error) {
	// The Parquet library panics on some damaged files.
	defer func() {
		if r := recover(); r != nil {
			damage = fmt.Errorf("read parquet: the file is damaged: %v", r)
		}
	}()
	rr, err := fr.GetRecordReader(ctx, leaves, []int{g})
	if err != nil {
		return parquetError(err), nil
	}
	defer rr.Release()
	for rr.Next() {
		if err := l.batch(ctx, rr.RecordBatch()); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := rr.Err(); err != nil {
		return parquetError(err), nil
	}
	return nil, nil
}

// parquetWhole tells a file that was cut off, by far the most usual damage, by the
// mark at its end.
func parquetWhole(f *os.File) error {
	const mark = "PAR1"
	info, err := f.Stat()
	if err != nil || info.Size() < int64(2*len(mark)) {
		return err // what else is wrong, the reader says
	}
	end := make([]byte, len(mark))
	if _, err := f.ReadAt(end, info.Size()-int64(len(end))); err != nil {
		return err
	}
	if string(end) != mark {
		return errors.New("read parquet: the file does not end as it must: it was cut off")
	}
	return nil
}

// parquetError says where an error is from; the library often does so itself.
func parquetError(err error) error {
	if strings.HasPrefix(err.Error(), "parquet: ") {
		return fmt.Errorf("read %w", err)
	}
	return fmt.Errorf("read parquet: %w", err)
}

func (l *loader) parquetHeader(pf *file.Reader) error {
	var size int64
	for i := range pf.NumRowGroups() {
		size += pf.MetaData().RowGroup(i).TotalByteSize()
	}
	if size > l.opts.MaxBytes {
		return &source.TooBigError{Max: l.opts.MaxBytes}
	}
	kv := pf.MetaData().KeyValueMetadata()
	for key, into := range map[string]*string{metaDigest: &l.declared, metaName: &l.ds.Name, metaSplit: &l.ds.Split, metaSource: &l.ds.Source} {
		if v := kv.FindValue(key); v != nil && *v != "" {
			*into = *v
		}
	}
	if l.opts.Split != "" && l.ds.Split != l.opts.Split {
		return fmt.Errorf("the file holds split %q, not %q", l.ds.Split, l.opts.Split)
	}
	return nil
}

// parquetColumns returns the leaf columns of the fields that the schema or a
// family knows, so that the others are never decoded.
func (l *loader) parquetColumns(pf *file.Reader, fr *pqarrow.FileReader) ([]int, error) {
	sc, err := fr.Schema()
	if err != nil {
		return nil, parquetError(err)
	}
	var r row
	for _, f := range sc.Fields() {
		c := r.at(f.Name)
		if _, known := fieldIndex[f.Name]; !known {
			r.names = append(r.names, f.Name)
		}
		if c == nil {
			continue
		}
		if c.kind != strictjson.Absent {
			return nil, fmt.Errorf("read parquet: there are two columns named %s", f.Name)
		}
		c.kind = strictjson.Null
	}
	var missing []rowProblem
	for i, f := range fields {
		if f.required && r.cells[i].kind == strictjson.Absent {
			missing = append(missing, rowProblem{field: f.name, missing: true})
		}
	}
	// What a family's rows lack is told row by row: its members may be null.
	if len(missing) > 0 && familyOf(&r) == nil {
		return nil, parquetFamily(l.ds.Path, &r, missing)
	}
	var leaves []int
	schema := pf.MetaData().Schema
	for i := range schema.NumColumns() {
		top, _, _ := strings.Cut(schema.Column(i).Path(), ".")
		if r.at(top) != nil {
			leaves = append(leaves, i)
		}
	}
	return leaves, nil
}

// parquetFamily is for files that lack whole columns: one error instead of one a row.
func parquetFamily(path string, r *row, missing []rowProblem) error {
	var w familyWatch
	w.row(r, nil, missing)
	if err := w.err(path); err != nil {
		return err
	}
	names := make([]string, len(missing))
	for i, p := range missing {
		names[i] = p.field
	}
	return fmt.Errorf("read parquet: there is no column %s; the row schema requires it", strings.Join(names, ", "))
}

func (l *loader) batch(ctx context.Context, rec arrow.RecordBatch) error {
	for i := range int(rec.NumRows()) {
		if err := ctx.Err(); err != nil {
			return err
		}
		var r row
		for j := range int(rec.NumCols()) {
			name := rec.ColumnName(j)
			f, known := fieldIndex[name]
			*r.at(name) = arrowCell(rec.Column(j), i, known && fields[f].shape == shapeList)
		}
		if err := l.add(&r, position{row: l.rows + 1}); err != nil {
			return err
		}
	}
	return nil
}

// arrowCell reads one value of a column; list says that the field is a list of
// strings. Strings are copied: the arrow buffers are reused.
func arrowCell(col arrow.Array, i int, list bool) cell {
	if d, ok := col.(*array.Dictionary); ok && !d.IsNull(i) {
		return arrowCell(d.Dictionary(), d.GetValueIndex(i), list)
	}
	if _, null := col.(*array.Null); null || col.IsNull(i) {
		return cell{kind: strictjson.Null}
	}
	switch a := col.(type) {
	case array.StringLike:
		return textCell(a.Value(i))
	case *array.Binary:
		return textCell(string(a.Value(i)))
	case *array.LargeBinary:
		return textCell(string(a.Value(i)))
	case array.ListLike:
		if list {
			return listCell(a, i)
		}
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit
		return textCell(a.Value(i).ToTime(unit).UTC().Format(time.RFC3339Nano))
	}
	w := arrowWriter{limit: maxRecord}
	if err := w.value(col, i); err != nil {
		return cell{kind: strictjson.Absent, err: err}
	}
	v, err := strictjson.Parse(w.to)
	if err != nil {
		return cell{kind: strictjson.Absent, err: err}
	}
	return cell{kind: v.Kind, raw: v.Raw}
}

func textCell(s string) cell {
	c := cell{kind: strictjson.String, text: strings.Clone(s)}
	if !utf8.ValidString(s) {
		c.err = errors.New("it is not valid UTF-8")
	}
	return c
}

func listCell(a array.ListLike, i int) cell {
	c := cell{kind: strictjson.Array, list: []string{}}
	start, end := a.ValueOffsets(i)
	values := a.ListValues()
	for k := start; k < end; k++ {
		v := arrowCell(values, int(k), false)
		if v.kind == strictjson.String && v.err == nil {
			c.list = append(c.list, v.text)
			continue
		}
		if c.err = v.err; c.err == nil {
			c.err = fmt.Errorf("it is %s, a string is expected", v.kind)
		}
		c.err = fmt.Errorf("element %d: %w", k-start+1, c.err)
		break
	}
	return c
}
