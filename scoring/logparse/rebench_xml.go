package logparse

import (
	"encoding/xml"
	"errors"
	"io"
	"sort"
	"strings"
)

// maxDocument bounds a document that is parsed as a whole, since a fault at its
// end takes back what stands before.
const maxDocument = wholeHead

// parseTestReports reads each document from "<?xml" to "</testsuites>"; one that
// is not well-formed gives nothing.
func parseTestReports(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	const begin, end = "<?xml", "</testsuites>"
	for {
		i := strings.Index(log, begin)
		if i < 0 {
			return nil
		}
		log = log[i:]
		n := strings.Index(log, end)
		if n < 0 {
			return nil
		}
		n += len(end)
		cases, _ := xmlTestcases(log[:n])
		for _, c := range cases {
			in.out.Set(c.class.or("None")+"::"+c.name.or("None"), c.status("failure", "skipped", "error"))
		}
		log = log[n:]
	}
}

// parseGradlewV1 reads each document from a line that starts with "<?xml" to one
// that starts with "</testsuite>".
func parseGradlewV1(in *input) error {
	var doc strings.Builder
	inside, tooLong := false, false
	return in.eachLine(func(raw []byte) error {
		t := stripBytes(raw)
		if hasPrefix(t, "<?xml") {
			doc.Reset()
			inside, tooLong = true, false
		}
		if !inside {
			return nil
		}
		in.place()
		if doc.Len()+len(raw) > maxDocument {
			tooLong, in.cut = true, true
		} else {
			doc.WriteString(text(raw))
			doc.WriteByte('\n')
		}
		if !hasPrefix(t, "</testsuite>") {
			return nil
		}
		inside = false
		if tooLong {
			return nil
		}
		cases, _ := xmlTestcases(strings.TrimSuffix(doc.String(), "\n"))
		for _, c := range cases {
			name := c.name.text
			if name != "" && c.class.text != "" {
				name += " (" + c.class.text + ")"
			}
			in.out.Set(name, c.status("skipped", "failure", "error"))
		}
		return nil
	})
}

// parseRJUnit reads the first document, by suite.
func parseRJUnit(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	i := strings.Index(log, "<?xml")
	if i < 0 {
		return nil
	}
	log = log[i:]
	const end = "</testsuites>"
	if n := strings.Index(log, end); n >= 0 {
		log = log[:n+len(end)]
	}
	cases, _ := xmlTestcases(log)
	// A suite's own cases come before those of the suites inside it.
	sort.SliceStable(cases, func(a, b int) bool { return cases[a].suite < cases[b].suite })
	for _, c := range cases {
		if c.suite == 0 {
			continue
		}
		name := c.name.text
		if c.class.text != "" {
			name = c.class.text + "::" + name
		}
		in.out.Set(name, c.status("failure", "error", "skipped"))
	}
	return nil
}

// xmlTestcase is a testcase element below a document's root.
type xmlTestcase struct {
	name, class xmlText
	suite       int   // number of the testsuite element that it stands in; 0: none, or the root
	children    uint8 // what it holds, by caseChildren
}

// caseChildren are the elements inside a test case that tell its result.
var caseChildren = map[string]struct {
	bit    uint8
	status string
}{
	"failure": {1, Failed},
	"error":   {2, Error},
	"skipped": {4, Skipped},
}

type xmlText struct {
	text  string
	given bool
}

func (t xmlText) or(s string) string {
	if t.given {
		return t.text
	}
	return s
}

// status is told by the first of some kinds of children that the case has.
func (c *xmlTestcase) status(kinds ...string) string {
	for _, k := range kinds {
		if child := caseChildren[k]; c.children&child.bit != 0 {
			return child.status
		}
	}
	return Passed
}

// xmlTestcases returns a document's test cases in document order, or nothing if
// it is not well-formed. A document type is refused: entities grow without bound.
func xmlTestcases(doc string) ([]*xmlTestcase, error) {
	d := newStrictXML(doc)
	var cases []*xmlTestcase
	type element struct {
		testcase *xmlTestcase
		suite    int
	}
	var path []element
	suites := 0
	for {
		tok, err := d.next()
		if errors.Is(err, io.EOF) {
			return cases, nil
		}
		if err != nil {
			return nil, err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			var e element
			plain := t.Name.Space == ""
			if len(path) > 0 && plain {
				parent := path[len(path)-1]
				if parent.testcase != nil {
					parent.testcase.children |= caseChildren[t.Name.Local].bit
				}
				switch t.Name.Local {
				case "testsuite":
					suites++
					e.suite = suites
				case "testcase":
					c := &xmlTestcase{suite: parent.suite}
					c.name.text, c.name.given = attribute(t, "name")
					c.class.text, c.class.given = attribute(t, "classname")
					e.testcase = c
					if len(cases) < MaxNames {
						cases = append(cases, c)
					}
				}
			}
			path = append(path, e)
		case xml.EndElement:
			path = path[:len(path)-1]
		}
	}
}
