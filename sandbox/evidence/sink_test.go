package evidence_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"harness/sandbox/evidence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAllArrives(t *testing.T) {
	r := listen(t, evidence.Options{})
	s := connect(t, r.socket)
	for i := range int32(500) {
		s.send(typTaskExit, at(1, i+1, i+1))
	}
	s.end()
	sum := r.close()
	if !sum.Complete || sum.Messages != 500 || sum.Counts[evidence.KindExit] != 500 || len(r.events()) != 500 {
		t.Errorf("%d events in the file, %+v", len(r.events()), sum)
	}
	if _, err := os.Lstat(r.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("socket after Close: %v", err)
	}
	again, err := r.sink.Close(done())
	if err != nil || !reflect.DeepEqual(again, sum) {
		t.Errorf("second Close: %+v, %v", again, err)
	}
	stored, err := evidence.Read(bytes.NewReader(r.out.Bytes()), func(evidence.Event) error { return nil })
	if err != nil || stored.Messages != 500 || !stored.Complete {
		t.Errorf("summary in the file: %+v, %v", stored, err)
	}
}

func TestGaps(t *testing.T) {
	exit := at(1, 5, 5)
	for name, c := range map[string]struct {
		limits evidence.Limits
		send   func(*sentry)
		want   string // a gap
		check  func(evidence.Summary) bool
	}{
		"no header":           {send: func(s *sentry) { s.write([]byte{8, 0, 5}) }, want: "1 malformed messages: short header"},
		"header too small":    {send: func(s *sentry) { s.write([]byte{4, 0, 5, 0, 0, 0, 0, 0}) }, want: "1 malformed messages: header size"},
		"header behind end":   {send: func(s *sentry) { s.write([]byte{9, 0, 5, 0, 0, 0, 0, 0}) }, want: "1 malformed messages: header size"},
		"unknown type":        {send: func(s *sentry) { s.send(999, exit) }, want: "1 malformed messages: unknown type"},
		"garbage":             {send: func(s *sentry) { s.send(typExec, msg("\xff\xff\xff\xff")) }, want: "not the protobuf it says"},
		"partial":             {send: func(s *sentry) { s.send(typTaskExit, exit[:len(exit)-1]) }, want: "not the protobuf it says"},
		"another wire type":   {send: func(s *sentry) { s.send(typTaskExit, exit.str(2, "x")) }, want: "not the protobuf it says"},
		"no context":          {send: func(s *sentry) { s.send(typTaskExit, nil) }, want: "no thread id"},
		"negative thread":     {send: func(s *sentry) { s.send(typTaskExit, at(1, -5, -5)) }, want: "no thread id"},
		"digest of other len": {send: func(s *sentry) { s.send(typExec, exit.str(8, "short")) }, want: "not the protobuf it says"},
		"dropped": {
			send: func(s *sentry) {
				s.write(packet(typTaskExit, 3, exit))
				s.write(packet(typTaskExit, 2, exit)) // of another thread, late
				s.write(packet(typTaskExit, 7, exit))
			},
			want:  "7 events dropped by the sandbox's kernel",
			check: func(s evidence.Summary) bool { return s.Dropped == 7 && s.Counts[evidence.KindExit] == 4 },
		},
		"dropped count wraps": {
			send: func(s *sentry) {
				s.write(packet(typTaskExit, 1<<31-1, exit))
				s.write(packet(typTaskExit, 1<<32-2, exit))
				s.write(packet(typTaskExit, 3, exit))
			},
			want:  "4294967299 events dropped",
			check: func(s evidence.Summary) bool { return s.Dropped == 1<<32+3 },
		},
		"too many": {
			limits: evidence.Limits{Messages: 2},
			send: func(s *sentry) {
				for range 3 {
					_, _ = s.conn.Write(packet(typTaskExit, 0, exit)) // the last may be refused already
				}
			},
			want:  "no more was read: 2 messages",
			check: func(s evidence.Summary) bool { return s.Messages == 2 },
		},
		"too much": {
			limits: evidence.Limits{Bytes: 1000},
			send: func(s *sentry) {
				for range 3 {
					_, _ = s.conn.Write(packet(typTaskExit, 0, exit.str(9, strings.Repeat("x", 600))))
				}
			},
			want:  "no more was read: 1000 bytes of messages",
			check: func(s evidence.Summary) bool { return s.Messages == 2 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := listen(t, evidence.Options{Limits: c.limits})
			s := connect(t, r.socket)
			c.send(s)
			_, _ = s.conn.Write(packet(typTaskExit, 0, at(2, 6, 6))) // reading goes on, unless a limit ended it
			s.end()
			sum := r.close()
			if sum.Complete || !strings.Contains(strings.Join(sum.Gaps, "\n"), c.want) {
				t.Errorf("gaps %q, want %q", sum.Gaps, c.want)
			}
			if c.limits == (evidence.Limits{}) && r.events()[len(r.events())-1].PID != 6 {
				t.Error("the next message was not read")
			}
			if c.check != nil && !c.check(sum) {
				t.Errorf("%+v", sum)
			}
			rows := sum.Events()
			if last := rows[len(rows)-1]; last.Kind != "evidence_incomplete" || !strings.Contains(last.Detail, c.want) || last.Time.IsZero() {
				t.Errorf("row %+v", last)
			}
		})
	}
}

func TestPacketTooLong(t *testing.T) {
	r := listen(t, evidence.Options{})
	s := connect(t, r.socket)
	if err := s.conn.SetWriteBuffer(2 << 20); err != nil {
		t.Fatal(err)
	}
	if _, err := s.conn.Write(packet(typTaskExit, 0, at(1, 5, 5).str(9, strings.Repeat("x", 300<<10)))); err != nil {
		t.Skipf("this machine has no packets of 300 KiB (net.core.wmem_max, as root it doesn't matter): %v", err)
	}
	s.send(typTaskExit, at(1, 6, 6))
	s.end()
	if sum := r.close(); sum.Malformed["message too long"] != 1 || sum.Counts[evidence.KindExit] != 1 {
		t.Errorf("%+v", sum)
	}
}

func TestNobodyConnects(t *testing.T) {
	r := listen(t, evidence.Options{})
	sum := r.close()
	if sum.Complete || sum.Connected || len(sum.Events()) != 1 {
		t.Errorf("%+v", sum)
	}
}

func TestBadHandshake(t *testing.T) {
	r := listen(t, evidence.Options{})
	for _, hello := range []msg{msg("\xff\xff"), msg{}.num(1, 0), msg{}.str(1, "one"), msg{}.num(2, 1)} {
		s := dial(t, r.socket)
		s.write(hello)
		if n, err := s.conn.Read(make([]byte, 10)); !errors.Is(err, io.EOF) {
			t.Errorf("%x is answered with %d bytes, %v", hello, n, err)
		}
	}
	s := connect(t, r.socket) // the right one is welcome still
	s.end()
	if sum := r.close(); !sum.Connected || sum.Malformed["handshake"] != 4 || sum.Complete {
		t.Errorf("%+v", sum)
	}
}

// When nobody is awaited any more, a sandbox must not wait for an answer either.
func TestHandshakesEnd(t *testing.T) {
	r := listen(t, evidence.Options{})
	for range 8 {
		s := dial(t, r.socket)
		s.write(msg("\xff"))
		_, _ = s.conn.Read(make([]byte, 10))
	}
	if late, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: r.socket, Net: "unixpacket"}); err == nil {
		_, err = late.Read(make([]byte, 10)) // it came while the socket was being closed
		if err == nil {
			t.Error("the ninth is answered")
		}
		_ = late.Close()
	}
	sum := r.close()
	if sum.Connected || sum.Limit == "" || sum.Malformed["handshake"] != 8 {
		t.Errorf("%+v", sum)
	}
}

// A connection that says nothing must not keep Close.
func TestCloseDuringHandshake(t *testing.T) {
	r := listen(t, evidence.Options{})
	dial(t, r.socket)
	if sum, err := r.sink.Close(done()); err != nil || sum.Connected || sum.Complete {
		t.Errorf("%+v, %v", sum, err)
	}
}

func TestSecondConnectionIsRefused(t *testing.T) {
	r := listen(t, evidence.Options{})
	first := connect(t, r.socket)
	second := dial(t, r.socket)
	_, _ = second.conn.Write(msg{}.num(1, 1)) // may come after it was closed
	if n, err := second.conn.Read(make([]byte, 10)); n != 0 || err == nil {
		t.Errorf("second connection is answered: %d bytes, %v", n, err)
	}
	first.send(typTaskExit, at(1, 5, 5))
	first.end()
	if sum := r.close(); sum.Refused != 1 || sum.Counts[evidence.KindExit] != 1 {
		t.Errorf("%+v", sum)
	}
}

func TestCloseCutsButDrains(t *testing.T) {
	r := listen(t, evidence.Options{})
	s := connect(t, r.socket)
	for range 100 {
		s.send(typTaskExit, at(1, 5, 5))
	}
	sum, err := r.sink.Close(done())
	if err != nil {
		t.Fatal(err)
	}
	if sum.Ended || sum.Complete || sum.Counts[evidence.KindExit] != 100 {
		t.Errorf("%+v", sum)
	}
	if _, err := s.conn.Write([]byte("x")); err == nil {
		t.Error("the sentry can still send")
	}
}

// slow is an output that stands still until it is let go.
type slow struct {
	let chan struct{}
	buf bytes.Buffer
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.let
	return s.buf.Write(p)
}

// The sandbox's kernel must get rid of its messages however slow the file is.
func TestSlowOutput(t *testing.T) {
	out := &slow{let: make(chan struct{})}
	r := listen(t, evidence.Options{Out: out, Limits: evidence.Limits{PerSecond: 1e6}})
	s := connect(t, r.socket)
	const n = 20_000
	long := strings.Repeat("x", 500)
	for i := range n {
		s.send(typExec, at(uint64(i), 5, 5).str(2, "/bin/"+long))
	}
	s.end()
	close(out.let)
	sum := r.close()
	if sum.Counts[evidence.KindExec] != n || sum.Dropped != 0 {
		t.Errorf("%+v", sum)
	}
	written := int64(0)
	stored, err := evidence.Read(&out.buf, func(evidence.Event) error { written++; return nil })
	if err != nil || written+sum.Unwritten != n || sum.Unwritten == 0 || stored.Unwritten != sum.Unwritten || sum.Complete {
		t.Errorf("%d written, %d not, %+v, %v", written, sum.Unwritten, stored, err)
	}
}

func TestFileKeepsHead(t *testing.T) {
	r := listen(t, evidence.Options{Limits: evidence.Limits{FileBytes: 64 << 10}})
	s := connect(t, r.socket)
	const n = 3000
	for i := range n {
		s.send(typTaskExit, at(uint64(i+1), 5, 5))
	}
	s.end()
	sum := r.close()
	events := r.events()
	if int64(len(events))+sum.Unwritten != n || len(events) < 100 || sum.Complete {
		t.Errorf("%d written, %+v", len(events), sum)
	}
	for i, e := range events {
		if e.Time.Unix() != int64(i+1) {
			t.Fatalf("event %d is that of second %d", i, e.Time.Unix())
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestBrokenOutput(t *testing.T) {
	r := listen(t, evidence.Options{Out: broken{}})
	s := connect(t, r.socket)
	s.send(typTaskExit, at(1, 5, 5))
	s.end()
	sum, err := r.sink.Close(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v", err)
	}
	if sum.Counts[evidence.KindExit] != 1 || sum.Complete {
		t.Errorf("%+v", sum)
	}
}

func TestListenRefuses(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "taken")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]evidence.Options{
		"relative path":  {Socket: "s"},
		"long path":      {Socket: "/" + strings.Repeat("x", 107)},
		"taken path":     {Socket: taken},
		"bad pattern":    {Socket: "/tmp/never", Watch: evidence.Watch{Any: []string{"["}}},
		"relative below": {Socket: "/tmp/never", Watch: evidence.Watch{Write: []string{"folder/"}}},
		"tiny file":      {Socket: "/tmp/never", Limits: evidence.Limits{FileBytes: 1}},
	} {
		if s, err := evidence.Listen(o); err == nil {
			t.Errorf("%s: no error", name)
			_, _ = s.Close(done())
		}
	}
}

func TestSocketIsPrivate(t *testing.T) {
	r := listen(t, evidence.Options{})
	info, err := os.Stat(r.socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := net.Dial("unix", r.socket); err == nil {
		t.Error("a stream socket connects")
	}
}
