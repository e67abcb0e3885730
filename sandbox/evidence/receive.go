package evidence

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// run owns the connection from its acceptance to its end.
func (s *Sink) run() {
	defer close(s.read)
	conn := s.greet()
	if conn == nil {
		_ = s.listener.Close() // a sandbox that would come now fails to start, and doesn't wait
		return
	}
	s.sum.Connected = true
	var refusing sync.WaitGroup
	refusing.Go(s.refuse)
	s.receive(conn)
	s.track.end(s.dropped)
	_ = conn.Close()
	_ = s.listener.Close() // one sandbox, one connection
	refusing.Wait()
}

// greet accepts connections until one gets through the handshake. It is nil when
// none did.
func (s *Sink) greet() *net.UnixConn {
	for range maxGreetings {
		conn, err := s.listener.AcceptUnix()
		if err != nil || !s.hold(conn) {
			return nil
		}
		if handshake(conn, s.now().Add(greetTime)) == nil {
			return conn
		}
		_ = conn.Close()
		s.sum.Malformed[errHandshake.Error()]++
	}
	s.sum.Limit = fmt.Sprintf("%d connections without a handshake", maxGreetings)
	return nil
}

// hold makes conn the one that Close ends; false when Close came before.
func (s *Sink) hold(conn *net.UnixConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return false
	}
	s.conn = conn
	return true
}

// handshake: the other side sends its version and waits for ours.
func handshake(conn *net.UnixConn, deadline time.Time) error {
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	buf := make([]byte, 1<<10)
	n, err := conn.Read(buf)
	if err != nil {
		return err
	}
	num, typ, tag := protowire.ConsumeTag(buf[:n])
	if tag < 0 || num != 1 || typ != protowire.VarintType {
		return errHandshake
	}
	if version, m := protowire.ConsumeVarint(buf[tag:n]); m < 0 || version < wireVersion {
		return errHandshake
	}
	hello := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), wireVersion)
	if _, err := conn.Write(hello); err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

// refuse closes all further connections: nobody else has anything to say here.
func (s *Sink) refuse() {
	for {
		conn, err := s.listener.AcceptUnix()
		if err != nil {
			return
		}
		_ = conn.Close()
		s.refused.Add(1)
	}
}

// receive reads until the end of the connection or a limit.
func (s *Sink) receive(conn *net.UnixConn) {
	pace := newPacer(s.opts.Limits.PerSecond, s.now, time.Sleep)
	defer func() { s.sum.Paused = pace.slept }()
	buf := make([]byte, maxPacket+1)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			// An empty packet looks the same; whoever sends one has nothing to add.
			s.sum.Ended = errors.Is(err, io.EOF) && !s.cut.Load()
			return
		}
		s.sum.Messages++
		s.sum.Bytes += int64(n)
		s.packet(buf[:n])
		switch l := s.opts.Limits; {
		case s.sum.Messages >= l.Messages:
			s.sum.Limit = fmt.Sprintf("%d messages", l.Messages)
			return
		case s.sum.Bytes >= l.Bytes:
			s.sum.Limit = fmt.Sprintf("%d bytes of messages", l.Bytes)
			return
		}
		pace.step()
	}
}

func (s *Sink) packet(b []byte) {
	if len(b) > maxPacket {
		s.sum.Malformed[errTruncated.Error()]++
		return
	}
	r, err := decode(b)
	if err != nil {
		s.sum.Malformed[err.Error()]++
		return
	}
	// The count only grows, and wraps around. Threads of the sentry read it before
	// they send, so that a smaller one may come late.
	if more := int32(r.dropped - s.dropped); more > 0 {
		s.sum.Dropped += int64(more)
		s.dropped = r.dropped
	}
	s.track.add(r)
}

// event takes what the tracker made.
func (s *Sink) event(e Event) {
	s.sum.Counts[e.Kind]++
	if e.Kind == KindThread || e.Kind == KindUnwatched {
		return
	}
	s.sum.last = e.Time
	s.sum.rows.add(e)
	s.write.add(e)
}
