package logparse

import (
	"bytes"
	"errors"
	"io"
)

// MaxLine is how much of one line is kept. Of a longer line, the first
// MaxLine-lineTail and the last lineTail bytes are kept and joined, so that what
// starts or ends it is still seen.
const (
	MaxLine  = 1 << 20
	lineTail = 64 << 10
)

// LineReader splits a stream at "\n", in bounded memory.
type LineReader struct {
	r          io.Reader
	buf        []byte
	start, end int
	err        error
	long       int
	read       int64
}

// NewLineReader reads lines from r.
func NewLineReader(r io.Reader) *LineReader {
	return &LineReader{r: r, buf: make([]byte, 64<<10)}
}

// Next returns the next line without its "\n", valid until the next call. After
// the last line it returns io.EOF; text behind the last "\n" is a line unless
// it is empty.
func (l *LineReader) Next() ([]byte, error) {
	searched := l.start
	for {
		if i := bytes.IndexByte(l.buf[searched:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : searched+i]
			l.start = searched + i + 1
			return line, nil
		}
		if l.err != nil {
			line := l.buf[l.start:l.end]
			l.start = l.end
			if len(line) == 0 || !errors.Is(l.err, io.EOF) {
				return nil, l.err
			}
			return line, nil
		}
		searched = l.end
		if shift := l.start; shift > 0 {
			copy(l.buf, l.buf[shift:l.end])
			l.start, l.end, searched = 0, l.end-shift, searched-shift
		}
		if l.end == len(l.buf) {
			if len(l.buf) >= MaxLine {
				return l.overlong()
			}
			grown := make([]byte, 2*len(l.buf))
			copy(grown, l.buf[:l.end])
			l.buf = grown
		}
		l.fill()
	}
}

// overlong finishes a line that filled the whole buffer: its head stays in
// place, the last lineTail bytes before the line's end are moved behind it.
func (l *LineReader) overlong() ([]byte, error) {
	l.long++
	const head = MaxLine - lineTail
	room := make([]byte, 0, 4*lineTail)
	room = append(room, l.buf[head:l.end]...)
	l.start, l.end = 0, head
	var rest []byte
	for rest == nil && l.err == nil {
		chunk := room[len(room) : len(room)+lineTail]
		n, err := l.r.Read(chunk)
		l.err = err
		l.read += int64(n)
		if i := bytes.IndexByte(chunk[:n], '\n'); i >= 0 {
			rest = append(make([]byte, 0, n), chunk[i+1:n]...)
			n = i
		}
		room = room[:len(room)+n]
		if len(room) > 2*lineTail {
			room = append(room[:0], room[len(room)-lineTail:]...)
		}
	}
	if l.err != nil && !errors.Is(l.err, io.EOF) {
		return nil, l.err
	}
	if len(room) > lineTail {
		room = room[len(room)-lineTail:]
	}
	line := make([]byte, 0, MaxLine)
	line = append(append(line, l.buf[:head]...), room...)
	l.start, l.end = 0, copy(l.buf, rest)
	return line, nil
}

func (l *LineReader) fill() {
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	l.read += int64(n)
	l.err = err
}

// Offset is the number of bytes of the stream before the next line.
func (l *LineReader) Offset() int64 { return l.read - int64(l.end-l.start) }

// Long counts the lines that were longer than MaxLine so far.
func (l *LineReader) Long() int { return l.long }

// TextMode returns r as Python's text mode reads it: "\r\n" and a lone "\r"
// become "\n".
func TextMode(r io.Reader) io.Reader { return &textMode{r: r} }

type textMode struct {
	r      io.Reader
	lastCR bool
}

func (t *textMode) Read(p []byte) (int, error) {
	for {
		n, err := t.r.Read(p)
		n = t.translate(p[:n])
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

func (t *textMode) translate(p []byte) int {
	if len(p) == 0 {
		return 0
	}
	if !t.lastCR && bytes.IndexByte(p, '\r') < 0 {
		return len(p)
	}
	w := 0
	for _, c := range p {
		if c == '\n' && t.lastCR {
			t.lastCR = false
			continue
		}
		t.lastCR = c == '\r'
		if t.lastCR {
			c = '\n'
		}
		p[w] = c
		w++
	}
	return w
}
