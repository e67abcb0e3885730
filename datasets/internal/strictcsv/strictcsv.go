// Package strictcsv reads CSV as RFC 4180 defines it, without changing a byte of
// a field.
//
// encoding/csv turns CR LF inside quotes into LF, which makes another patch of a
// patch, and holds a record of any size. This package does neither, takes LF for
// the end of a record too, and goes on behind a record that is too long or
// malformed. It knows nothing of what the fields mean.
package strictcsv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// TooLargeError stands for a record that was longer than allowed. The stream
// goes on behind it.
type TooLargeError struct{ Max int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the record is longer than %d bytes", e.Max)
}

// SyntaxError says what is wrong with a record. Reading goes on behind the line.
type SyntaxError struct {
	Line   int // where it was noticed
	Field  int // from 1
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not valid CSV on line %d, column %d of the record: %s", e.Line, e.Field, e.Reason)
}

// Reader hands out records one at a time.
type Reader struct {
	br   *bufio.Reader
	max  int
	line int // that the next byte is on
	text []byte
	ends []int  // of each field, in text
	bare []bool // of each field: it stood without quotes
	size int    // of the record, stored or not
	out  []Field
}

// Field is one value. Text is valid until the record after it is read.
type Field struct {
	Text   []byte
	Quoted bool
}

// New reads records of at most limit bytes from r.
func New(r io.Reader, limit int) *Reader {
	c := &Reader{br: bufio.NewReaderSize(r, 256<<10), max: limit, line: 1}
	if b, err := c.br.Peek(3); err == nil && string(b) == "\xef\xbb\xbf" {
		_, _ = c.br.Discard(3)
	}
	return c
}

// Next returns the fields of the next record, valid until the following call,
// and the line on which it starts. Empty lines are skipped. io.EOF is the orderly
// end; after a *TooLargeError or *SyntaxError reading goes on; any other error
// means that the rest can't be read.
func (c *Reader) Next() ([]Field, int, error) {
	for {
		start := c.line
		c.text, c.ends, c.bare, c.size = c.text[:0], c.ends[:0], c.bare[:0], 0
		err := c.record()
		if err != nil {
			return nil, start, err
		}
		if c.size > c.max {
			c.text = nil // a long one need not stay in memory
			return nil, start, &TooLargeError{Max: c.max}
		}
		if len(c.ends) == 1 && len(c.text) == 0 && c.bare[0] {
			continue
		}
		c.out = c.out[:0]
		from := 0
		for i, end := range c.ends {
			c.out = append(c.out, Field{Text: c.text[from:end], Quoted: !c.bare[i]})
			from = end
		}
		return c.out, start, nil
	}
}

// record reads up to the end of a record.
func (c *Reader) record() error {
	b, err := c.br.ReadByte()
	if err != nil {
		return err
	}
	for {
		var end bool
		if c.bare = append(c.bare, b != '"'); b == '"' {
			end, err = c.quoted()
		} else {
			end, err = c.unquoted(b)
		}
		if err != nil {
			return err
		}
		c.ends = append(c.ends, len(c.text))
		if c.size++; len(c.ends) > maxFields {
			return c.bad("it has more than 10000 fields")
		}
		if end {
			return nil
		}
		// A comma at the very end stands before an empty field.
		if b, err = c.br.ReadByte(); errors.Is(err, io.EOF) {
			c.bare, c.ends = append(c.bare, true), append(c.ends, len(c.text))
			return nil
		} else if err != nil {
			return err
		}
	}
}

// maxFields bounds what is kept for the fields of one record besides their text.
const maxFields = 10_000

// unquoted reads a field that begins with b, up to the comma or, which it reports,
// the end of the record.
func (c *Reader) unquoted(b byte) (bool, error) {
	for {
		switch b {
		case ',':
			return false, nil
		case '\n':
			c.line++
			return true, nil
		case '\r':
			if c.lineFeed() {
				return true, nil
			}
			c.add(b)
		case '"':
			return false, c.bad(`a quote stands inside a field that does not begin with one; put the field in quotes and write "" for a quote`)
		default:
			c.add(b)
		}
		var err error
		if b, err = c.br.ReadByte(); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
}

// quoted reads a field behind its opening quote, up to the comma or, which it
// reports, the end of the record.
func (c *Reader) quoted() (bool, error) {
	opened := c.line
	for {
		b, err := c.br.ReadByte()
		if errors.Is(err, io.EOF) {
			return false, fmt.Errorf("the file ends inside the quotes that line %d opens: it was cut off, or a quote is missing", opened)
		}
		if err != nil {
			return false, err
		}
		if b == '\n' {
			c.line++
		}
		if b != '"' {
			c.add(b)
			continue
		}
		b, err = c.br.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		case b == '"':
			c.add(b)
		case b == ',':
			return false, nil
		case b == '\n':
			c.line++
			return true, nil
		case b == '\r' && c.lineFeed():
			return true, nil
		default:
			return false, c.bad(`a quote inside quotes is followed by neither a quote, a comma nor the end of the line; write "" for a quote`)
		}
	}
}

// lineFeed takes the LF behind a CR, if there is one.
func (c *Reader) lineFeed() bool {
	if next, err := c.br.Peek(1); err != nil || next[0] != '\n' {
		return false
	}
	_, _ = c.br.Discard(1)
	c.line++
	return true
}

func (c *Reader) add(b byte) {
	if c.size++; c.size <= c.max {
		c.text = append(c.text, b)
	}
}

// bad makes the error and goes to the end of the line, where the next record is
// most likely to begin.
func (c *Reader) bad(reason string) error {
	e := &SyntaxError{Line: c.line, Field: len(c.ends) + 1, Reason: reason}
	for {
		part, err := c.br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(part) > 0 && part[len(part)-1] == '\n' {
			c.line++
		}
		return e // the end of the stream shows at the next record
	}
}
