package logparse

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// parseDoctest reads the XML reporter of doctest (C++): a sub case passes when
// no expression inside it failed.
func parseDoctest(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	const end = "</doctest>"
	start := strings.Index(log, "<doctest")
	if start < 0 {
		return nil
	}
	n := strings.Index(log[start:], end)
	if n < 0 {
		return in.raise("ParseError", "the document does not end")
	}
	roots, err := doctestCases(log[start : start+n+len(end)])
	if err != nil {
		return in.raise("ParseError", "%v", err)
	}
	for _, c := range roots {
		c.each("SubCase", func(sub *docNode) {
			status := Failed
			if !sub.failed {
				status = Passed
			}
			in.out.Set(c.name+" > "+sub.name, status)
		})
	}
	return nil
}

// docNode is a test case or sub case; failed tells that an expression below it did.
type docNode struct {
	kind, name string
	failed     bool
	children   []*docNode
}

func (n *docNode) each(kind string, f func(*docNode)) {
	for _, c := range n.children {
		if c.kind == kind {
			f(c)
		}
		c.each(kind, f)
	}
}

// doctestCases returns the test cases in document order.
func doctestCases(doc string) ([]*docNode, error) {
	d := newStrictXML(doc)
	root := &docNode{}
	path := []*docNode{root} // nil for elements that do not matter
	for {
		tok, err := d.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			var node *docNode
			switch {
			case t.Name.Space != "":
			case t.Name.Local == "TestCase", t.Name.Local == "SubCase":
				node = &docNode{kind: t.Name.Local, name: "None"}
				if v, ok := attribute(t, "name"); ok {
					node.name = shorten(v)
				}
				for i := len(path) - 1; i >= 0; i-- {
					if path[i] != nil {
						path[i].children = append(path[i].children, node)
						break
					}
				}
			case t.Name.Local == "Expression":
				if v, _ := attribute(t, "success"); v != "true" {
					for _, p := range path {
						if p != nil {
							p.failed = true
						}
					}
				}
			}
			path = append(path, node)
		case xml.EndElement:
			path = path[:len(path)-1]
		}
	}
	var cases []*docNode
	root.each("TestCase", func(n *docNode) { cases = append(cases, n) })
	return cases, nil
}

// parsePrismJS reads mocha's JSON reporter: one document behind each traced
// command.
func parsePrismJS(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	for _, part := range strings.Split(log, "./node_modules/.bin/mocha tests/run.js --reporter json")[1:] {
		if _, after, ok := strings.Cut(part, "{"); ok {
			part = after
		}
		if i := strings.LastIndex(part, "}"); i >= 0 {
			part = part[:i]
		}
		if err := in.mochaDocument("{" + part + "}"); err != nil {
			return err
		}
	}
	return nil
}

func (in *input) mochaDocument(doc string) error {
	var lists map[string]json.RawMessage
	if err := json.Unmarshal([]byte(doc), &lists); err != nil {
		return in.raise("JSONDecodeError", "%v", err)
	}
	for _, l := range []struct{ key, status string }{{"failures", Failed}, {"passes", Passed}} {
		raw, ok := lists[l.key]
		if !ok {
			return in.raise("KeyError", "the document has no %q", l.key)
		}
		if raw[0] != '[' {
			return in.raise("TypeError", "%q is no list", l.key)
		}
		tests := json.NewDecoder(bytes.NewReader(raw))
		if _, err := tests.Token(); err != nil {
			return in.raise("JSONDecodeError", "%v", err)
		}
		for tests.More() {
			var t map[string]json.RawMessage
			if err := tests.Decode(&t); err != nil {
				return in.raise("TypeError", "%q is not a list of objects", l.key)
			}
			title, ok := t["fullTitle"]
			var name string
			if !ok {
				return in.raise("KeyError", "a test has no \"fullTitle\"")
			}
			if err := json.Unmarshal(title, &name); err != nil {
				return in.raise("TypeError", "a test's \"fullTitle\" is not text")
			}
			in.out.Set(name, l.status)
		}
	}
	return nil
}
