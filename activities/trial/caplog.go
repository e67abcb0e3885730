package trial

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// CappedLog keeps the head and the tail of a stream in a file of bounded size:
// a test runner's summary comes last, its first failure first. Writing never
// fails and never blocks on anything but the local disk.
//
// The file holds head bytes from 0, then a ring of tail bytes.
type CappedLog struct {
	mu    sync.Mutex
	f     *os.File
	head  int64 // capacity of the head
	tail  int64 // capacity of the ring
	total int64 // bytes written so far
	err   error // first write error; later bytes are counted, not kept
}

// NewCappedLog makes a log of at most limit bytes in a new file in dir (""
// means the system's). Close removes it.
func NewCappedLog(dir string, limit int64) (*CappedLog, error) {
	if limit < 2 {
		return nil, fmt.Errorf("create log spool: a log of at most %d bytes has no head and tail", limit)
	}
	f, err := os.CreateTemp(dir, "harness-log-*")
	if err != nil {
		return nil, fmt.Errorf("create log spool: %w", err)
	}
	// The name is not needed: an unlinked file can't be left behind.
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("unlink log spool: %w", err), f.Close())
	}
	return &CappedLog{f: f, head: limit / 2, tail: limit - limit/2}, nil
}

func (c *CappedLog) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	if c.total < c.head {
		k := min(int64(len(p)), c.head-c.total)
		c.put(p[:k], c.total)
		p = p[k:]
		c.total += k
	}
	if over := int64(len(p)) - c.tail; over > 0 { // only the end of a huge write can survive
		c.total += over
		p = p[over:]
	}
	for len(p) > 0 {
		at := (c.total - c.head) % c.tail
		k := min(int64(len(p)), c.tail-at)
		c.put(p[:k], c.head+at)
		p = p[k:]
		c.total += k
	}
	return n, nil
}

func (c *CappedLog) put(p []byte, off int64) {
	if c.err == nil {
		_, c.err = c.f.WriteAt(p, off)
	}
}

// Truncated is the number of bytes cut from the middle.
func (c *CappedLog) Truncated() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, c.total-c.head-c.tail)
}

// Reader returns the kept bytes: head, a mark that names how much is missing,
// tail. Nothing may be written any more. The error is the first one met while
// spooling, if any.
func (c *CappedLog) Reader() (io.Reader, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, fmt.Errorf("spool log: %w", c.err)
	}
	if c.total <= c.head+c.tail {
		return io.NewSectionReader(c.f, 0, c.total), nil
	}
	cut := c.total - c.head - c.tail
	at := (c.total - c.head) % c.tail
	mark := fmt.Sprintf("\n[harness: %d bytes of output cut here]\n", cut)
	return io.MultiReader(
		io.NewSectionReader(c.f, 0, c.head),
		strings.NewReader(mark),
		io.NewSectionReader(c.f, c.head+at, c.tail-at),
		io.NewSectionReader(c.f, c.head, at),
	), nil
}

// Close frees the spool.
func (c *CappedLog) Close() error { return c.f.Close() }
