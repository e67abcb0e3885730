package arrowcheck

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// shape is what a field of a table is.
type shape struct {
	size   int                      // bytes of a scalar, or of an element of a vector of scalars or structs
	vector bool                     // a vector; of tables when of is set
	text   bool                     // a string: a vector of bytes with a zero behind it
	of     []*shape                 // the fields of a table
	union  func(kind byte) []*shape // a table whose kind the field before it says
}

func scalar(size int) *shape             { return &shape{size: size} }
func vector(size int) *shape             { return &shape{size: size, vector: true} }
func table(of []*shape) *shape           { return &shape{of: of} }
func tables(of []*shape) *shape          { return &shape{of: of, vector: true} }
func union(f func(byte) []*shape) *shape { return &shape{union: f} }

var text = &shape{text: true}

// Tables of the format, by the numbers of their fields.
var (
	keyValue    = []*shape{text, text}
	recordBatch = []*shape{batchLength: scalar(8), batchNodes: vector(16), batchBuffers: vector(16), batchCompression: table([]*shape{scalar(1), scalar(1)}), 4: vector(8)}
	message     = []*shape{
		scalar(2), messageKind: scalar(1), messageHeader: union(func(kind byte) []*shape {
			switch kind {
			case kindSchema:
				return []*shape{scalar(2), tables(column()), tables(keyValue), vector(8)}
			case kindDictionary:
				return []*shape{scalar(8), dictionaryData: table(recordBatch), scalar(1)}
			case kindBatch:
				return recordBatch
			}
			return nil
		}),
		messageBody: scalar(8), tables(keyValue),
	}
)

const (
	kindSchema     = 1
	kindDictionary = 2
	kindBatch      = 3

	messageKind   = 1
	messageHeader = 2
	messageBody   = 3

	dictionaryData = 1

	batchLength      = 0
	batchNodes       = 1
	batchBuffers     = 2
	batchCompression = 3
)

// column is the table Field, whose children are such tables.
func column() []*shape {
	f := []*shape{
		text, scalar(1), scalar(1), union(columnType),
		table([]*shape{scalar(8), table(columnType(0)), scalar(1), scalar(2)}), // dictionary
		nil, tables(keyValue),
	}
	f[5] = tables(f)
	return f
}

// columnType is the table of a type. All but two hold up to three small numbers.
func columnType(kind byte) []*shape {
	const timestamp, unionType = 10, 14
	switch kind {
	case timestamp:
		return []*shape{scalar(2), text}
	case unionType:
		return []*shape{scalar(2), vector(4)}
	}
	return []*shape{scalar(1), scalar(1), scalar(1)}
}

const (
	maxDepth = 64
	// maxTables bounds the work: tables may be named more than once.
	maxTables = 100_000
)

var errDamaged = errors.New("its description of the data is damaged")

// buffer is a message's metadata.
type buffer struct {
	b    []byte
	left int // tables that may still be looked at
}

func (f *buffer) within(at, n int) bool {
	return at >= 0 && n >= 0 && at <= len(f.b) && n <= len(f.b)-at
}

func (f *buffer) u32(at int) (int, bool) {
	if !f.within(at, 4) {
		return 0, false
	}
	return int(binary.LittleEndian.Uint32(f.b[at:])), true
}

// follow goes where the offset at a place leads.
func (f *buffer) follow(at int) (int, bool) {
	off, ok := f.u32(at)
	return at + off, ok && off > 0 && f.within(at+off, 4)
}

// field is where a field of the table at pos stands, 0 when it has its default.
func (f *buffer) field(pos, number int) int {
	v := pos - int(int32(binary.LittleEndian.Uint32(f.b[pos:])))
	entry := v + 4 + 2*number
	if entry+2 > v+int(binary.LittleEndian.Uint16(f.b[v:])) {
		return 0
	}
	off := int(binary.LittleEndian.Uint16(f.b[entry:]))
	if off == 0 {
		return 0
	}
	return pos + off
}

// check looks at the table at pos and all that it names.
func (f *buffer) check(pos int, fields []*shape, depth int) error {
	if f.left--; f.left < 0 || depth > maxDepth {
		return fmt.Errorf("%w: it is nested too deeply, or holds too much", errDamaged)
	}
	back, ok := f.u32(pos)
	v := pos - int(int32(uint32(back)))
	if !ok || !f.within(v, 4) {
		return errDamaged
	}
	// Readers differ in what they see in half an entry.
	if size := int(binary.LittleEndian.Uint16(f.b[v:])); size < 4 || size%2 != 0 || !f.within(v, size) {
		return errDamaged
	}
	for number, s := range fields {
		at := f.field(pos, number)
		if at == 0 {
			continue
		}
		if err := f.checkField(pos, at, number, s, depth); err != nil {
			return err
		}
	}
	return nil
}

func (f *buffer) checkField(pos, at, number int, s *shape, depth int) error {
	if s.of == nil && s.union == nil && !s.vector && !s.text {
		if !f.within(at, s.size) {
			return errDamaged
		}
		return nil
	}
	to, ok := f.follow(at)
	if !ok {
		return errDamaged
	}
	switch {
	case s.union != nil:
		kind := byte(0)
		if k := f.field(pos, number-1); k != 0 {
			kind = f.b[k] // checked before: the fields are in order
		}
		return f.check(to, s.union(kind), depth+1)
	case !s.vector && !s.text:
		return f.check(to, s.of, depth+1)
	}
	n, _ := f.u32(to)
	size := s.size
	switch {
	case s.text:
		size = 1
	case s.of != nil:
		size = 4
	}
	if n > len(f.b) || !f.within(to+4, n*size) {
		return errDamaged
	}
	if s.of == nil {
		return nil
	}
	for i := range n {
		one, ok := f.follow(to + 4 + 4*i)
		if !ok {
			return errDamaged
		}
		if err := f.check(one, s.of, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// i64 reads a field of eight bytes of a checked table, 0 when it is not there.
func (f *buffer) i64(pos, number int) int64 {
	if at := f.field(pos, number); at != 0 {
		return int64(binary.LittleEndian.Uint64(f.b[at:]))
	}
	return 0
}

// pairs hands the pairs of a vector of structs, two numbers of eight bytes each, to fn.
func (f *buffer) pairs(pos, number int, fn func(a, b int64) error) error {
	at := f.field(pos, number)
	if at == 0 {
		return nil
	}
	to, _ := f.follow(at)
	n, _ := f.u32(to)
	for i := range n {
		p := f.b[to+4+16*i:]
		if err := fn(int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint64(p[8:]))); err != nil {
			return err
		}
	}
	return nil
}
