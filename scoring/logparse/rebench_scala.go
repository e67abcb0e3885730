package logparse

import (
	"strings"
)

var scalaCases = lineCases{
	need: []string{"[info]"},
	cases: []lineCase{
		{pattern: re(`^\[info\]\s+-\s+(.*?)\s+\*\*\*\s+FAILED\s+\*\*\*\s+\([^)]+\)$`), status: Failed},
		{pattern: re(`^\[info\]\s+-\s+(.*?)\s+!!!\s+CANCELED\s+!!!\s+\([^)]+\)$`), status: Skipped},
		{pattern: re(`^\[info\]\s+-\s+(.*?)\s+!!!\s+IGNORED\s+!!!`), status: Skipped},
		{pattern: re(`^\[info\]\s+-\s+(.*?)\s+\([^)]+\)$`), status: Passed, keep: true},
	},
}

var (
	munitColour = re(`\x1b\[[0-9;]*m|\[[0-9]{1,2}m`)
	// munitCases: with what colour codes leave when only their escape characters
	// are lost, and without codes.
	munitCases = []struct {
		status       string
		codes, plain *pyPattern
	}{
		{
			Failed,
			re(`^\s*x\s+\[0m\[31m(.*?)\[0m\s+\[90m(?:\d|\.)+[mμn]?s\[0m\s*$`),
			re(`^\s*x\s+(.*?)\s+(?:\d|\.)+[mμn]?s\s*$`),
		},
		{
			Passed,
			re(`^\s*\+\s+\[0m\[32m(.*?)\[0m\s+\[90m(?:\d|\.)+[mμn]?s\[0m\s*$`),
			re(`^\s*\+\s+(.*?)\s+(?:\d|\.)+[mμn]?s\s*$`),
		},
	}
)

// parseScalaV2 reads munit's "+ name 0.1s" and "x name 0.1s".
func parseScalaV2(in *input) error {
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		clean := munitColour.ReplaceAllLiteralString(line, "")
		for _, k := range munitCases {
			m := k.codes.FindStringSubmatch(line)
			if m == nil {
				m = k.plain.FindStringSubmatch(clean)
			}
			if m != nil {
				in.out.Set(m[1], k.status)
				break
			}
		}
		return nil
	})
}

var (
	scalaV3Test  = re(`^\[info\]\s+-\s+(.*?)(?:\s+\*{3}\s+([A-Z]+)\s+\*{3})?$`)
	scalaV3Suite = re(`^\[info\]\s+([^\-].*)$`)
	scalaV3Time  = re(`\s*\(\d+\s+\w+\)$`)
	scalaV3Words = map[string]string{
		"ABORTED": Error, "IGNORED": Skipped, "CANCELED": Skipped, "CANCELLED": Skipped, "PENDING": Skipped,
	}
	scalaV3Noise = []string{
		"Run completed", "Total number", "Suites:", "Tests:", "All tests", "compiling", "loading", "welcome to", "set current",
	}
)

// parseScalaV3 reads tests below their suite's heading. A mark that is no known
// word is the status as it stands.
func parseScalaV3(in *input) error {
	suite := ""
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		if !strings.HasPrefix(line, "[info]") {
			return nil
		}
		if strings.HasPrefix(line, "[info] -") {
			m := scalaV3Test.FindStringSubmatch(line)
			if m == nil {
				return nil
			}
			name := scalaV3Time.ReplaceAllLiteralString(strip(m[1]), "")
			if suite != "" {
				name = suite + ": " + name
			}
			if m[2] == "" {
				in.out.setDefault(name, Passed)
				return nil
			}
			status, ok := scalaV3Words[m[2]]
			if !ok {
				status = m[2]
			}
			in.out.Set(name, status)
			return nil
		}
		m := scalaV3Suite.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		if name := strip(m[1]); name != "" && !hasAny(name, scalaV3Noise) {
			in.place()
			suite = shorten(name)
		}
		return nil
	})
}
