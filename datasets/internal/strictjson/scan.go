package strictjson

import "fmt"

// Value is one JSON value. Raw is its source and aliases the record.
type Value struct {
	Kind Kind
	Raw  []byte
}

// Parse reads data as exactly one value with white space around it. The text
// of its strings is not looked at: see Text and CheckText.
func Parse(data []byte) (Value, error) {
	s := scanner{data: data}
	s.space()
	v, err := s.value(0)
	if err != nil {
		return Value{}, err
	}
	return v, s.end()
}

// Members calls fn for each member of the object in data, in order. A repeated
// key is handed out again; fn decides. The key aliases data when it has no escapes.
func Members(data []byte, fn func(key []byte, v Value) error) error {
	s := scanner{data: data}
	s.space()
	if s.peek() != '{' {
		return s.fail("a record must be an object in { }")
	}
	if err := s.object(0, fn); err != nil {
		return err
	}
	return s.end()
}

// Elements calls fn for each element of the list in data, in order.
func Elements(data []byte, fn func(v Value) error) error {
	s := scanner{data: data}
	s.space()
	if s.peek() != '[' {
		return s.fail("a list in [ ] is expected")
	}
	if err := s.array(0, fn); err != nil {
		return err
	}
	return s.end()
}

type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) fail(format string, args ...any) error {
	return &SyntaxError{Offset: s.pos, Reason: fmt.Sprintf(format, args...)}
}

// peek returns 0 at the end; a NUL byte is no JSON token, so both are refused alike.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.data) && isSpace(s.data[s.pos]) {
		s.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func (s *scanner) end() error {
	s.space()
	if s.pos < len(s.data) {
		return s.fail("there is more text after the end of the value")
	}
	return nil
}

func (s *scanner) unexpected(want string) error {
	if s.pos >= len(s.data) {
		return s.fail("the text ends where %s is expected", want)
	}
	return s.fail("%q stands where %s is expected", s.data[s.pos], want)
}

func (s *scanner) value(depth int) (Value, error) {
	start := s.pos
	var kind Kind
	var err error
	switch c := s.peek(); {
	case c == '"':
		kind, err = String, s.str()
	case c == '{':
		kind, err = Object, s.object(depth, nil)
	case c == '[':
		kind, err = Array, s.array(depth, nil)
	case c == 't':
		kind, err = Bool, s.word("true")
	case c == 'f':
		kind, err = Bool, s.word("false")
	case c == 'n':
		kind, err = Null, s.word("null")
	case c == '-' || c >= '0' && c <= '9':
		kind, err = Number, s.number()
	case c == 'N' || c == 'I':
		err = s.fail("NaN and Infinity are not JSON; write null for a missing value")
	default:
		err = s.unexpected("a value")
	}
	if err != nil {
		return Value{}, err
	}
	return Value{kind, s.data[start:s.pos]}, nil
}

func (s *scanner) object(depth int, fn func([]byte, Value) error) error {
	if depth >= MaxDepth {
		return s.fail("it nests deeper than %d levels", MaxDepth)
	}
	s.pos++
	s.space()
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.unexpected("a key in quotes")
		}
		start := s.pos
		if err := s.str(); err != nil {
			return err
		}
		key := s.data[start+1 : s.pos-1]
		s.space()
		if s.peek() != ':' {
			return s.unexpected(`":"`)
		}
		s.pos++
		s.space()
		v, err := s.value(depth + 1)
		if err != nil {
			return err
		}
		if fn != nil {
			if key, err = unquote(key); err != nil {
				return &SyntaxError{Offset: start, Reason: "a key has " + err.Error()}
			}
			if err := fn(key, v); err != nil {
				return err
			}
		}
		if done, err := s.next('}'); done || err != nil {
			return err
		}
	}
}

func (s *scanner) array(depth int, fn func(Value) error) error {
	if depth >= MaxDepth {
		return s.fail("it nests deeper than %d levels", MaxDepth)
	}
	s.pos++
	s.space()
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for {
		v, err := s.value(depth + 1)
		if err != nil {
			return err
		}
		if fn != nil {
			if err := fn(v); err != nil {
				return err
			}
		}
		if done, err := s.next(']'); done || err != nil {
			return err
		}
	}
}

// next steps over a comma, or over the closing bracket and says so.
func (s *scanner) next(closing byte) (bool, error) {
	s.space()
	switch s.peek() {
	case closing:
		s.pos++
		return true, nil
	case ',':
		s.pos++
		s.space()
		return false, nil
	}
	return false, s.unexpected(fmt.Sprintf(`"," or %q`, string(closing)))
}

// plain marks the bytes of a string that need no second look.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// str steps over a string; escapes are only skipped, Text reads them.
func (s *scanner) str() error {
	data, i := s.data, s.pos+1
	for i < len(data) {
		c := data[i]
		switch {
		case plain[c]:
			i++
		case c == '"':
			s.pos = i + 1
			return nil
		case c == '\\':
			n, ok := escapeLen(data[i:])
			if !ok {
				s.pos = i
				return s.fail("a string has a broken escape")
			}
			i += n
		default:
			s.pos = i
			return s.fail("a string has the raw control character 0x%02x; it must be escaped", c)
		}
	}
	s.pos = len(data)
	return s.fail("a string is not closed")
}

func escapeLen(b []byte) (int, bool) {
	if len(b) < 2 {
		return 0, false
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, true
	case 'u':
		_, ok := hex4(b)
		return 6, ok
	}
	return 0, false
}

func (s *scanner) word(w string) error {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return s.unexpected("a value")
	}
	s.pos += len(w)
	return nil
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.peek() == '.' {
		s.pos++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		return s.digits()
	}
	return nil
}

func (s *scanner) digits() error {
	start := s.pos
	for s.peek() >= '0' && s.peek() <= '9' {
		s.pos++
	}
	if s.pos == start {
		return s.unexpected("a digit")
	}
	return nil
}
