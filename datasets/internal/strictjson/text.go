package strictjson

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns the content of a string value; v.Kind must be String. Invalid
// UTF-8 and lone surrogates are a *TextError.
func (v Value) Text() (string, error) {
	inner := v.Raw[1 : len(v.Raw)-1]
	b, err := unquote(inner)
	if err != nil {
		return "", err
	}
	return string(b), nil
}

// CheckText looks for a string anywhere in v that Text would refuse.
func (v Value) CheckText() error {
	switch v.Kind {
	case String:
		_, err := unquote(v.Raw[1 : len(v.Raw)-1])
		return err
	case Array:
		return Elements(v.Raw, Value.CheckText)
	case Object:
		return Members(v.Raw, func(_ []byte, m Value) error { return m.CheckText() })
	}
	return nil
}

// unquote resolves the escapes of a string's source. Without escapes it returns src itself.
func unquote(src []byte) ([]byte, error) {
	i := bytes.IndexByte(src, '\\')
	if i < 0 {
		if !utf8.Valid(src) {
			return nil, invalidUTF8(src, 0)
		}
		return src, nil
	}
	out := make([]byte, 0, len(src))
	rest := 0 // start of what is not copied yet
	for i >= 0 {
		run := src[rest:i]
		if !utf8.Valid(run) {
			return nil, invalidUTF8(run, rest)
		}
		out = append(out, run...)
		n := 2
		switch c := src[i+1]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, size, err := unicodeEscape(src, i)
			if err != nil {
				return nil, err
			}
			out, n = utf8.AppendRune(out, r), size
		default:
			out = append(out, c)
		}
		rest = i + n
		if i = bytes.IndexByte(src[rest:], '\\'); i >= 0 {
			i += rest
		}
	}
	run := src[rest:]
	if !utf8.Valid(run) {
		return nil, invalidUTF8(run, rest)
	}
	return append(out, run...), nil
}

// unicodeEscape reads \uXXXX, or a pair of them that spells one character.
func unicodeEscape(src []byte, i int) (rune, int, error) {
	first, _ := hex4(src[i:])
	if !utf16.IsSurrogate(first) {
		return first, 6, nil
	}
	if second, ok := hex4(src[i+6:]); ok {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return r, 12, nil
		}
	}
	return 0, 0, &TextError{Offset: i, Reason: fmt.Sprintf(`lone surrogate \u%04x`, first)}
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func invalidUTF8(b []byte, base int) error {
	at := 0
	for at < len(b) {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return &TextError{Offset: base + at, Reason: fmt.Sprintf("invalid UTF-8 (byte 0x%02x)", b[at])}
}
