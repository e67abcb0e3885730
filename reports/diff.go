package reports

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// maxDifferences bounds what DiffNonVolatile returns.
const maxDifferences = 100

// Difference is one place where two tables of the same kind do not agree.
type Difference struct {
	Column string // "" when the tables differ as a whole
	Row    int64  // from 0; -1 when it is not about a row
	A, B   string // the values, "(null)" for null
}

func (d Difference) String() string {
	switch {
	case d.Column == "":
		return fmt.Sprintf("%s against %s", d.A, d.B)
	case d.Row < 0:
		return fmt.Sprintf("column %s: %s against %s", d.Column, d.A, d.B)
	}
	return fmt.Sprintf("row %d, column %s: %q against %q", d.Row, d.Column, d.A, d.B)
}

// DiffNonVolatile compares two Parquet files of the same table, row by row, in
// the columns that may not differ between two runs of the same input. No
// differences (and no error) means that both runs gave the same result. At most
// 100 differences are returned. A column that one of the files lacks, or that is
// of another type or volatile in only one, is a difference too.
func DiffNonVolatile(pathA, pathB string) (_ []Difference, err error) {
	a, err := openTable(pathA)
	if err != nil {
		return nil, err
	}
	defer a.close()
	b, err := openTable(pathB)
	if err != nil {
		return nil, err
	}
	defer b.close()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("compare %s with %s: %w: %v", pathA, pathB, ErrDamaged, p)
		}
	}()

	diffs, shared := diffSchemas(a.schema, b.schema)
	if x, y := a.reader.NumRows(), b.reader.NumRows(); x != y {
		diffs = append(diffs, Difference{Row: -1, A: fmt.Sprintf("%d rows", x), B: fmt.Sprintf("%d rows", y)})
	}
	if len(shared) == 0 || a.reader.NumRows() == 0 || b.reader.NumRows() == 0 {
		return diffs, nil
	}
	ca, err := newCursor(a, shared)
	if err != nil {
		return nil, err
	}
	defer ca.close()
	cb, err := newCursor(b, shared)
	if err != nil {
		return nil, err
	}
	defer cb.close()

	for row := int64(0); len(diffs) < maxDifferences; {
		n := min(ca.left(), cb.left())
		if n == 0 {
			return diffs, orFirst(ca.err, cb.err)
		}
		diffs = diffBatch(diffs, shared, row, ca, cb, n)
		row += n
		ca.at += n
		cb.at += n
	}
	return diffs[:maxDifferences], nil
}

// diffSchemas returns the differences between two schemas and the columns that
// can be compared.
func diffSchemas(a, b *arrow.Schema) (diffs []Difference, shared []string) {
	have := func(s *arrow.Schema, name string) (string, bool) {
		f, ok := s.FieldsByName(name)
		if !ok {
			return "absent", false
		}
		if isVolatile(f[0]) {
			return "volatile " + f[0].Type.String(), false
		}
		return f[0].Type.String(), true
	}
	var names []string
	for _, f := range slices.Concat(a.Fields(), b.Fields()) {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	for _, name := range names {
		ta, okA := have(a, name)
		tb, okB := have(b, name)
		switch {
		case okA && okB && ta == tb:
			shared = append(shared, name)
		case okA || okB:
			diffs = append(diffs, Difference{Column: name, Row: -1, A: ta, B: tb})
		}
	}
	return diffs, shared
}

func isVolatile(f arrow.Field) bool {
	v, ok := f.Metadata.GetValue(volatileKey)
	return ok && v == "true"
}

// diffBatch compares the next n rows of both cursors, in row order.
func diffBatch(diffs []Difference, names []string, row int64, a, b *cursor, n int64) []Difference {
	from := len(diffs)
	for i, name := range names {
		x, y := a.column(i), b.column(i)
		sx, sy := array.NewSlice(x, a.at, a.at+n), array.NewSlice(y, b.at, b.at+n)
		if !array.Equal(sx, sy) {
			for k := range int(n) {
				if vx, vy := sx.ValueStr(k), sy.ValueStr(k); vx != vy || sx.IsNull(k) != sy.IsNull(k) {
					diffs = append(diffs, Difference{Column: name, Row: row + int64(k), A: vx, B: vy})
				}
				if len(diffs)-from >= maxDifferences {
					break
				}
			}
		}
		sx.Release()
		sy.Release()
	}
	slices.SortStableFunc(diffs[from:], func(x, y Difference) int { return int(x.Row - y.Row) })
	return diffs
}

// cursor walks the chosen columns of a table in batches.
type cursor struct {
	batches pqarrow.RecordReader
	order   []int // place of each chosen column in a batch
	names   []string
	at      int64 // next row in the current batch
	rows    int64 // of the current batch
	err     error
}

func newCursor(t *tableReader, names []string) (*cursor, error) {
	var leaves []int
	for i := range t.reader.MetaData().Schema.NumColumns() {
		if slices.Contains(names, t.reader.MetaData().Schema.Column(i).ColumnPath()[0]) {
			leaves = append(leaves, i)
		}
	}
	batches, err := t.arrow.GetRecordReader(context.Background(), leaves, nil)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.path, err)
	}
	c := &cursor{batches: batches, names: names}
	for _, n := range names {
		c.order = append(c.order, batches.Schema().FieldIndices(n)[0])
	}
	return c, nil
}

// left returns how many rows of the current batch are unread, after fetching the
// next one if there are none; 0 at the end or after an error.
func (c *cursor) left() int64 {
	for c.at >= c.rows {
		if !c.batches.Next() {
			c.err = c.batches.Err()
			return 0
		}
		c.at, c.rows = 0, c.batches.RecordBatch().NumRows()
	}
	return c.rows - c.at
}

func (c *cursor) column(i int) arrow.Array { return c.batches.RecordBatch().Column(c.order[i]) }

func (c *cursor) close() { c.batches.Release() }

func orFirst(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
