package datasets

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parsePythonList reads a list of strings as Python writes it: 'one', "it's".
// Nothing is evaluated.
func parsePythonList(s string) ([]string, error) {
	p := pyReader{s: s}
	out := []string{}
	if !p.take('[') {
		return nil, p.fail("a list in [ ] is expected")
	}
	for !p.take(']') {
		if len(out) > 0 && !p.take(',') {
			return nil, p.fail(`"," or "]" is expected`)
		}
		if len(out) > 0 && p.take(']') { // a comma may end the list
			break
		}
		text, err := p.str()
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", len(out)+1, err)
		}
		out = append(out, text)
	}
	if p.space(); p.pos < len(p.s) {
		return nil, p.fail("there is more text after the end of the list")
	}
	return out, nil
}

type pyReader struct {
	s   string
	pos int
}

func (p *pyReader) fail(reason string) error { return fmt.Errorf("%s at byte %d", reason, p.pos) }

func (p *pyReader) space() {
	for p.pos < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *pyReader) take(c byte) bool {
	p.space()
	if p.pos < len(p.s) && p.s[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// pyEscapes are the escapes of one letter.
var pyEscapes = map[byte]byte{'\\': '\\', '\'': '\'', '"': '"', 'n': '\n', 't': '\t', 'r': '\r', 'a': 7, 'b': 8, 'f': 12, 'v': 11}

func (p *pyReader) str() (string, error) {
	p.space()
	if p.pos >= len(p.s) || p.s[p.pos] != '\'' && p.s[p.pos] != '"' {
		return "", p.fail("a string in quotes is expected")
	}
	quote := p.s[p.pos]
	p.pos++
	var b strings.Builder
	for p.pos < len(p.s) {
		c := p.s[p.pos]
		p.pos++
		switch {
		case c == quote:
			if !utf8.ValidString(b.String()) {
				return "", errors.New("it is not valid UTF-8")
			}
			return b.String(), nil
		case c == '\n':
			return "", p.fail("a string is not closed on its line")
		case c != '\\':
			b.WriteByte(c)
		default:
			if err := p.escape(&b); err != nil {
				return "", err
			}
		}
	}
	return "", p.fail("a string is not closed")
}

func (p *pyReader) escape(b *strings.Builder) error {
	if p.pos >= len(p.s) {
		return p.fail("a string is not closed")
	}
	c := p.s[p.pos]
	p.pos++
	if plain, ok := pyEscapes[c]; ok {
		b.WriteByte(plain)
		return nil
	}
	digits, ok := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if !ok {
		// Python keeps the backslash of an escape that it does not know. Octal
		// and named characters are not written by it.
		if c == 'N' || c >= '0' && c <= '7' || c == '\n' {
			return p.fail("an escape that is not read here")
		}
		b.WriteByte('\\')
		b.WriteByte(c)
		return nil
	}
	if len(p.s)-p.pos < digits {
		return p.fail("an escape is cut off")
	}
	n, err := strconv.ParseUint(p.s[p.pos:p.pos+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(n)) || n > utf8.MaxRune {
		return p.fail("an escape is not a character")
	}
	p.pos += digits
	b.WriteRune(rune(n))
	return nil
}
