package reports

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// column says how one column of a table with rows R is named, typed, described
// and filled. Tables are lists of them, so that a column is one line of code and
// one line of docs/results.md.
type column[R any] struct {
	name, unit, desc string
	absent           string // what null means; "" is "not known"
	typ              arrow.DataType
	required         bool // never null
	isVolatile       bool // may differ between two runs of the same input
	distinct         bool // mostly distinct values: a dictionary would only cost
	fill             func(array.Builder, R)
}

// volatile marks a column that may differ between two runs of the same input.
func (c column[R]) volatile() column[R] { c.isVolatile = true; return c }

// in names the unit.
func (c column[R]) in(unit string) column[R] { c.unit = unit; return c }

// key marks a column that is never null.
func (c column[R]) key() column[R] { c.required = true; return c }

// unique marks a column that a dictionary would not make smaller.
func (c column[R]) unique() column[R] { c.distinct = true; return c }

// null says what null means where it is more than "not known".
func (c column[R]) null(means string) column[R] { c.absent = means; return c }

func (c column[R]) nullMeans() string {
	switch {
	case c.required:
		return "never null"
	case c.absent == "":
		return "not known"
	}
	return c.absent
}

func (c column[R]) field() arrow.Field {
	keys, values := []string{"description", "null"}, []string{c.desc, c.nullMeans()}
	if c.unit != "" {
		keys, values = append(keys, "unit"), append(values, c.unit)
	}
	if c.isVolatile {
		keys, values = append(keys, volatileKey), append(values, "true")
	}
	return arrow.Field{Name: c.name, Type: c.typ, Nullable: !c.required, Metadata: arrow.NewMetadata(keys, values)}
}

const volatileKey = "volatile"

var (
	timestampUTC = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	listOfText   = arrow.ListOfField(arrow.Field{Name: "element", Type: arrow.BinaryTypes.String})
)

// text stores "" as null: an empty string in the record means "not known".
func text[R any](name, desc string, get func(R) string) column[R] {
	return column[R]{name: name, desc: desc, typ: arrow.BinaryTypes.String, fill: func(b array.Builder, r R) {
		if s := get(r); s != "" {
			b.(*array.StringBuilder).Append(s)
		} else {
			b.AppendNull()
		}
	}}
}

func int32s[R any](name, desc string, get func(R) *int32) column[R] {
	return column[R]{name: name, desc: desc, typ: arrow.PrimitiveTypes.Int32, fill: func(b array.Builder, r R) {
		if v := get(r); v != nil {
			b.(*array.Int32Builder).Append(*v)
		} else {
			b.AppendNull()
		}
	}}
}

func int64s[R any](name, desc string, get func(R) *int64) column[R] {
	return column[R]{name: name, desc: desc, typ: arrow.PrimitiveTypes.Int64, fill: func(b array.Builder, r R) {
		if v := get(r); v != nil {
			b.(*array.Int64Builder).Append(*v)
		} else {
			b.AppendNull()
		}
	}}
}

// floats never stores NaN or an infinity: they would spoil every sum over the column.
func floats[R any](name, desc string, get func(R) *float64) column[R] {
	return column[R]{name: name, desc: desc, typ: arrow.PrimitiveTypes.Float64, distinct: true, fill: func(b array.Builder, r R) {
		if v := finite(get(r)); v != nil {
			b.(*array.Float64Builder).Append(*v)
		} else {
			b.AppendNull()
		}
	}}
}

func bools[R any](name, desc string, get func(R) *bool) column[R] {
	return column[R]{name: name, desc: desc, typ: arrow.FixedWidthTypes.Boolean, fill: func(b array.Builder, r R) {
		if v := get(r); v != nil {
			b.(*array.BooleanBuilder).Append(*v)
		} else {
			b.AppendNull()
		}
	}}
}

// times are always volatile. The zero time is null.
func times[R any](name, desc string, get func(R) time.Time) column[R] {
	return column[R]{name: name, unit: "us since 1970-01-01 UTC", desc: desc, typ: timestampUTC, isVolatile: true, distinct: true, fill: func(b array.Builder, r R) {
		if t := get(r); !t.IsZero() {
			b.(*array.TimestampBuilder).Append(arrow.Timestamp(t.UnixMicro()))
		} else {
			b.AppendNull()
		}
	}}
}

// lists stores an empty list where known is true, null where it is not.
func lists[R any](name, desc string, get func(R) (list []string, known bool)) column[R] {
	return column[R]{name: name, desc: desc, typ: listOfText, fill: func(b array.Builder, r R) {
		list, known := get(r)
		if !known {
			b.AppendNull()
			return
		}
		lb := b.(*array.ListBuilder)
		lb.Append(true)
		vb := lb.ValueBuilder().(*array.StringBuilder)
		for _, s := range list {
			vb.Append(s)
		}
	}}
}
