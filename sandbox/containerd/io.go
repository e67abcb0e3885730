package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// How output is bounded. All of it is per stream.
const (
	chunkBytes = 64 << 10
	queueLen   = 16 // chunks between the pipe and a writer: 1 MiB at most
	// writerStall is how long a writer may hold up the process before output is
	// dropped instead: a busy disk must not cost a line of a test log.
	writerStall = 10 * time.Second
	// After the exit the end of the stream comes at once, unless another process
	// keeps the pipe open. Then output goes on arriving for at most drainMax, or
	// until it has been silent for drainIdle. A shim that is starved of CPU is silent,
	// too, with the last lines in its hands, so this is much longer than it looks
	// worth.
	drainIdle = 2 * time.Second
	drainMax  = 5 * time.Second
	// flushMax bounds the wait for a slow writer after the last byte was read.
	flushMax = 5 * time.Second
)

// stdio is the host's end of one process's standard streams: named pipes that
// the shim opens by path. Streams that are nil have no pipe at all.
type stdio struct {
	dir                           string
	stdinPath, stdoutPath, stderr string
	out                           []*drain
	stdin                         *feed
}

// newStdio makes the pipes in dir, which is created and owned by it. Both ends
// of output pipes are opened, so that neither side waits for the other and no
// early end of file is seen; started drops our writing end.
func newStdio(dir string, stdin io.Reader, stdout, stderr io.Writer) (_ *stdio, err error) {
	s := &stdio{dir: dir}
	if stdin == nil && stdout == nil && stderr == nil {
		return s, nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make pipes: %w", err)
	}
	defer func() {
		if err != nil {
			s.abort()
		}
	}()
	for _, o := range []struct {
		name string
		w    io.Writer
		path *string
	}{{"out", stdout, &s.stdoutPath}, {"err", stderr, &s.stderr}} {
		if o.w == nil {
			*o.path = os.DevNull // the shim wants either no stream at all or both outputs
			continue
		}
		*o.path = filepath.Join(dir, o.name)
		d, err := newDrain(*o.path, o.w)
		if err != nil {
			return nil, err
		}
		s.out = append(s.out, d)
	}
	if stdin != nil {
		s.stdinPath = filepath.Join(dir, "in")
		if s.stdin, err = newFeed(s.stdinPath, stdin); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// started is called when the shim has opened its ends. closeStdin tells the
// shim that the process's input is complete.
func (s *stdio) started(closeStdin func()) {
	for _, d := range s.out {
		d.start()
	}
	if s.stdin != nil {
		s.stdin.start(closeStdin)
	}
}

// finish is called when the process has ended: it waits, bounded, for what is
// still in the pipes and returns the number of bytes that no writer took. The
// writers are not touched after it returns.
func (s *stdio) finish() (dropped int64) {
	if s.stdin != nil {
		s.stdin.stop()
	}
	var wg sync.WaitGroup
	var n atomic.Int64
	for _, d := range s.out {
		wg.Go(func() { n.Add(d.finish()) })
	}
	wg.Wait()
	return n.Load()
}

// abort releases everything of a process that never started.
func (s *stdio) abort() {
	for _, d := range s.out {
		d.close()
	}
	if s.stdin != nil {
		s.stdin.stop()
	}
	s.remove()
}

// remove deletes the pipes' names. The shim must have opened them, or never will.
func (s *stdio) remove() {
	_ = os.RemoveAll(s.dir)
}

// drain reads one output pipe to its end and hands the bytes to a writer,
// without ever letting the writer stop the process for long: between them is a
// bounded queue; when the writer takes nothing for writerStall, bytes are
// dropped and counted until it moves again.
type drain struct {
	r, keep *os.File // keep is a writing end: no end of file before the shim has come
	w       io.Writer
	queue   chan []byte
	free    chan []byte

	dropped  atomic.Int64
	lastRead atomic.Int64 // unix nanoseconds
	readDone chan struct{}
	wrote    chan struct{} // closed when the writer goroutine is done
	quit     atomic.Bool   // w must not be called any more
}

func newDrain(path string, w io.Writer) (*drain, error) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("make pipe %s: %w", path, err)
	}
	r, err := openFifo(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	keep, err := openFifo(path, unix.O_WRONLY)
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	return &drain{
		r: r, keep: keep, w: w,
		queue: make(chan []byte, queueLen), free: make(chan []byte, queueLen),
		readDone: make(chan struct{}), wrote: make(chan struct{}),
	}, nil
}

// openFifo opens without blocking, which also puts the file under Go's poller,
// so that Close and deadlines end a pending Read or Write.
func openFifo(path string, flag int) (*os.File, error) {
	fd, err := unix.Open(path, flag|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("open pipe %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (d *drain) start() {
	_ = d.keep.Close()
	d.lastRead.Store(time.Now().UnixNano())
	go d.read()
	go d.write()
}

func (d *drain) read() {
	defer close(d.readDone)
	defer close(d.queue)
	stalled := false
	for {
		buf := d.buffer()
		n, err := d.r.Read(buf)
		if n > 0 {
			d.lastRead.Store(time.Now().UnixNano())
			stalled = d.hand(buf[:n], stalled)
		}
		if err != nil {
			return
		}
	}
}

func (d *drain) buffer() []byte {
	select {
	case b := <-d.free:
		return b[:chunkBytes]
	default:
		return make([]byte, chunkBytes)
	}
}

// hand queues a chunk, or drops it when the writer has been stuck for too long.
func (d *drain) hand(b []byte, stalled bool) (stillStalled bool) {
	select {
	case d.queue <- b:
		return false
	default:
	}
	if !stalled {
		t := time.NewTimer(writerStall)
		defer t.Stop()
		select {
		case d.queue <- b:
			return false
		case <-t.C:
		}
	}
	d.dropped.Add(int64(len(b)))
	d.recycle(b)
	return true
}

func (d *drain) recycle(b []byte) {
	select {
	case d.free <- b:
	default:
	}
}

func (d *drain) write() {
	defer close(d.wrote)
	failed := false
	for b := range d.queue {
		n := 0
		if !failed && !d.quit.Load() {
			var err error
			n, err = d.w.Write(b)
			failed = err != nil || n < len(b)
		}
		if n < len(b) {
			d.dropped.Add(int64(len(b) - max(n, 0)))
		}
		d.recycle(b)
	}
}

// finish waits for the end of the stream as described at the constants.
func (d *drain) finish() int64 {
	end := time.Now().Add(drainMax)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
wait:
	for {
		select {
		case <-d.readDone:
			break wait
		case now := <-tick.C:
			// A full queue means that the writer is slow, not that the process is silent.
			idle := now.UnixNano()-d.lastRead.Load() > int64(drainIdle) && len(d.queue) < queueLen
			if idle || now.After(end) {
				break wait
			}
		}
	}
	_ = d.r.Close()
	<-d.readDone

	flush := time.NewTimer(flushMax)
	defer flush.Stop()
	select {
	case <-d.wrote:
	case <-flush.C:
		// The writer hangs in a call of its own; nothing more is given to it.
		d.quit.Store(true)
		for b := range d.queue {
			d.dropped.Add(int64(len(b)))
		}
	}
	return d.dropped.Load()
}

func (d *drain) close() {
	_ = d.keep.Close()
	_ = d.r.Close()
}

// feed copies a reader into the process's input pipe.
type feed struct {
	src  io.Reader
	path string
	hold *os.File // a reading end: the pipe can be opened for writing before the shim has come
	w    *os.File
	done chan struct{}
	n    atomic.Int64 // bytes that went in
	err  error        // of src; valid after done
}

func newFeed(path string, src io.Reader) (*feed, error) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("make pipe %s: %w", path, err)
	}
	hold, err := openFifo(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	w, err := openFifo(path, unix.O_WRONLY)
	if err != nil {
		_ = hold.Close()
		return nil, err
	}
	return &feed{src: src, path: path, hold: hold, w: w, done: make(chan struct{})}, nil
}

// start begins to copy. The reading end is held on to: the shim opens its own in
// the background, and may not have come yet.
func (f *feed) start(closeStdin func()) {
	go func() {
		defer close(f.done)
		w := writerFunc(func(b []byte) (int, error) {
			n, err := f.w.Write(b)
			f.n.Add(int64(n))
			if err != nil {
				return n, errPipe{err}
			}
			return n, nil
		})
		_, err := io.CopyBuffer(w, onlyReader{f.src}, make([]byte, chunkBytes))
		// That the process does not read its input is its own affair.
		if !errors.As(err, new(errPipe)) {
			f.err = err
		}
		_ = f.w.Close()
		closeStdin()
	}()
}

// stop ends a pending write. A pending read of the caller's reader can't be
// ended; its goroutine goes when the read returns.
func (f *feed) stop() {
	_ = f.hold.Close()
	_ = f.w.Close()
}

// result waits until the reader was used up or ctx ends.
func (f *feed) result(ctx context.Context) (int64, error) {
	select {
	case <-f.done:
		return f.n.Load(), f.err
	case <-ctx.Done():
		return f.n.Load(), context.Cause(ctx)
	}
}

type errPipe struct{ error }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// onlyReader hides WriterTo, which could write past our counting.
type onlyReader struct{ io.Reader }

// sameWriter reports whether both streams go to one writer, so that their
// order of arrival can be kept.
func sameWriter(a, b io.Writer) bool {
	if a == nil || b == nil {
		return false
	}
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	return va.Type() == vb.Type() && va.Comparable() && va.Equal(vb)
}
