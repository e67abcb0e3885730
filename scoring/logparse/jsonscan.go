package logparse

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonScan finds JSON objects in a log and reads them as a stream: it keeps the
// wanted fields of the objects that are open, and nothing else, so the size of a
// document does not matter.
type jsonScan struct {
	*byteScan
	want []string
	// object is called at the end of each object, with the keys that lead to it
	// ("" for an element of a list) and those of its wanted fields that are
	// scalars or lists of scalars, as text.
	object func(path []string, fields jsonFields)
	// restart, if set, is called at each NUL outside of objects.
	restart func()

	b    byte // the byte at hand
	more bool
	path []string
}

// jsonFields are an object's wanted fields. One that the object has without a
// scalar, such as null, is empty but not nil.
type jsonFields map[string][]string

// text is the value of a field, "" if it has none.
func (f jsonFields) text(key string) string {
	if v := f[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

const (
	jsonDepth  = 256
	maxJSONKey = 64
	maxList    = 64 // elements of a list that are kept
)

// documents reads the whole log. Text that is no JSON ends a document at that
// place; end hears of each, and whether it was complete.
func (s *jsonScan) documents(end func(complete bool) error) error {
	for s.advance(); s.more; {
		if s.b != '{' {
			if s.b == 0 && s.restart != nil {
				s.restart()
			}
			s.advance()
			continue
		}
		s.path = s.path[:0]
		s.inside = true
		ok := s.readObject()
		s.inside = false
		if end != nil {
			if err := end(ok); err != nil {
				return err
			}
		}
	}
	return s.failure()
}

func (s *jsonScan) advance() { s.b, s.more = s.next() }

func (s *jsonScan) space() {
	for s.more && (s.b == ' ' || s.b == '\n' || s.b == '\t' || s.b == '\r') {
		s.advance()
	}
}

// accept moves on if the byte at hand is b.
func (s *jsonScan) accept(b byte) bool {
	if !s.more || s.b != b {
		return false
	}
	s.advance()
	return true
}

// readObject reads an object from its brace on, and the byte behind it.
func (s *jsonScan) readObject() bool {
	if len(s.path) >= jsonDepth {
		return false
	}
	fields := jsonFields{}
	s.advance()
	s.space()
	if s.accept('}') {
		s.object(s.path, fields)
		return true
	}
	for {
		if !s.more || s.b != '"' {
			return false
		}
		raw, ok := s.readString(maxJSONKey)
		if s.space(); !ok || !s.accept(':') {
			return false
		}
		key := string(raw)
		if s.wants(key) {
			fields[key] = []string{} // of several, the last counts
		}
		s.path = append(s.path, key)
		s.space()
		size := 0
		ok = s.readValue(func(v string) {
			// What makes a name too long needs no more behind it.
			if size <= MaxName {
				fields[key] = append(fields[key], v)
				size += len(v)
			}
		}, s.wants(key))
		s.path = s.path[:len(s.path)-1]
		if s.space(); !ok {
			return false
		}
		if s.accept('}') {
			s.object(s.path, fields)
			return true
		}
		if !s.accept(',') {
			return false
		}
		s.space()
	}
}

// readValue reads any value; scalars, and those of a list, are given to keep.
func (s *jsonScan) readValue(keep func(string), wanted bool) bool {
	limit := 0
	if wanted {
		limit = maxAttr
	}
	switch {
	case !s.more:
		return false
	case s.b == '{':
		return s.readObject()
	case s.b == '[':
		return s.readList(keep, wanted)
	case s.b == '"':
		v, ok := s.readString(limit)
		if ok && wanted {
			keep(string(Decode(v)))
		}
		return ok
	}
	word, ok := s.readWord()
	if ok && wanted && word != "null" {
		keep(word)
	}
	return ok
}

func (s *jsonScan) readList(keep func(string), wanted bool) bool {
	if len(s.path) >= jsonDepth {
		return false
	}
	s.path = append(s.path, "")
	defer func() { s.path = s.path[:len(s.path)-1] }()
	s.advance()
	s.space()
	if s.accept(']') {
		return true
	}
	for n := 0; ; n++ {
		if !s.readValue(keep, wanted && n < maxList) {
			return false
		}
		s.space()
		if s.accept(']') {
			return true
		}
		if !s.accept(',') {
			return false
		}
		s.space()
	}
}

// readWord reads a number, true, false or null.
func (s *jsonScan) readWord() (string, bool) {
	var word []byte
	for s.more && len(word) < maxJSONKey {
		c := s.b
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == 'E' || c == '+' || c == '-' || c == '.') {
			break
		}
		word = append(word, c)
		s.advance()
	}
	switch w := string(word); w {
	case "true", "false", "null":
		return w, true
	default:
		_, err := strconv.ParseFloat(w, 64)
		return w, err == nil && w[0] != '+' && w[0] != '.' && w != "inf" && w != "nan"
	}
}

// readString reads a string from its quote on and returns at most its first
// limit bytes.
func (s *jsonScan) readString(limit int) ([]byte, bool) {
	var v []byte
	for s.advance(); s.more; s.advance() {
		c := s.b
		switch {
		case c == '"':
			s.advance()
			return v, true
		case c < 0x20:
			return nil, false
		case c == '\\':
			r, ok := s.readEscape()
			if !ok {
				return nil, false
			}
			if len(v) < limit {
				v = utf8.AppendRune(v, r)
			}
		case len(v) < limit:
			v = append(v, c)
		}
	}
	return nil, false
}

var jsonEscapes = map[byte]rune{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// readEscape reads what stands behind a backslash, up to its last byte. Half of
// a surrogate pair becomes U+FFFD.
func (s *jsonScan) readEscape() (rune, bool) {
	s.advance()
	if r, ok := jsonEscapes[s.b]; ok && s.more {
		return r, true
	}
	r, ok := s.readHex()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if next, err := s.r.Peek(6); err == nil && next[0] == '\\' && next[1] == 'u' {
		if low, err := strconv.ParseUint(string(next[2:]), 16, 16); err == nil {
			if pair := utf16.DecodeRune(r, rune(low)); pair != utf8.RuneError {
				for range 6 {
					s.advance()
				}
				return pair, true
			}
		}
	}
	return utf8.RuneError, true
}

// readHex reads "u" and four digits.
func (s *jsonScan) readHex() (rune, bool) {
	if !s.more || s.b != 'u' {
		return 0, false
	}
	var digits [4]byte
	for i := range digits {
		if s.advance(); !s.more {
			return 0, false
		}
		digits[i] = s.b
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	return rune(n), err == nil
}

func (s *jsonScan) wants(key string) bool {
	for _, w := range s.want {
		if w == key {
			return true
		}
	}
	return false
}

// pathEnds reports whether a path ends with some keys.
func pathEnds(path []string, keys ...string) bool {
	if len(path) < len(keys) {
		return false
	}
	for i, k := range keys {
		if path[len(path)-len(keys)+i] != k {
			return false
		}
	}
	return true
}
