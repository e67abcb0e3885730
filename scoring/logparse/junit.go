package logparse

import "strings"

// parseJUnitXML reads JUnit XML, as many documents as a log has, among other
// lines. A test's name is "classname.name". A document with a document type is
// left out, and so is a test whose element does not end, unless it has failed.
// Format: the schema of Jenkins' xUnit plug-in and what runners write beyond it.
func parseJUnitXML(in *input) error {
	x := &xmlScan{byteScan: in.bytes(), want: []string{"name", "classname", "type", "time"}}
	j := junit{in: in}
	for {
		t, ok := x.tag()
		if !ok {
			break
		}
		j.tag(t, x)
	}
	j.endCase(true)
	return x.failure()
}

// junit is where in a document the reader is.
type junit struct {
	in      *input
	depth   int // of testsuites and testsuite elements
	refused bool
	open    bool // in a test case
	name    string
	status  string
	time    string
}

func (j *junit) tag(t xmlTag, x *xmlScan) {
	switch t.name {
	case "?xml":
		j.endCase(true)
		j.depth, j.refused = 0, false
		x.doctype = false
	case "testsuites", "testsuite":
		j.endCase(true)
		if t.end {
			j.depth = max(0, j.depth-1)
		} else if j.depth == 0 {
			j.refused, x.doctype = x.doctype, false
		}
		if !t.end && !t.empty {
			j.depth++
		}
		x.inside = j.depth > 0 && !j.refused
	case "testcase":
		j.endCase(!t.end)
		if j.depth == 0 || t.end {
			return
		}
		j.open, j.status = true, Passed
		j.name, j.time = t.attrs["name"], t.attrs["time"]
		if class := t.attrs["classname"]; class != "" {
			j.name = class + "." + j.name
		}
		if t.empty {
			j.endCase(false)
		}
	case "failure", "error", "skipped":
		if j.open && !t.end {
			j.result(t)
		}
	}
}

// result takes an element inside a test case; an error outweighs a failure, and
// both outweigh a skip.
func (j *junit) result(t xmlTag) {
	switch {
	case t.name == "error":
		j.status = Error
	case t.name == "failure" && j.status != Error:
		j.status = Failed
	case t.name == "skipped" && j.status == Passed:
		j.status = Skipped
		if t.attrs["type"] == "pytest.xfail" {
			j.status = XFail
		}
	}
}

// endCase records the open test case; torn says that its end was not seen.
func (j *junit) endCase(torn bool) {
	if j.open && !j.refused && (!torn || j.status == Failed || j.status == Error) {
		j.in.out.Set(j.name, j.status)
		j.in.out.setDuration(j.name, strings.ReplaceAll(j.time, ",", ""), 1) // Surefire groups digits
	}
	j.open = false
}
