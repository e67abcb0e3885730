package preprocess

import (
	"bytes"
	"strings"
)

// unquote reads a name in git's C style: a leading double quote, then bytes with
// backslash escapes, among them three octal digits. It returns the bytes, what
// follows the closing quote, and whether it was well formed.
func unquote(b []byte) (text, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, b, false
	}
	var out []byte
	for i := 1; i < len(b); i++ {
		switch c := b[i]; c {
		case '"':
			return out, b[i+1:], true
		case '\\':
			i++
			if i == len(b) {
				return nil, b, false
			}
			if j := strings.IndexByte(`abfnrtv\"`, b[i]); j >= 0 {
				out = append(out, "\a\b\f\n\r\t\v\\\""[j])
				continue
			}
			if i+2 >= len(b) || b[i] > '3' {
				return nil, b, false
			}
			v := 0
			for _, d := range b[i : i+3] {
				if d < '0' || d > '7' {
					return nil, b, false
				}
				v = v<<3 | int(d-'0')
			}
			out = append(out, byte(v))
			i += 2
		default:
			out = append(out, c)
		}
	}
	return nil, b, false
}

// headerName reads the name of a "---", "+++", "rename from" ... line: quoted, or
// up to a carriage return or one of the other bytes in end.
func headerName(b []byte, end string) (string, bool) {
	if len(b) > 0 && b[0] == '"' {
		text, _, ok := unquote(b)
		if !ok {
			return string(b), false
		}
		return string(text), true
	}
	if i := bytes.IndexAny(b, "\r"+end); i >= 0 {
		b = b[:i]
	}
	return string(b), true
}

// splitGitHeader takes "a/x b/x" apart. Unquoted names may hold spaces, so the
// split is where both sides are equal after their first part; failing that, at
// the only space, or before "b/". A rename is told by other lines.
func splitGitHeader(b []byte) (from, to string, ok bool) {
	b = bytes.TrimRight(b, "\r")
	if len(b) > 0 && b[0] == '"' {
		l, rest, ok := unquote(b)
		if !ok || len(rest) < 2 || rest[0] != ' ' {
			return "", "", false
		}
		if rest[1] == '"' {
			r, rest, ok := unquote(rest[1:])
			return string(l), string(r), ok && len(rest) == 0
		}
		return string(l), string(rest[1:]), true
	}
	if len(b) > 0 && b[len(b)-1] == '"' {
		if i := bytes.Index(b, []byte(` "`)); i >= 0 {
			r, rest, ok := unquote(b[i+1:])
			return string(b[:i]), string(r), ok && len(rest) == 0
		}
	}
	if i := sameSplit(b); i > 0 {
		return string(b[:i]), string(b[i+1:]), true
	}
	i := bytes.Index(b, []byte(" b/"))
	if bytes.Count(b, []byte(" ")) == 1 {
		i = bytes.IndexByte(b, ' ')
	}
	if i <= 0 {
		return "", "", false
	}
	return string(b[:i]), string(b[i+1:]), true
}

// sameSplit finds the space with the same text on both sides after their first
// parts, or -1. Going right, the left text grows and the right one shrinks, so few
// pairs are of equal length and the time is linear.
func sameSplit(b []byte) int {
	left := 0 // start of the left text: behind the first slash, once that is passed
	next := -1
	for i, c := range b {
		if c == '/' && left == 0 {
			left = i + 1
		}
		if c != ' ' {
			continue
		}
		if next <= i { // the first slash on the right
			if next = bytes.IndexByte(b[i+1:], '/'); next < 0 {
				next = len(b)
			} else {
				next += i + 1
			}
		}
		right := next + 1
		if next == len(b) {
			right = i + 1
		}
		if i > left && i-left == len(b)-right && bytes.Equal(b[left:i], b[right:]) {
			return i
		}
	}
	return -1
}

// stripFirst removes the first path part, as -p1 does; a name without a slash stays.
func stripFirst(s string) string {
	if i := strings.IndexByte(s, '/'); i >= 0 {
		return s[i+1:]
	}
	return s
}
