package logparse

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// xmlTag is a tag: its name without a prefix, and the attributes asked for.
type xmlTag struct {
	name       string
	end, empty bool // "</name>", "<name/>"
	attrs      map[string]string
}

// xmlScan finds tags in a log. It keeps nothing of text, comments and CDATA
// sections, so their size does not matter, and expands no entities but XML's
// own five.
type xmlScan struct {
	*byteScan
	want []string // attributes that are kept
	// doctype is set by a document type, until a document starts.
	doctype bool
	pushed  bool // the next "<" was read already
}

const (
	maxTagName = 64
	maxAttr    = MaxName + 1 // longer ones are dropped with the name they are
)

// next returns the next tag, or false at the log's end. "?xml" is a tag, too.
func (x *xmlScan) tag() (xmlTag, bool) {
	for {
		if !x.pushed && !x.skipTo("<") {
			return xmlTag{}, false
		}
		x.pushed = false
		b, ok := x.next()
		if !ok {
			return xmlTag{}, false
		}
		switch {
		case b == '!':
			x.declaration()
		case b == '<':
			x.pushed = true
		case b == '/' || b == '?' || isNameByte(b):
			if t, ok := x.element(b); ok {
				return t, true
			}
		}
	}
}

// declaration skips what starts with "<!".
func (x *xmlScan) declaration() {
	var head []byte
	for len(head) < len("[CDATA[") {
		b, ok := x.next()
		if !ok {
			return
		}
		head = append(head, b)
		switch {
		case string(head) == "--":
			x.skipTo("-->")
			return
		case string(head) == "[CDATA[":
			x.skipTo("]]>")
			return
		case string(head) == "DOCTYPE", string(head) == "ENTITY":
			x.doctype = true
			return
		case b == '<':
			x.pushed = true
			return
		case b == '>':
			return
		}
	}
}

// element reads a tag from its first byte on. It returns false for what turns
// out to be none.
func (x *xmlScan) element(b byte) (xmlTag, bool) {
	var t xmlTag
	ok := true
	if b == '/' {
		t.end = true
		if b, ok = x.next(); !ok {
			return t, false
		}
	}
	var name []byte
	for ; ok && (isNameByte(b) || b == '?' && len(name) == 0); b, ok = x.next() {
		if name = append(name, b); len(name) > maxTagName {
			return t, false
		}
	}
	t.name = string(name[strings.LastIndexByte(string(name), ':')+1:])
	for {
		switch {
		case !ok:
			return t, false
		case b == '>':
			return t, len(name) > 0
		case b == '<':
			x.pushed = true
			return t, false
		case b == '/' || b == '?':
			t.empty = true
			b, ok = x.next()
		case b == ' ' || b == '\t' || b == '\n' || b == '\r':
			b, ok = x.next()
		case isNameByte(b) && !t.end:
			t.empty = false
			if b, ok = x.attribute(b, &t); !ok {
				return t, false
			}
		default:
			return t, false
		}
	}
}

// attribute reads name="value" and returns the byte behind it.
func (x *xmlScan) attribute(b byte, t *xmlTag) (byte, bool) {
	var name, value []byte
	ok := true
	for ; ok && isNameByte(b); b, ok = x.next() {
		if name = append(name, b); len(name) > maxTagName {
			return 0, false
		}
	}
	for ok && (b == ' ' || b == '\t' || b == '\n' || b == '\r') {
		b, ok = x.next()
	}
	if !ok || b != '=' {
		return 0, false
	}
	for b, ok = x.next(); ok && (b == ' ' || b == '\t' || b == '\n' || b == '\r'); {
		b, ok = x.next()
	}
	if !ok || b != '"' && b != '\'' {
		return 0, false
	}
	quote, key := b, string(name)
	keep := x.wants(key)
	for b, ok = x.next(); ok && b != quote; b, ok = x.next() {
		if b == '<' { // a log's own text: no value has this
			x.pushed = true
			return 0, false
		}
		if keep && len(value) < maxAttr {
			value = append(value, b)
		}
	}
	if keep && ok {
		if t.attrs == nil {
			t.attrs = make(map[string]string, len(x.want))
		}
		t.attrs[key] = unescapeXML(string(Decode(value)))
	}
	if !ok {
		return 0, false
	}
	return x.next()
}

func (x *xmlScan) wants(name string) bool {
	for _, w := range x.want {
		if w == name {
			return true
		}
	}
	return false
}

func isNameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' ||
		b == '-' || b == '_' || b == '.' || b == ':' || b >= utf8.RuneSelf
}

var xmlEntities = map[string]string{"lt": "<", "gt": ">", "amp": "&", "quot": `"`, "apos": "'"}

// unescapeXML gives an attribute's value: white space becomes blanks, references
// become characters. A reference to a declared entity stays as it stands.
func unescapeXML(s string) string {
	if !strings.ContainsAny(s, "&\t\n\r") {
		return s
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "&\t\n\r")
		if i < 0 {
			i = len(s)
		}
		b.WriteString(s[:i])
		if s = s[i:]; s == "" {
			break
		}
		if s[0] != '&' {
			b.WriteByte(' ')
			s = s[1:]
			continue
		}
		n := strings.IndexByte(s[:min(len(s), 12)], ';')
		value, ok := "", false
		if n > 0 {
			value, ok = xmlReference(s[1:n])
		}
		if !ok {
			value, n = "&", 0
		}
		b.WriteString(value)
		s = s[n+1:]
	}
	return b.String()
}

func xmlReference(name string) (string, bool) {
	digits, numeric := strings.CutPrefix(name, "#")
	if !numeric {
		value, ok := xmlEntities[name]
		return value, ok
	}
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n == 0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return "", false
	}
	return string(rune(n)), true
}
