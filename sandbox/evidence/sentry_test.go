package evidence_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"harness/sandbox/evidence"
)

// msg is a protobuf message under construction.
type msg []byte

func (m msg) num(field protowire.Number, v uint64) msg {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func (m msg) str(field protowire.Number, s string) msg {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m msg) sub(field protowire.Number, inner msg) msg { return m.str(field, string(inner)) }

// at is the context of thread tid in process pid, second sec of the epoch.
func at(sec uint64, pid, tid int32) msg {
	return msg{}.sub(1, msg{}.num(1, sec*1e9).num(2, uint64(tid)).num(4, uint64(pid)))
}

// ret adds the end of a system call.
func (m msg) ret(result, errno int64) msg {
	return m.sub(2, msg{}.num(1, uint64(result)).num(2, uint64(errno)))
}

// raw adds a system call's number and first arguments.
func (m msg) raw(sysno uint64, args ...uint64) msg {
	m = m.num(4, sysno)
	for i, a := range args {
		m = m.num(protowire.Number(5+i), a)
	}
	return m
}

// Message types as gVisor numbers them.
const (
	typStart, typClone, typExec, typTaskExit, typRaw, typOpen = 1, 2, 3, 5, 6, 7
	typConnect, typExecve, typSocket, typSetid, typBind       = 10, 11, 12, 14, 24
)

// packet puts gVisor's header before m.
func packet(typ uint16, dropped uint32, m msg) []byte {
	b := binary.NativeEndian.AppendUint16(nil, 8)
	b = binary.NativeEndian.AppendUint16(b, typ)
	return append(binary.NativeEndian.AppendUint32(b, dropped), m...)
}

// sentry is the other end of a sink.
type sentry struct {
	t    *testing.T
	conn *net.UnixConn
}

func dial(t *testing.T, socket string) *sentry {
	t.Helper()
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: socket, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &sentry{t, conn}
}

func connect(t *testing.T, socket string) *sentry {
	t.Helper()
	s := dial(t, socket)
	s.write(msg{}.num(1, 1))
	buf := make([]byte, 100)
	if n, err := s.conn.Read(buf); err != nil || !bytes.Equal(buf[:n], msg{}.num(1, 1)) {
		t.Fatalf("handshake: %x, %v", buf[:n], err)
	}
	return s
}

func (s *sentry) write(b []byte) {
	s.t.Helper()
	if _, err := s.conn.Write(b); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sentry) send(typ uint16, m msg) { s.t.Helper(); s.write(packet(typ, 0, m)) }

func (s *sentry) end() { _ = s.conn.Close() }

// rig is a sink that writes into memory.
type rig struct {
	t      *testing.T
	socket string
	out    bytes.Buffer
	sink   *evidence.Sink
}

func listen(t *testing.T, o evidence.Options) *rig {
	t.Helper()
	r := &rig{t: t, socket: filepath.Join(t.TempDir(), "s")}
	o.Socket = r.socket
	if o.Out == nil {
		o.Out = &r.out
	}
	var err error
	if r.sink, err = evidence.Listen(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.sink.Close(done()) })
	return r
}

// done is a context that is over.
func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func (r *rig) close() evidence.Summary {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	sum, err := r.sink.Close(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	return sum
}

// events reads the file back.
func (r *rig) events() []evidence.Event {
	r.t.Helper()
	var list []evidence.Event
	if _, err := evidence.Read(bytes.NewReader(r.out.Bytes()), func(e evidence.Event) error {
		list = append(list, e)
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	return list
}
