package logparse

import (
	"strings"
	"unicode/utf8"
)

var cppV2Cases = lineCases{
	need: []string{"Test"},
	cases: []lineCase{
		{pattern: re(`^Test\s+(.*?)\s+passed$`), status: Passed, keep: true},
		{pattern: re(`^Test\s+(.*?)\s+failed$`), status: Failed},
		{pattern: re(`^Test\s+(.*?)\s+skipped$`), status: Skipped},
	},
}

var (
	botanGroup  = re(`(?i)^(.*?)\s+ran\s+(\d+)\s+tests\s+in\s+(?:\d|\.)+\s+(?:msec|sec)\s+(.+)$`)
	botanFailed = re(reWordBegin + `(?i:failed)` + reWordEnd)
	cppV3Test   = re(`^(?:\[[0-9]+/[0-9]+\]\s*)?(.*?)\s*\.\.\.\s*(?:\w+)$`)
	cppV3Words  = []lineCase{
		{pattern: re(reWordBegin + `(?i:SKIPPED)` + reWordEnd), status: Skipped},
		{pattern: re(reWordBegin + `(?i:FAILED|FAIL|Failure)` + reWordEnd), status: Failed},
		{pattern: re(reWordBegin + `(?i:OK|PASSED)` + reWordEnd), status: Passed},
	}
)

// parseCppV3 reads "name... OK". A word for a result anywhere in another line
// makes the whole line a test.
func parseCppV3(in *input) error {
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		if line == "" || !mayBeCppV3(line) {
			return nil
		}
		if m := botanGroup.FindStringSubmatch(line); m != nil {
			tail := strip(m[3])
			status := Passed
			if botanFailed.MatchString(tail) {
				status = Failed
			}
			in.out.Set(strip(m[1])+" ran "+m[2]+" tests "+tail, status)
			return nil
		}
		name, status := line, ""
		if m := cppV3Test.FindStringSubmatch(line); m != nil {
			name, status = strip(m[1]), Error
		}
		for _, w := range cppV3Words {
			if w.pattern.MatchString(line) {
				status = w.status
				break
			}
		}
		if status != "" {
			in.out.Set(name, status)
		}
		return nil
	})
}

// cppV3Signs are what lines of parseCppV3's have, in lower case.
var cppV3Signs = []string{"...", "ok", "passed", "fail", "skipped", "tests"}

// mayBeCppV3 is a cheap test that no line of the format fails. It does not look
// into lines with characters that have an ASCII letter as another case.
func mayBeCppV3(line string) bool {
	for i := range len(line) {
		if line[i] >= utf8.RuneSelf {
			return true
		}
	}
	return hasAny(strings.ToLower(line), cppV3Signs)
}

var ctestLine = re(`(?i)^\s*\d+/\d+\s+Test\s+#\d+:\s+(.+?)\s+\.+\s+(Passed|Failed|Skipped|Timeout)` + reWordEnd)

func parseCppV4(in *input) error {
	return in.eachPyLine(func(line string) error {
		m := ctestLine.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		status := Skipped
		switch strings.ToUpper(m[2]) {
		case "PASSED":
			status = Passed
		case "FAILED", "TIMEOUT":
			status = Failed
		}
		in.out.Set(strip(m[1]), status)
		return nil
	})
}
