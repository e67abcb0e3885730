package logparse

import (
	"bufio"
	"errors"
	"io"
)

// byteScan reads a log byte by byte, for formats whose documents may be one
// endless line. Bytes read while inside is set are placed.
type byteScan struct {
	r      *bufio.Reader
	c      *Coverage
	inside bool
	err    error // why there is no further byte

	line   int64 // bytes of the line at hand
	blank  bool
	placed bool // part of the line was inside
}

// bytes begins to read the log; nothing else may have read from it.
func (in *input) bytes() *byteScan {
	in.coverage = new(Coverage)
	return &byteScan{r: bufio.NewReaderSize(in.log.r, 64<<10), c: in.coverage, blank: true}
}

// next returns the next byte, or false at the log's end.
func (s *byteScan) next() (byte, bool) {
	if s.err != nil {
		return 0, false
	}
	b, err := s.r.ReadByte()
	if err != nil {
		s.err = err
		s.endLine()
		return 0, false
	}
	s.line++
	s.placed = s.placed || s.inside
	if b == '\n' {
		s.endLine()
	} else {
		s.blank = false
	}
	return b, true
}

func (s *byteScan) endLine() {
	if s.line == 0 {
		return
	}
	s.c.Lines++
	s.c.Bytes += s.line
	if !s.placed && !s.blank {
		s.c.UnplacedLines++
		s.c.UnplacedBytes += s.line
	}
	s.line, s.blank, s.placed = 0, true, false
}

// skipTo reads up to the end of the next end.
func (s *byteScan) skipTo(end string) bool {
	matched := 0
	for matched < len(end) {
		b, ok := s.next()
		if !ok {
			return false
		}
		switch {
		case b == end[matched]:
			matched++
		case b == end[0]:
			// "]]]>" ends as "]]>" does, "--->" as "-->".
			if matched < 2 || end[1] != end[0] {
				matched = 1
			}
		default:
			matched = 0
		}
	}
	return true
}

// failure is what the log's reader returned, unless that was its end.
func (s *byteScan) failure() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}
