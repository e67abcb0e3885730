package logparse

import (
	"errors"
	"io"
)

// Coverage tells how much of a log its parser could place. A line is placed if
// it gave a result, or if the parser knows what it is, such as a suite's
// heading. Nearly every log has lines of other kinds, so a low share is no
// fault; results that are missing although little was left unplaced are.
//
// Bytes count line ends, and all of a line that was too long to be kept. Lines
// behind the place where a format ends are not read and not counted.
type Coverage struct {
	Lines, Bytes                 int64
	UnplacedLines, UnplacedBytes int64 // blank lines are never counted here
}

// place says that the line at hand is part of the format.
func (in *input) place() { in.placed = true }

// eachLine calls f for every line until the log ends or f returns an error.
func (in *input) eachLine(f func(line []byte) error) error {
	if in.coverage == nil {
		in.coverage = new(Coverage)
	}
	c := in.coverage
	offset := in.log.Offset()
	for {
		line, err := in.log.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		blank, sets := len(line) == 0, in.out.sets
		in.placed = false
		err = f(line)
		next := in.log.Offset()
		c.Lines++
		c.Bytes += next - offset
		if !in.placed && in.out.sets == sets && !blank {
			c.UnplacedLines++
			c.UnplacedBytes += next - offset
		}
		offset = next
		if errors.Is(err, errStop) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// eachPyLine is eachLine over the lines of Python's str.splitlines, decoded: it
// also ends lines at form feeds, separators and the like.
func (in *input) eachPyLine(f func(line string) error) error {
	return in.eachLine(func(raw []byte) error { return eachPyPiece(raw, f) })
}

// eachPyPiece calls f for the lines that Python sees in a line.
func eachPyPiece(raw []byte, f func(line string) error) error {
	line := text(raw)
	for hasPyBreak(line) {
		i, n := pyBreak(line)
		if i < 0 {
			break
		}
		if err := f(line[:i]); err != nil {
			return err
		}
		line = line[i+n:]
	}
	return f(line)
}

// hasPyBreak is a cheap test that every line with a break passes.
func hasPyBreak(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 && c != '\t' && c != 0x1b || c == 0xc2 || c == 0xe2 {
			return true
		}
	}
	return false
}

// pyBreak finds the first line break of Python that is not "\n", and its length.
func pyBreak(s string) (at, n int) {
	for i, r := range s {
		switch r {
		case '\r', '\v', '\f', 0x1c, 0x1d, 0x1e:
			return i, 1
		case 0x85:
			return i, 2
		case 0x2028, 0x2029:
			return i, 3
		}
	}
	return -1, 0
}
