package logparse_test

import (
	"fmt"
	"io"
)

// pattern repeats a text up to a size, without holding it.
type pattern struct {
	text string
	left int64
	at   int
}

func (p *pattern) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(b) && p.left > 0 {
		c := copy(b[n:min(int64(len(b)), int64(n)+p.left)], p.text[p.at:])
		n, p.left, p.at = n+c, p.left-int64(c), (p.at+c)%len(p.text)
	}
	return n, nil
}

// counter makes every line another one.
type counter struct {
	format string
	n      int
	left   int
	buf    []byte // made and not read yet
	store  []byte
}

func (c *counter) Read(b []byte) (int, error) {
	if len(c.buf) == 0 {
		c.store = c.store[:0]
		for len(c.store) < 64<<10 && c.left > 0 {
			before := len(c.store)
			c.store = fmt.Appendf(c.store, c.format, c.n)
			c.left -= len(c.store) - before
			c.n++
		}
		if c.buf = c.store; len(c.buf) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(b, c.buf)
	c.buf = c.buf[n:]
	return n, nil
}
