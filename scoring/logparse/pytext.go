package logparse

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Python's str.isspace and re's \s agree on these characters; Go's
// unicode.IsSpace lacks U+001C to U+001F.
func isSpace(r rune) bool {
	switch {
	case r < 0x80:
		return r == ' ' || r >= 0x09 && r <= 0x0d || r >= 0x1c && r <= 0x1f
	case r == 0x85:
		return true
	}
	return unicode.Is(unicode.Z, r)
}

func isSpaceByte(c byte) bool {
	return c == ' ' || c >= 0x09 && c <= 0x0d || c >= 0x1c && c <= 0x1f
}

func strip(s string) string  { return strings.TrimFunc(s, isSpace) }
func lstrip(s string) string { return strings.TrimLeftFunc(s, isSpace) }
func rstrip(s string) string { return strings.TrimRightFunc(s, isSpace) }

// stripBytes is strip for bytes, without a call a rune in the common case.
func stripBytes(b []byte) []byte {
	for len(b) > 0 && b[0] < utf8.RuneSelf && isSpaceByte(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] < utf8.RuneSelf && isSpaceByte(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	if len(b) > 0 && (b[0] >= utf8.RuneSelf || b[len(b)-1] >= utf8.RuneSelf) {
		return bytes.TrimFunc(b, isSpace)
	}
	return b
}

func fields(s string) []string { return strings.FieldsFunc(s, isSpace) }

// nextField cuts the first white-space separated word off b.
func nextField(b []byte) (word, rest []byte) {
	i := 0
	for i < len(b) {
		r, n := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(b[i:])
		}
		if !isSpace(r) {
			break
		}
		i += n
	}
	start := i
	for i < len(b) {
		r, n := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(b[i:])
		}
		if isSpace(r) {
			break
		}
		i += n
	}
	return b[start:i], b[i:]
}

// indent is the number of white-space characters that s starts with.
func indent(s string) int {
	return utf8.RuneCountInString(s[:len(s)-len(lstrip(s))])
}

// text decodes a line as Python's errors="replace" does.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	s.Grow(decodedSize(b))
	eachDecoded(b, func(part []byte) { s.Write(part) })
	return s.String()
}

// Decode replaces what is not UTF-8 by U+FFFD: one for each longest start of a
// character that breaks off, one for each other byte (Unicode 3.9, table 3-7).
// Valid input is returned as it is.
func Decode(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out := make([]byte, 0, decodedSize(b))
	eachDecoded(b, func(part []byte) { out = append(out, part...) })
	return out
}

// decodedSize is counted first: what is not UTF-8 grows to three times its size,
// and so would a buffer that is grown for it, copies not counted.
func decodedSize(b []byte) int {
	n := 0
	eachDecoded(b, func(part []byte) { n += len(part) })
	return n
}

var replacement = []byte("\uFFFD")

// eachDecoded calls f with the parts of the decoded bytes.
func eachDecoded(b []byte, f func(part []byte)) {
	for len(b) > 0 {
		n := 0
		for n < len(b) {
			r, size := utf8.DecodeRune(b[n:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		f(b[:n])
		if b = b[n:]; len(b) > 0 {
			f(replacement)
			b = b[brokenPrefix(b):]
		}
	}
}

// brokenPrefix is the length of the maximal subpart that b starts with.
func brokenPrefix(b []byte) int {
	lo, hi, want := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		want = 2
	case c >= 0xe0 && c <= 0xef:
		want = 3
		if c == 0xe0 {
			lo = 0xa0
		} else if c == 0xed {
			hi = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		want = 4
		if c == 0xf0 {
			lo = 0x90
		} else if c == 0xf4 {
			hi = 0x8f
		}
	default:
		return 1
	}
	n := 1
	for n < want && n < len(b) && b[n] >= lo && b[n] <= hi {
		lo, hi = 0x80, 0xbf
		n++
	}
	return n
}
