package logparse

import (
	"strings"
)

// parseRebenchPHPUnit is parsePHPUnit with times taken off the names.
func parseRebenchPHPUnit(in *input) error {
	return in.phpUnit(func(name string) string { return strip(timeBrackets.ReplaceAllLiteralString(name, "")) })
}

// pestCross is the mark of a failed test, not the letter x.
const pestCross = "\u2a2f"

var (
	pestSuite = re(`(?i)^\s*FAIL(?:ED)?\s+(\S.+)$`)
	// pestKinds: each mark with a time behind the name, or without.
	pestKinds = []struct {
		status   string
		patterns []*pyPattern
	}{
		{Failed, []*pyPattern{
			re(`(?i)^\s*(?:` + pestCross + `|x)\s+(.+?)\s{2,}\d+\.?\d*s` + reWordEnd),
			re(`(?i)^\s*(?:` + pestCross + `|x)\s+(.+?)\s*$`),
		}},
		{Skipped, []*pyPattern{
			re(`^\s*-\s+(.+?)\s{2,}\d+\.?\d*s` + reWordEnd),
			re(`^\s*-\s+(.+?)\s*$`),
		}},
		{Passed, []*pyPattern{
			re(`^\s*(?:✓|✔)\s+(.+?)\s{2,}\d+\.?\d*s` + reWordEnd),
			re(`^\s*(?:✓|✔)\s+(.+?)\s*$`),
		}},
	}
	pestInline = re(`(?i)\(skipped\)|` + reWordBegin + `SKIPPED` + reWordEnd)
	pestMark   = re(`^\s*(?:✓|✔|` + pestCross + `|x|-)\s+`)
	pestTimes  = []*pyPattern{re(`\s{2,}\d+(?:\.\d+)?s\s*$`), re(`\s+\d+(?:\.\d+)?s\s*$`)}
)

// parsePHPV1 reads Pest: a mark before each test, a failed suite by its class.
func parsePHPV1(in *input) error {
	return in.eachPyLine(func(line string) error {
		line = rstrip(line)
		if line == "" || startsWithAny(strip(line), "___", "---", "Tests:", "Duration:") {
			return nil
		}
		if m := pestSuite.FindStringSubmatch(line); m != nil {
			in.out.Set(pestName(m[1]), Failed)
			return nil
		}
		for _, k := range pestKinds {
			m := firstMatch(k.patterns, line)
			if m == nil {
				continue
			}
			in.place()
			switch name := pestName(m[1]); {
			case name == "":
			case k.status == Passed:
				in.out.setDefault(name, Passed)
			default:
				in.out.Set(name, k.status)
			}
			return nil
		}
		if pestInline.MatchString(line) {
			if name := pestName(pestMark.ReplaceAllLiteralString(line, "")); name != "" {
				in.out.setDefault(name, Skipped)
			}
		}
		return nil
	})
}

// pestName takes a time off a name's end.
func pestName(name string) string {
	name = rstrip(name)
	if !strings.HasSuffix(name, "s") {
		return strip(name)
	}
	for _, t := range pestTimes {
		name = t.ReplaceAllLiteralString(name, "")
	}
	return strip(name)
}

func firstMatch(patterns []*pyPattern, line string) []string {
	for _, p := range patterns {
		if m := p.FindStringSubmatch(line); m != nil {
			return m
		}
	}
	return nil
}
