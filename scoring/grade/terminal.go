package grade

import (
	"errors"
	"io"
	"unicode/utf8"
)

// terminal passes on what a reader of a terminal's output keeps: bytes that are
// not UTF-8, escape sequences and carriage returns are dropped, in this order.
type terminal struct {
	src   io.Reader
	in    []byte // read, not yet looked at
	out   []byte // to be handed out
	held  []byte // an escape sequence that has begun
	state escState
	err   error
}

// escState is where in an escape sequence the text is: ESC, one of "@" to "_"
// but "["; or ESC "[", parameters, intermediates, a final byte.
type escState uint8

const (
	escNone escState = iota
	escBegun
	escParameters
	escIntermediates
)

// maxEscape bounds what is held of a sequence without an end.
const maxEscape = 4 << 10

func newTerminal(src io.Reader) *terminal {
	return &terminal{src: src, in: make([]byte, 0, 32<<10)}
}

func (t *terminal) Read(p []byte) (int, error) {
	for len(t.out) == 0 {
		if t.err != nil {
			return 0, t.err
		}
		t.fill()
	}
	n := copy(p, t.out)
	t.out = t.out[n:]
	return n, nil
}

// fill reads once and filters what it got.
func (t *terminal) fill() {
	have := len(t.in)
	n, err := t.src.Read(t.in[have:cap(t.in)])
	t.in, t.err = t.in[:have+n], err
	done := errors.Is(err, io.EOF)
	t.out = t.out[:0]
	b := t.in
	for len(b) > 0 && (done || err != nil || utf8.FullRune(b)) {
		if n := t.ordinary(b); n > 0 {
			t.out, b = append(t.out, b[:n]...), b[n:]
			continue
		}
		r, size := utf8.DecodeRune(b)
		if r != utf8.RuneError || size > 1 {
			t.take(b[:size])
		}
		b = b[size:]
	}
	t.in = t.in[:copy(t.in[:cap(t.in)], b)]
	if done {
		t.release()
	}
}

// ordinary counts the bytes at the beginning of b that are kept as they are.
func (t *terminal) ordinary(b []byte) int {
	if t.state != escNone {
		return 0
	}
	for i, c := range b {
		if c == 0x1b || c == '\r' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(b)
}

// take filters one character.
func (t *terminal) take(char []byte) {
	c := char[0]
	in := func(low, high byte) bool { return len(char) == 1 && c >= low && c <= high }
	switch t.state {
	case escNone:
	case escBegun:
		switch {
		case c == '[':
			t.hold(char, escParameters)
			return
		case in('@', '_'):
			t.drop()
			return
		}
		t.release()
	case escParameters, escIntermediates:
		switch {
		case in('@', '~'):
			t.drop()
			return
		case t.state == escParameters && in('0', '?'):
			t.hold(char, escParameters)
			return
		case in(' ', '/'):
			t.hold(char, escIntermediates)
			return
		}
		t.release()
	}
	switch c {
	case 0x1b:
		t.hold(char, escBegun)
	case '\r':
	default:
		t.out = append(t.out, char...)
	}
}

func (t *terminal) hold(char []byte, s escState) {
	t.held, t.state = append(t.held, char...), s
	if len(t.held) > maxEscape {
		t.release()
	}
}

func (t *terminal) drop() { t.held, t.state = t.held[:0], escNone }

// release gives out what only looked like a sequence.
func (t *terminal) release() {
	t.out = append(t.out, t.held...)
	t.drop()
}
