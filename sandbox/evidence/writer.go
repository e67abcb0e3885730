package evidence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

const (
	// queueLength bounds the events that wait for the file: some megabytes if each
	// is as large as it can be, some hundred kilobytes as a rule.
	queueLength = 1024
	// lineReserve of the file's size is left for its last line, the summary.
	lineReserve = 8 << 10
)

// writer turns events into zstd-compressed JSON lines on a goroutine of its own, so
// that a slow disk doesn't stop the reader. It keeps the head: behind an event that
// didn't fit none is written.
type writer struct {
	queue chan Event
	done  chan struct{}
	lost  atomic.Int64 // events that the file lacks

	// Of the goroutine, until done is closed.
	out  *zstd.Encoder
	left int64 // bytes of JSON
	full bool
	err  error

	// summary is set before the queue is closed.
	summary func(lost int64) Summary
}

func newWriter(out io.Writer, limit int64) (*writer, error) {
	enc, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("compress evidence: %w", err)
	}
	w := &writer{queue: make(chan Event, queueLength), done: make(chan struct{}), out: enc, left: limit - lineReserve}
	go w.run()
	return w, nil
}

// add never waits.
func (w *writer) add(e Event) {
	select {
	case w.queue <- e:
	default:
		w.lost.Add(1)
	}
}

// end writes what is queued and the summary as the last line. No add may follow.
// If the output still hangs a while after ctx is done it is given up.
func (w *writer) end(ctx context.Context, summary func(lost int64) Summary) error {
	w.summary = summary
	close(w.queue)
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
	}
	if !within(w.done, drainTime) {
		return errors.New("write evidence: the file takes nothing more; it is not whole")
	}
	return w.err
}

func (w *writer) run() {
	defer close(w.done)
	for e := range w.queue {
		if !w.event(e) {
			w.lost.Add(1)
		}
	}
	if w.err == nil {
		w.err = w.finish()
	}
}

// event reports whether e is in the file.
func (w *writer) event(e Event) bool {
	if w.full || w.err != nil {
		return false
	}
	line, err := json.Marshal(e)
	if err != nil { // no value of Event causes this
		w.err = fmt.Errorf("encode evidence: %w", err)
		return false
	}
	if w.left -= int64(len(line)) + 1; w.left < 0 {
		w.full = true
		return false
	}
	w.err = w.line(line)
	return w.err == nil
}

func (w *writer) finish() error {
	line, err := json.Marshal(map[string]Summary{"summary": w.summary(w.lost.Load())})
	if err != nil {
		return fmt.Errorf("encode evidence: %w", err)
	}
	if err := w.line(line); err != nil {
		return err
	}
	if err := w.out.Close(); err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	return nil
}

func (w *writer) line(b []byte) error {
	if _, err := w.out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	return nil
}
