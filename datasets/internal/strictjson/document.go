package strictjson

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Document reads one JSON document, a list or an object, as a stream of its
// elements, so that a file of any size is never held whole.
type Document struct {
	br    *bufio.Reader
	max   int
	root  byte // '[' or '{'
	state docState
	line  int
	count int
	buf   []byte
}

type docState uint8

const (
	docElements docState = iota
	docDone
)

// NewDocument reads up to the opening bracket. Elements have at most limit bytes.
func NewDocument(r io.Reader, limit int) (*Document, error) {
	d := &Document{br: bufio.NewReaderSize(r, 256<<10), max: limit, line: 1}
	skipBOM(d.br)
	c, err := d.token()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty")
	case err != nil:
		return nil, err
	case c != '[' && c != '{':
		return nil, fmt.Errorf("the file starts with %q, a JSON list or object is expected", c)
	}
	d.root = c
	return d, nil
}

// IsList tells a list from an object.
func (d *Document) IsList() bool { return d.root == '[' }

// Next returns the next element, valid until the following call, and the line
// on which it starts. An element of an object comes as an object with one
// member. io.EOF is the orderly end; after a *TooLargeError reading goes on;
// any other error means that the rest of the document can't be read.
func (d *Document) Next() ([]byte, int, error) {
	if d.state == docDone {
		return nil, d.line, io.EOF
	}
	c, err := d.token()
	if err != nil {
		return nil, d.line, d.cut(err)
	}
	if c == closing(d.root) && d.count == 0 {
		return nil, d.line, d.finish()
	}
	if err := d.br.UnreadByte(); err != nil {
		return nil, d.line, err
	}
	d.count++
	start := d.line
	d.buf = d.buf[:0]
	if d.root == '{' {
		d.buf = append(d.buf, '{')
	}
	end, err := d.element()
	if err != nil && !errors.As(err, new(*TooLargeError)) {
		return nil, start, d.cut(err)
	}
	if end != ',' {
		if end != closing(d.root) {
			return nil, start, fmt.Errorf("element %d ends with %q: brackets do not match", d.count, end)
		}
		if ferr := d.finish(); !errors.Is(ferr, io.EOF) {
			return nil, start, ferr
		}
	}
	if err != nil {
		return nil, start, err
	}
	if d.root == '{' {
		d.buf = append(d.buf, '}')
	}
	return trimSpace(d.buf), start, nil
}

// element copies bytes up to the comma or bracket that ends the element, and
// returns that byte.
func (d *Document) element() (byte, error) {
	depth, inString, escaped, size := 0, false, false, 0
	for {
		if _, err := d.br.Peek(1); err != nil {
			return 0, err
		}
		chunk, _ := d.br.Peek(d.br.Buffered())
		end := -1
	scan:
		for i, c := range chunk {
			switch {
			case inString:
				switch {
				case escaped:
					escaped = false
				case c == '\\':
					escaped = true
				case c == '"':
					inString = false
				}
			case c == '"':
				inString = true
			case c == '\n':
				d.line++
			case c == '[' || c == '{':
				depth++
			case c == ']' || c == '}' || c == ',':
				if depth == 0 {
					end = i
					break scan
				}
				if c != ',' {
					depth--
				}
			}
		}
		take := chunk
		if end >= 0 {
			take = chunk[:end]
		}
		if size += len(take); size <= d.max {
			d.buf = append(d.buf, take...)
		}
		if end < 0 {
			if _, err := d.br.Discard(len(chunk)); err != nil {
				return 0, err
			}
			continue
		}
		c := chunk[end]
		if _, err := d.br.Discard(end + 1); err != nil {
			return 0, err
		}
		if size > d.max {
			d.buf = nil
			return c, &TooLargeError{Max: d.max}
		}
		return c, nil
	}
}

// finish checks that nothing follows the document and returns io.EOF.
func (d *Document) finish() error {
	d.state = docDone
	switch c, err := d.token(); {
	case err != nil:
		return err
	default:
		return fmt.Errorf("%q follows the end of the JSON document on line %d; a file with one record a line is JSON Lines (.jsonl)", c, d.line)
	}
}

func (d *Document) cut(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the file ends inside element %d: it was cut off", max(d.count, 1))
	}
	return err
}

// token returns the next byte that is not white space.
func (d *Document) token() (byte, error) {
	for {
		c, err := d.br.ReadByte()
		if err != nil {
			return 0, err
		}
		if c == '\n' {
			d.line++
		}
		if !isSpace(c) {
			return c, nil
		}
	}
}

func closing(open byte) byte {
	if open == '[' {
		return ']'
	}
	return '}'
}
