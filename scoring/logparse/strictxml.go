package logparse

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// strictXML refuses what Python's reader refuses and Go's does not.
type strictXML struct {
	doc    string
	d      *xml.Decoder
	spaces xmlSpaces
	depth  int
	rooted bool
}

// newStrictXML reads a document of which only attributes matter, so all white
// space can be what it is in their values: blanks, unless written as a reference.
func newStrictXML(doc string) *strictXML {
	doc = blanks.Replace(doc)
	d := xml.NewDecoder(strings.NewReader(doc))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // a log is UTF-8 whatever it says
	return &strictXML{doc: doc, d: d, spaces: xmlSpaces{"": {}, "http://www.w3.org/XML/1998/namespace": {}, "xml": {}}}
}

var blanks = strings.NewReplacer("\n", " ", "\t", " ")

func (x *strictXML) next() (xml.Token, error) {
	offset := x.d.InputOffset()
	if attributes(x.doc[offset:]) > maxAttributes {
		return nil, errors.New("an element has too many attributes")
	}
	tok, err := x.d.Token()
	if errors.Is(err, io.EOF) && !x.rooted {
		return nil, errors.New("there is no element")
	}
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case xml.StartElement:
		if x.depth == 0 && x.rooted {
			return nil, errors.New("there is a second root")
		}
		x.rooted = true
		if tag := x.doc[offset:x.d.InputOffset()]; tag != "" && !xmlStartTag.MatchString(tag) {
			return nil, errors.New("attributes are not apart")
		}
		if x.depth++; x.depth > maxElements {
			return nil, errors.New("elements are nested too deeply")
		}
		if err := x.spaces.check(t); err != nil {
			return nil, err
		}
	case xml.EndElement:
		x.depth--
	case xml.CharData:
		if x.depth == 0 && strings.Trim(string(t), " \t\r\n") != "" {
			return nil, errors.New("there is text outside the root")
		}
	case xml.ProcInst:
		if t.Target == "xml" && (offset > 0 || !xmlDeclaration.Match(t.Inst)) {
			return nil, errors.New("the declaration is not at the start, or none")
		}
	case xml.Directive:
		return nil, fmt.Errorf("document types are refused: <!%.40s", t)
	}
	return tok, nil
}

// Bounds of a document: elements inside each other, and attributes of one.
const (
	maxElements   = 100
	maxAttributes = 1000
)

// attributes counts the attributes of the tag that s starts with, if it does,
// up to one too many.
func attributes(s string) int {
	n, quote := 0, byte(0)
	if !strings.HasPrefix(s, "<") || strings.HasPrefix(s, "<!") {
		return 0
	}
	for i := 1; i < len(s) && n <= maxAttributes; i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '=':
			n++
		case c == '>' || c == '<':
			return n
		}
	}
	return n
}

// xmlStartTag has white space before each attribute. The end of an empty element
// comes from no text of its own.
var xmlStartTag = re(`^<[^ "'=<>/]+(?: +[^ "'=<>/]+ *= *(?:"[^"]*"|'[^']*'))* */?>$`)

var xmlDeclaration = re(`^version *= *["'][a-zA-Z0-9_.:\-]*["']` +
	`(?: +encoding *= *["'][A-Za-z][A-Za-z0-9._\-]*["'])?(?: +standalone *= *["'](?:yes|no)["'])? *$`)

// xmlSpaces are the name spaces that a document has declared so far. Python's
// reader stops at a prefix without one and at a repeated attribute; Go's does not.
type xmlSpaces map[string]struct{}

func (s xmlSpaces) check(t xml.StartElement) error {
	seen := make(map[xml.Name]struct{}, len(t.Attr))
	for _, a := range t.Attr {
		if _, twice := seen[a.Name]; twice {
			return fmt.Errorf("attribute %q is given twice", a.Name.Local)
		}
		seen[a.Name] = struct{}{}
		if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" {
			s[a.Value] = struct{}{}
		}
	}
	seen[t.Name] = struct{}{}
	for name := range seen {
		if _, ok := s[name.Space]; !ok && name.Space != "xmlns" {
			return fmt.Errorf("prefix %q is not declared", name.Space)
		}
	}
	return nil
}

func attribute(t xml.StartElement, name string) (string, bool) {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}
