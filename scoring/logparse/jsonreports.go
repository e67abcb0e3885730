package logparse

import (
	"slices"
	"strings"
)

// parseCTRF reads reports in the Common Test Report Format. A test's name has
// its suites before it: "suite > name".
// Format: https://ctrf.io, "results.tests".
func parseCTRF(in *input) error {
	words := map[string]string{
		"passed": Passed, "failed": Failed, "skipped": Skipped, "pending": Skipped, "other": Error,
	}
	s := &jsonScan{byteScan: in.bytes(), want: []string{"name", "status", "suite", "duration"}}
	s.object = func(path []string, f jsonFields) {
		status, ok := words[f.text("status")]
		if !ok || f["name"] == nil || !pathEnds(path, "results", "tests", "") {
			return
		}
		name := strings.Join(append(slices.Clone(f["suite"]), f.text("name")), " > ")
		in.out.Set(name, status)
		in.out.setDuration(name, f.text("duration"), 1e-3)
	}
	return s.documents(nil)
}

// pytestOutcomes are the words of pytest's JSON reports. A test that passes
// although it was expected to fail has passed: pytest's own "strict" calls it
// failed if it shall not.
var pytestOutcomes = map[string]string{
	"passed": Passed, "failed": Failed, "error": Error, "skipped": Skipped, "xfailed": XFail, "xpassed": Passed,
}

// parsePytestJSON reads the document of pytest-json-report and the lines of
// pytest-reportlog. A file that can't be collected is an error of its own name.
func parsePytestJSON(in *input) error {
	s := &jsonScan{byteScan: in.bytes(), want: []string{"nodeid", "outcome", "when", "$report_type", "wasxfail", "duration"}}
	call := "" // how long the call of the test at hand took
	s.object = func(path []string, f jsonFields) {
		name, outcome := f.text("nodeid"), pytestOutcomes[f.text("outcome")]
		switch {
		case pathEnds(path, "tests", "", "call"):
			call = f.text("duration")
		case name == "" || outcome == "":
		case pathEnds(path, "tests", ""):
			in.out.Set(name, outcome)
			in.out.setDuration(name, call, 1)
			call = ""
		case pathEnds(path, "collectors", ""), f.text("$report_type") == "CollectReport":
			if outcome == Failed {
				in.out.Set(name, Error)
			}
		case f.text("$report_type") == "TestReport":
			in.pytestPhase(name, outcome, f)
		}
	}
	return s.documents(nil)
}

// pytestPhase takes the result of a test's set-up, call or clean-up. The call
// decides, unless one of the others fails.
func (in *input) pytestPhase(name, outcome string, f jsonFields) {
	call := f.text("when") == "call"
	switch {
	case outcome == Failed && !call:
		outcome = Error
	case outcome == Skipped && f["wasxfail"] != nil:
		outcome = XFail
	case outcome == Passed && !call:
		return
	}
	if before, ok := in.out.Get(name); ok && f.text("when") == "teardown" && (outcome != Error || before == Error) {
		return
	}
	in.out.Set(name, outcome)
	if call {
		in.out.setDuration(name, f.text("duration"), 1)
	}
}
