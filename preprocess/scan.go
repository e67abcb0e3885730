package preprocess

import "bytes"

// scanner walks over the lines of a patch without copying them.
type scanner struct {
	data []byte
	pos  int // start of the next line
	line int // number of the line that next returned last, from 1
}

// next returns the next line without its line feed.
func (s *scanner) next() ([]byte, bool) {
	if s.pos >= len(s.data) {
		return nil, false
	}
	s.line++
	rest := s.data[s.pos:]
	i := bytes.IndexByte(rest, '\n')
	if i < 0 {
		s.pos = len(s.data)
		return rest, true
	}
	s.pos += i + 1
	return rest[:i], true
}

// starts reports whether the next line begins with prefix.
func (s *scanner) starts(prefix string) bool {
	return bytes.HasPrefix(s.data[s.pos:], []byte(prefix))
}

// ahead reports whether the following lines begin with the prefixes, one each.
func (s *scanner) ahead(prefixes ...string) bool {
	t := *s
	for i, p := range prefixes {
		if i > 0 {
			if _, ok := t.next(); !ok {
				return false
			}
		}
		if !t.starts(p) {
			return false
		}
	}
	return true
}
