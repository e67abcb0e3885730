package grade

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// logFacts are what a log says outside of its test results.
type logFacts struct {
	starts, ends int  // how often each marker occurs
	badCode      bool // one of Rules.BadCodes occurs
	needText     bool // Rules.NeedText occurs
	exitCode     *int // as recorded by the eval script
	afterLast    int  // how often Rules.AfterLast occurs
}

// section reads a log (in text mode) and passes on the part that holds test
// results: between the markers, or everything. On the way it collects facts of
// the whole log, so it must be drained before they are looked at. It keeps a
// few hundred KiB, whatever the log holds.
type section struct {
	src   io.Reader
	rules *Rules
	facts logFacts

	inside bool // what comes belongs to the part
	done   bool // the part has ended
	skip   int  // the part starts behind this many more occurrences of AfterLast

	buf   []byte
	pos   int    // buf[:pos] is dealt with
	piece []byte // dealt with, but not yet handed out
	eof   bool
	loose []byte // the end of what was read last, when rules look for loose text
}

// lookahead is how much text behind a marker may belong to it: white space and
// the digits of an exit code.
const lookahead = 512

func newSection(src io.Reader, rules *Rules) *section {
	return &section{src: src, rules: rules, inside: !rules.Markers, buf: make([]byte, 0, 128<<10)}
}

// newLastSection passes on what follows the n-th occurrence of AfterLast.
func newLastSection(src io.Reader, rules *Rules, n int) *section {
	s := newSection(src, rules)
	s.inside, s.skip = false, n
	return s
}

func (s *section) Read(p []byte) (int, error) {
	if len(s.piece) == 0 {
		piece, err := s.next()
		if err != nil {
			return 0, err
		}
		s.piece = piece
	}
	n := copy(p, s.piece)
	s.piece = s.piece[n:]
	return n, nil
}

// drain reads the rest of the log for its facts.
func (s *section) drain() error {
	for {
		if _, err := s.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// next returns the next bytes of the part, or the error that ended the log.
func (s *section) next() ([]byte, error) {
	prefix := []byte(markerPrefix)
	for {
		window := s.buf[s.pos:]
		plain := bytes.Index(window, prefix)
		if plain < 0 {
			plain = len(window)
			if !s.eof { // the prefix may just have begun
				plain = max(0, plain-len(prefix)+1)
			}
		}
		if plain > 0 {
			s.pos += plain
			if s.inside {
				return window[:plain], nil
			}
			continue
		}
		if s.eof && len(window) == 0 {
			return nil, io.EOF
		}
		if !s.eof && len(window) < lookahead {
			if err := s.fill(); err != nil {
				return nil, err
			}
			continue
		}
		before := s.inside
		n := s.marker(window)
		s.pos += n
		if before && s.inside {
			return window[:n], nil
		}
	}
}

// fill reads once.
func (s *section) fill() error {
	n := copy(s.buf[:cap(s.buf)], s.buf[s.pos:])
	s.pos = 0
	r, err := s.src.Read(s.buf[n:cap(s.buf)])
	s.buf = s.buf[:n+r]
	s.lookForLoose(s.buf[n:])
	if errors.Is(err, io.EOF) {
		s.eof = true
		return nil
	}
	return err
}

// marker deals with text that starts with the prefix of markers and returns how
// many bytes that was. It changes inside at a border of the part.
func (s *section) marker(b []byte) int {
	switch {
	case hasPrefix(b, startMarker):
		s.facts.starts++
		if s.rules.Markers {
			// The part also ends at a second start marker.
			s.done = s.done || s.inside
			s.inside = !s.done
		}
		return len(startMarker)
	case hasPrefix(b, endMarker):
		s.facts.ends++
		if s.rules.Markers && s.inside {
			s.inside, s.done = false, true
		}
		return len(endMarker)
	case s.rules.AfterLast != "" && hasPrefix(b, s.rules.AfterLast):
		s.facts.afterLast++
		if s.skip > 0 {
			s.skip--
			s.inside = s.skip == 0
		}
		return len(s.rules.AfterLast)
	}
	for _, c := range s.rules.BadCodes {
		if hasPrefix(b, c) {
			s.facts.badCode = true
		}
	}
	if s.facts.exitCode == nil && hasPrefix(b, exitMarker) {
		if m := exitCode().FindSubmatch(b[:min(len(b), lookahead)]); m != nil {
			s.facts.exitCode = exitNumber(string(m[1]))
		}
	}
	return 1
}

// lookForLoose looks for text that does not start as markers do. fresh are the
// bytes just read; text may have begun in those before.
func (s *section) lookForLoose(fresh []byte) {
	const longest = 64
	if s.rules.NeedText == "" {
		return
	}
	s.loose = append(s.loose, fresh...)
	for _, c := range s.rules.BadCodes {
		if !strings.HasPrefix(c, markerPrefix) && bytes.Contains(s.loose, []byte(c)) {
			s.facts.badCode = true
		}
	}
	s.facts.needText = s.facts.needText || bytes.Contains(asciiLower(s.loose), []byte(s.rules.NeedText))
	if n := len(s.loose); n > longest {
		s.loose = append(s.loose[:0], s.loose[n-longest:]...)
	}
}

func asciiLower(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

var exitCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^` + exitMarker + `:` + reSpace + `*(-?\p{Nd}+)`)
})

// exitNumber reads a matched exit code. What is no ordinary number counts as
// not zero.
func exitNumber(s string) *int {
	n, err := strconv.Atoi(s)
	if err != nil {
		n = -1
	}
	return &n
}
