package logparse

import "strings"

var elixirCases = lineCases{
	need: []string{"test"},
	cases: []lineCase{
		{pattern: re(`^\*\s+test\s+(.*?)\s+\(skipped\)\s+\[L#\d+\]$`), status: Skipped},
		{pattern: re(`^\d+\)\s+test\s+(.*?)\s+\([^)]+\)$`), status: Failed},
		{pattern: re(`^\*\s+test\s+(.*?)\s+\([0-9]+(?:\.[0-9]+)?ms\)\s+\[L#\d+\]$`), status: Passed, keep: true},
		{pattern: re(`^\*\s+test\s+(.*?)\s+\[L#\d+\]$`), status: Passed, keep: true},
	},
}

var (
	rubyV1Suite = re(`^[A-Z][A-Za-z0-9_]*$`)
	rubyV1Test  = re(`^\s*(test[^A-Z\n]+?)\s+(PASS|PASSED|FAIL|FAILURE|ERROR|SKIP|SKIPPED)(?:\s*\([0-9.]+s\))?$`)
	rubyV1Words = map[string]string{
		"PASS": Passed, "PASSED": Passed, "FAIL": Failed, "FAILURE": Failed, "ERROR": Error, "SKIP": Skipped, "SKIPPED": Skipped,
	}
	rubyV1Rank = map[string]int{Failed: 1, Error: 2}
)

// parseRubyV1 reads tests below a suite's heading. A worse result replaces an
// earlier one, no other does.
func parseRubyV1(in *input) error {
	suite := ""
	return in.eachPyLine(func(line string) error {
		line = rstrip(line)
		if line == "" || strings.HasPrefix(line, "Finished in ") {
			return nil
		}
		if rubyV1Suite.MatchString(line) {
			in.place()
			suite = shorten(line)
			return nil
		}
		m := rubyV1Test.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		name, status := strip(m[1]), rubyV1Words[m[2]]
		if suite != "" {
			name = suite + "::" + name
		}
		if before, ok := in.out.Get(name); !ok || rubyV1Rank[status] > rubyV1Rank[before] {
			in.out.Set(name, status)
		}
		in.place()
		return nil
	})
}

var rubyV2Test = re(`^(.+?#.+?)\s+=\s+(?:\d|\.)+\s+s\s+=\s+([.FES])$`)

func parseRubyV2(in *input) error {
	words := map[string]string{".": Passed, "F": Failed, "E": Failed, "S": Skipped}
	return in.eachPyLine(func(line string) error {
		if m := rubyV2Test.FindStringSubmatch(strip(line)); m != nil {
			in.out.Set(m[1], words[m[2]])
		}
		return nil
	})
}

// withoutColours takes colour codes off a line, and white space off its end.
func withoutColours(line string) string {
	if strings.Contains(line, "\x1b[") {
		line = sgr.ReplaceAllLiteralString(line, "")
	}
	return rstrip(line)
}

// sgr is a terminal's code for colours and the like.
var sgr = re(`\x1b\[[0-9;]*m`)

var nvimCases = lineCases{
	prepare: withoutColours,
	need:    []string{"||"},
	cases: []lineCase{
		{pattern: re(`^(?:Fail|Failed)\s*\|\|\s*(.+?)\s*$`), status: Failed},
		{pattern: re(`(?i)^(?:Skip|Skipped)\s*\|\|\s*(.+?)\s*$`), status: Skipped, keep: true},
		{pattern: re(`^Success\s*\|\|\s*(.+?)\s*$`), status: Passed, keep: true},
	},
	name: strip,
}
