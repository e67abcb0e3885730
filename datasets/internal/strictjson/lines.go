package strictjson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxRecord is the default for the longest record, in bytes.
const MaxRecord = 256 << 20

// TooLargeError stands for a record that was longer than allowed. The stream
// goes on behind it.
type TooLargeError struct{ Max int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the record is longer than %d bytes", e.Max)
}

// Lines reads JSON Lines: one record a line, blank lines skipped.
type Lines struct {
	br   *bufio.Reader
	max  int
	line int
	long []byte // reused for lines longer than br's buffer
}

// NewLines reads records of at most limit bytes from r.
func NewLines(r io.Reader, limit int) *Lines {
	br := bufio.NewReaderSize(r, 256<<10)
	skipBOM(br)
	return &Lines{br: br, max: limit}
}

// Next returns the next record, valid until the following call, and its line
// number from 1. It returns io.EOF at the end, and a *TooLargeError, after
// which reading goes on, for a record that is too long.
func (l *Lines) Next() ([]byte, int, error) {
	for {
		rec, err := l.read()
		if tooLarge := (*TooLargeError)(nil); errors.As(err, &tooLarge) {
			return nil, l.line, err
		}
		if rec = trimSpace(rec); len(rec) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			return rec, l.line, nil
		}
		if err != nil {
			return nil, l.line, err
		}
	}
}

func (l *Lines) read() ([]byte, error) {
	l.line++
	part, err := l.br.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if len(part) > l.max {
			return nil, &TooLargeError{Max: l.max}
		}
		return part, err
	}
	l.long = append(l.long[:0], part...)
	size := len(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = l.br.ReadSlice('\n')
		if size += len(part); size <= l.max {
			l.long = append(l.long, part...)
		}
	}
	if size > l.max {
		l.long = nil
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, &TooLargeError{Max: l.max}
	}
	return l.long, err
}

func trimSpace(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }

// skipBOM drops a UTF-8 byte order mark, which some editors put first.
func skipBOM(br *bufio.Reader) {
	if b, err := br.Peek(3); err == nil && string(b) == "\xef\xbb\xbf" {
		_, _ = br.Discard(3)
	}
}
