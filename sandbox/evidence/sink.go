package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Limits bound what one sandbox can make the host read and keep. Zero values are
// the defaults.
type Limits struct {
	Messages  int64 // in all; 20 million
	Bytes     int64 // in all; 4 GiB
	PerSecond int   // messages; 100000
	FileBytes int64 // of JSON lines before compression; 16 MiB, at least 64 KiB
	Rows      int   // for the events table; 200
}

func (l Limits) withDefaults() Limits {
	l.Messages = orDefault(l.Messages, 20_000_000)
	l.Bytes = orDefault(l.Bytes, 4<<30)
	l.PerSecond = orDefault(l.PerSecond, 100_000)
	l.FileBytes = orDefault(l.FileBytes, 16<<20)
	l.Rows = orDefault(l.Rows, 200)
	return l
}

func orDefault[T int | int64](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}

// Options of a Sink.
type Options struct {
	// Socket is where to listen: an absolute path in a folder that only the harness
	// can enter, at most 107 bytes. Nothing may be there yet.
	Socket string
	// Out gets the events, zstd-compressed JSON lines with the Summary as the last.
	Out    io.Writer
	Watch  Watch // as given to PodInit
	Limits Limits
}

const (
	// maxPacket is above what fits into a socket's buffer at the kernel's default
	// (net.core.wmem_default, 208 KiB), beyond which the sentry can't send.
	maxPacket = 256 << 10
	// maxGreetings bounds connections that don't get through the handshake.
	maxGreetings = 8
	greetTime    = 5 * time.Second
	// drainTime is for what is queued when the sandbox was cut off.
	drainTime = 5 * time.Second
)

// Sink receives the events of one sandbox.
type Sink struct {
	opts     Options
	listener *net.UnixListener
	read     chan struct{} // closed when reading has ended
	write    *writer
	track    *tracker
	now      func() time.Time

	mu     sync.Mutex
	conn   *net.UnixConn // greeted, or being greeted
	closed bool

	sum     Summary // of the reading goroutine until read is closed
	dropped uint32  // the sentry's count as last seen
	refused atomic.Int64
	cut     atomic.Bool // Close ended the connection

	once   sync.Once
	result Summary
	err    error
}

// Listen makes the socket and starts to receive. Close must be called.
func Listen(o Options) (*Sink, error) {
	if err := checkSocketPath(o.Socket); err != nil {
		return nil, err
	}
	if err := o.Watch.Validate(); err != nil {
		return nil, err
	}
	o.Limits = o.Limits.withDefaults()
	if o.Limits.FileBytes < 64<<10 {
		return nil, fmt.Errorf("evidence file of %d bytes: want at least 64 KiB", o.Limits.FileBytes)
	}
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: o.Socket, Net: "unixpacket"})
	if err != nil {
		return nil, fmt.Errorf("listen for evidence: %w", err)
	}
	if err := os.Chmod(o.Socket, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for evidence: %w", err), l.Close())
	}
	w, err := newWriter(o.Out, o.Limits.FileBytes)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s := &Sink{opts: o, listener: l, read: make(chan struct{}), write: w, now: time.Now}
	s.sum = Summary{Counts: map[Kind]int64{}, Malformed: map[string]int64{}, rows: newRows(o.Limits.Rows)}
	s.track = newTracker(o.Watch, s.now, s.event)
	go s.run()
	return s, nil
}

// Close waits until the sentry has ended, or ctx has, reads what is queued still,
// completes the file and removes the socket. Call it when the sandbox is gone; with
// a ctx that is done it cuts a living one off. An error means that the file isn't
// whole; the Summary is good even then. Further calls return the same.
func (s *Sink) Close(ctx context.Context) (Summary, error) {
	s.once.Do(func() { s.result, s.err = s.close(ctx) })
	return s.result, s.err
}

func (s *Sink) close(ctx context.Context) (Summary, error) {
	_ = s.listener.Close()
	s.mu.Lock()
	s.closed = true
	conn := s.conn
	s.mu.Unlock()

	if conn != nil {
		select {
		case <-s.read:
		case <-ctx.Done():
			s.cut.Store(true)
			// Ends the sentry's sending; what it sent before is read up to the end.
			_ = conn.CloseRead()
		}
		if !within(s.read, drainTime) {
			_ = conn.Close()
		}
	}
	<-s.read
	return s.complete(ctx)
}

// complete ends the file and settles the summary. Reading has ended.
func (s *Sink) complete(ctx context.Context) (Summary, error) {
	s.sum.Refused = s.refused.Load()
	if s.sum.last.IsZero() {
		s.sum.last = s.now().UTC()
	}
	err := s.write.end(ctx, func(lost int64) Summary {
		sum := s.sum
		sum.Unwritten = lost
		sum.judge()
		return sum
	})
	s.sum.Unwritten = s.write.lost.Load()
	s.sum.judge()
	if err != nil {
		s.sum.Complete, s.sum.Gaps = false, append(s.sum.Gaps, err.Error())
	}
	return s.sum, err
}

// within reports whether c is closed in time.
func within(c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}
