package arrowcheck_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"harness/datasets/internal/arrowcheck"
)

// stream is one with columns of all the kinds that hold others or have settings.
func stream(t testing.TB, opts ...ipc.Option) []byte {
	t.Helper()
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "list", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64}, arrow.Field{Name: "b", Type: arrow.FixedWidthTypes.Boolean}))},
		{Name: "word", Type: words, Nullable: true},
		{Name: "when", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Metadata: arrow.NewMetadata([]string{"k"}, []string{"v"})},
		{Name: "fixed", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)},
	}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	const rows = `{"text":"a","list":[{"n":1,"b":true}],"word":"x","when":"2026-01-02T03:04:05Z","fixed":[1,2]}` + "\n" + `{"text":"","list":[],"word":null,"when":"2026-01-02T03:04:05Z","fixed":[3,4]}` + "\n"
	for _, line := range strings.Split(strings.TrimSpace(rows), "\n") {
		if err := b.UnmarshalJSON([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	rec := b.NewRecordBatch()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(opts, ipc.WithSchema(schema))...)
	for range 2 {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func pass(r io.Reader) ([]byte, bool, error) {
	c := arrowcheck.NewReader(r, 1<<20, 1<<20)
	got, err := io.ReadAll(c)
	return got, c.Whole(), err
}

func TestStreamIsPassedOn(t *testing.T) {
	data := stream(t)
	for _, r := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data)), iotest.DataErrReader(bytes.NewReader(data))} {
		got, whole, err := pass(r)
		if err != nil || !whole || !bytes.Equal(got, data) {
			t.Errorf("%d of %d bytes, whole is %t, %v", len(got), len(data), whole, err)
		}
	}
}

func TestCutStreams(t *testing.T) {
	data := stream(t)
	for n := range data {
		if _, whole, err := pass(bytes.NewReader(data[:n])); err == nil || whole {
			t.Fatalf("cut to %d bytes: whole is %t, %v", n, whole, err)
		}
	}
}

func TestRefused(t *testing.T) {
	data := stream(t)
	head := int(binary.LittleEndian.Uint32(data[4:]))
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"a file":        {[]byte("ARROW1\x00\x00" + strings.Repeat("x", 100)), "no stream of Arrow record batches"},
		"long head":     {append([]byte("\xff\xff\xff\xff\xff\xff\xff\x7f"), data[8:]...), "at most 1048576 are taken"},
		"negative head": {append([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"), data[8:]...), "at most 1048576 are taken"},
		"packed":        {stream(t, ipc.WithZstd()), "write it without compression"},
		"zeros":         {append([]byte("\xff\xff\xff\xff\x40\x00\x00\x00"), make([]byte, 100)...), "damaged"},
		"small body":    {data, "at most 10 are taken"},
	} {
		limit := int64(1 << 20)
		if name == "small body" {
			limit = 10
		}
		_, err := io.ReadAll(arrowcheck.NewReader(bytes.NewReader(tt.data), 1<<20, limit))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %q", name, err, tt.want)
		}
	}
	if head < 100 {
		t.Fatalf("the schema has %d bytes", head)
	}
}

// Whatever a description says, the library gets it only if it can read it without
// asking for more memory than the stream has.
func TestDamagedDescriptions(t *testing.T) {
	data := stream(t)
	random := rand.New(rand.NewPCG(1, 2))
	passed, refused := 0, 0
	for range 20_000 {
		damaged := bytes.Clone(data)
		at := random.IntN(len(data) - 8)
		switch random.IntN(3) {
		case 0:
			damaged[at] = byte(random.Uint32())
		case 1:
			binary.LittleEndian.PutUint32(damaged[at:], random.Uint32())
		case 2:
			binary.LittleEndian.PutUint64(damaged[at:], random.Uint64())
		}
		got, whole, err := pass(bytes.NewReader(damaged))
		if err != nil || !whole {
			refused++
			continue
		}
		passed++
		read(t, got)
	}
	if passed == 0 || refused == 0 {
		t.Errorf("%d passed, %d refused", passed, refused)
	}
}

// read has the library read a stream that passed. It may panic, which callers
// expect, but not ask for more than there is: that would end the process.
func read(t *testing.T, data []byte) {
	t.Helper()
	defer func() { _ = recover() }()
	alloc := &counting{Allocator: memory.NewGoAllocator()}
	in, err := ipc.NewReader(bytes.NewReader(data), ipc.WithAllocator(alloc)) // which has no limits
	if err != nil {
		return
	}
	defer in.Release()
	for in.Next() {
		if n := in.RecordBatch().NumRows(); n > int64(len(data)) {
			t.Errorf("%d rows in %d bytes", n, len(data))
		}
	}
	if alloc.most > 64*len(data) {
		t.Errorf("%d bytes were asked for, the stream has %d", alloc.most, len(data))
	}
}

type counting struct {
	memory.Allocator
	most int
}

func (c *counting) Allocate(n int) []byte {
	c.most = max(c.most, n)
	return c.Allocator.Allocate(n)
}
