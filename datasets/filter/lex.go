package filter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokString
	tokNumber
	tokOp
)

type token struct {
	kind   tokenKind
	text   string // of a string: its content
	number int
	offset int
}

func (t token) is(op string) bool { return t.kind == tokOp && t.text == op }

// String describes the token in a message.
func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end"
	case tokString:
		return "the string " + strconv.Quote(t.text)
	}
	return strconv.Quote(t.text)
}

// operators, longest first.
var operators = []string{"&&", "||", "==", "!=", "<=", ">=", "!~", "<", ">", "~", "!", "(", ")", "[", "]", ","}

var words = map[string]string{"and": "&&", "or": "||", "not": "!", "in": "in"}

func lex(src string) ([]token, error) {
	var out []token
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '"' || c == '\'':
			text, n, ok := quoted(src[i:])
			if !ok {
				return nil, &Error{src, i, "the string is not closed"}
			}
			out = append(out, token{kind: tokString, text: text, offset: i})
			i += n
		case isDigit(c):
			n := i
			for n < len(src) && (isDigit(src[n]) || isLetter(src[n])) {
				n++
			}
			v, err := strconv.ParseInt(src[i:n], 10, 32)
			if err != nil {
				return nil, &Error{src, i, fmt.Sprintf("%q is not a whole number (text goes in quotes)", src[i:n])}
			}
			out = append(out, token{kind: tokNumber, text: src[i:n], number: int(v), offset: i})
			i = n
		case isLetter(c):
			n := i
			for n < len(src) && (isLetter(src[n]) || isDigit(src[n])) {
				n++
			}
			t := token{kind: tokName, text: src[i:n], offset: i}
			if op, ok := words[t.text]; ok {
				t.kind, t.text = tokOp, op
			}
			out = append(out, t)
			i = n
		default:
			op := operatorAt(src[i:])
			if op == "" {
				r, _ := utf8.DecodeRuneInString(src[i:])
				hint := ""
				if c == '=' || c == '&' || c == '|' {
					hint = fmt.Sprintf("; write %c%c", c, c)
				}
				return nil, &Error{src, i, fmt.Sprintf("%q means nothing here%s", r, hint)}
			}
			out = append(out, token{kind: tokOp, text: op, offset: i})
			i += len(op)
		}
	}
	return append(out, token{kind: tokEnd, offset: len(src)}), nil
}

func operatorAt(s string) string {
	for _, op := range operators {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

// quoted reads a string literal at the start of s and returns its content and length.
func quoted(s string) (string, int, bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == s[0]:
			return b.String(), i + 1, true
		case c == '\\' && i+1 < len(s) && (s[i+1] == '\\' || s[i+1] == '"' || s[i+1] == '\''):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
