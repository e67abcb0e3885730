package logparse

import (
	"strings"
	"unicode/utf8"
)

var jsTime = re(`(?i)\s*(?:\(\s*)?\d+(?:\.\d+)?\s*(?:ms|s)\s*(?:\))?\s*$`)

// withoutTime takes a time such as "(53ms)" off a name's end.
func withoutTime(name string) string { return strip(jsTime.ReplaceAllLiteralString(name, "")) }

var (
	jsPassed  = lineCase{pattern: re(`^\s*✔\s+(.*?)$`), status: Passed, keep: true}
	jsSkipped = lineCase{pattern: re(`^\s*-\s+(.*?)$`), status: Skipped}

	jsCases = lineCases{
		cases: []lineCase{
			jsSkipped,
			{pattern: re(`^\s*\d+\)\s+(.*?):$`), status: Failed},
			{pattern: re(`^\s*\[W\]\s*\d+\)\s+(.*?)$`), status: Failed},
			jsPassed,
		},
		name: withoutTime,
	}
	js2Cases = lineCases{
		cases: []lineCase{jsSkipped, {pattern: re(`^\s*\d+\)\s+(.*?)$`), status: Failed}, jsPassed},
		name:  withoutTime,
	}

	js3Test = re(`^(not ok|ok)\s+\d+\s+-\s+(.*?)(?:\s+#.*)?$`)
)

// parseJS3 reads TAP whose subtests stand in braces behind their own result; a
// failure stays.
func parseJS3(in *input) error {
	var blocks suitePath
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		if line != "" && strings.Trim(line, "}") == "" {
			in.place()
			for range line {
				blocks.leave()
			}
			return nil
		}
		line, opens := strings.CutSuffix(line, "{")
		if opens {
			line = rstrip(line)
		}
		m := js3Test.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		in.place()
		name := withoutTime(strip(m[2]))
		if name == "" {
			return nil
		}
		full := blocks.join(name, " :: ")
		lower := strings.ToLower(m[2])
		switch {
		case strings.Contains(lower, "# skip"), strings.Contains(lower, "# todo"):
			in.out.Set(full, Skipped)
		case m[1] == "ok":
			in.out.setDefault(full, Passed)
		default:
			in.out.Set(full, Failed)
		}
		if opens {
			blocks.enter(name)
		}
		return nil
	})
}

var (
	js4Words = map[rune]string{
		'✔': Passed, '✓': Passed,
		'✘': Failed, '✖': Failed, '×': Failed,
		'○': Skipped, '◌': Skipped, '◦': Skipped, '⚪': Skipped,
	}
	js4Skips = []string{"(skipped)", "[skip]", "[skipped]", "[pending]", "[todo]"}
)

// parseJS4 reads lines that start with a mark, and others that say that they
// were skipped.
func parseJS4(in *input) error {
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		mark, n := utf8.DecodeRuneInString(line)
		if status, ok := js4Words[mark]; ok {
			in.place()
			name := withoutTime(js4Name(strip(line[n:])))
			switch {
			case name == "":
			case status == Passed:
				in.out.setDefault(name, status)
			default:
				in.out.Set(name, status)
			}
			return nil
		}
		if !strings.ContainsAny(line, "([") || !hasAny(strings.ToLower(line), js4Skips) {
			return nil
		}
		in.place()
		for _, s := range js4Skips {
			line = strings.ReplaceAll(line, s, "")
		}
		if name := withoutTime(line); name != "" {
			in.out.Set(name, Skipped)
		}
		return nil
	})
}

// js4Name takes a tag such as "[chromium]:" off a name.
func js4Name(s string) string {
	if strings.HasPrefix(s, "[") {
		if _, after, ok := strings.Cut(s, "]:"); ok {
			s = strip(after)
		}
	}
	if after, ok := strings.CutPrefix(s, ":"); ok {
		s = strip(after)
	}
	return s
}

var (
	npxPassed = re(`^\s*✔\s+(.+?)(?:\s+\(\d+(?:ms)?\))?$`)
	npxFailed = re(`^\s*\d+\)\s+(.+)$`)
	npxModule = re(`\s+\([^)]+\)$`)
)

func parseNpx(in *input) error {
	return in.eachPyLine(func(line string) error {
		line = rstrip(line)
		if m := npxPassed.FindStringSubmatch(line); m != nil {
			in.out.Set(strip(m[1]), Passed)
		} else if m := npxFailed.FindStringSubmatch(line); m != nil {
			in.out.Set(npxModule.ReplaceAllLiteralString(strip(m[1]), ""), Failed)
		}
		return nil
	})
}

// rebenchJestFiles reads jest's "PASS path (1.2 s)": its tests are files.
var rebenchJestFiles = lineRule{
	pattern: re(`^(?P<status>PASS|FAIL)\s(?P<name>.*?)(?:\s\((?:\d|\.)+\s*(?:ms|s)\))?$`),
	raw:     true,
	need:    []string{"PASS", "FAIL"},
	words:   map[string]string{"PASS": Passed, "FAIL": Failed},
	name:    func(name, _ string, _ Dialect) string { return rstrip(name) },
}
