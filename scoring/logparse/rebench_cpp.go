package logparse

import "strings"

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
		if line == "" {
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
