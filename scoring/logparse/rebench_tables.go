package logparse

import (
	"strings"
)

// Formats whose results stand in tables or below headings: Julia, R, Leiningen,
// dotnet and XCTest.

var juliaRow = re(`^(\s*)(.+?)\s+\|(.+)$`)

// parseJulia reads the table behind "Test Summary:". Which columns a row lacks
// is told by how many numbers it has, and by the blanks before the first.
func parseJulia(in *input) error {
	inTable, hasFail, hasError := false, false, false
	return in.eachPyLine(func(line string) error {
		if strings.Contains(line, "Test Summary:") {
			in.place()
			inTable = true
			if strings.Contains(line, "| Pass") {
				header := strings.Split(line, "|")[1]
				hasFail, hasError = strings.Contains(header, "Fail"), strings.Contains(header, "Error")
			}
			return nil
		}
		if !inTable || !strings.Contains(line, "|") {
			return nil
		}
		m := juliaRow.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		var numbers []string
		for _, f := range fields(m[3]) {
			if juliaDigits.MatchString(f) {
				numbers = append(numbers, f)
			}
		}
		if len(numbers) >= 2 {
			in.out.Set(strip(m[2]), juliaStatus(numbers, indent(m[3]), hasFail, hasError))
		}
		return nil
	})
}

var juliaDigits = re(`^\d+$`)

func juliaStatus(numbers []string, blanks int, hasFail, hasError bool) string {
	switch len(numbers) {
	case 2: // passed or failed, total
		if blanks >= 10 || !sameNumber(numbers[0], numbers[1]) {
			return Error
		}
	case 3: // passed, failed or broken by an error, total
		if zero(numbers[1]) {
			return Passed
		}
		if hasFail && !hasError {
			return Failed
		}
		return Error
	default: // passed, failed, errors, ...
		if !zero(numbers[2]) {
			return Error
		}
		if !zero(numbers[1]) {
			return Failed
		}
	}
	return Passed
}

var (
	rPassed   = re(`^✔\s+\|[^|]+\|\s+(.+)$`)
	rFailed   = re(`^✖\s+\|[^|]+\|\s+(.+)$`)
	rFailures = []lineCase{
		{pattern: re(`^Failure\s+\([^)]+\):\s+(.+)$`), status: Failed},
		{pattern: re(`^Error\s+\([^)]+\):\s+(.+)$`), status: Error},
	}
	rTime = re(`\s*\[\s*\d+(?:\.\d+)?\s*[a-zA-Z]+\]$`)
)

// parseR reads testthat: a line for each context, and the first list of failed
// tests, which comes later in the map wherever it stands.
func parseR(in *input) error {
	var failures StatusMap
	failures.wantAs(in.out)
	inFailures, over := false, false
	name := func(s string) string { return strip(rTime.ReplaceAllLiteralString(strip(s), "")) }
	err := in.eachPyLine(func(line string) error {
		line = strip(line)
		if m := rPassed.FindStringSubmatch(line); m != nil {
			in.out.Set(name(m[1]), Passed)
		} else if m := rFailed.FindStringSubmatch(line); m != nil {
			in.out.Set(name(m[1]), Failed)
		}
		switch {
		case over:
		case startsWithAny(line, "── Failed tests ──", "== Failed tests =="):
			in.place()
			inFailures = true
		case inFailures && startsWithAny(line, "[ FAIL", "══ Results ══"):
			in.place()
			over = true
		case inFailures:
			for _, c := range rFailures {
				if m := c.pattern.FindStringSubmatch(line); m != nil {
					in.place()
					failures.Set(name(m[1]), c.status)
					break
				}
			}
		}
		return nil
	})
	in.out.merge(&failures)
	return err
}

var (
	rCheck     = re(`^\* checking (.+?) \.\.\. ([A-Z]+)$`)
	rCheckOpen = re(`^\* checking (.+?) \.\.\.$`)
	rWords     = map[string]string{
		"OK": Passed, "NOTE": Passed, "NOTES": Passed, "WARNING": Failed, "WARNINGS": Failed, "ERROR": Error,
		"ERRORS": Error, "FAIL": Failed, "FAILED": Failed, "SKIPPED": Skipped,
	}
)

// parseRV2 reads R CMD check. The result of a check may stand on a later line,
// after what the check printed; a check without any has passed.
func parseRV2(in *input) error {
	open := ""
	err := in.eachPyLine(func(line string) error {
		line = strip(line)
		switch {
		case line == "":
			return nil
		case open != "":
			words := fields(strings.Trim(line, ".:!"))
			if len(words) == 0 {
				return in.raise("IndexError", "a check is followed by a line of punctuation")
			}
			if status, ok := rWords[strings.ToUpper(words[0])]; ok {
				in.out.Set(open, status)
				open = ""
			}
			return nil
		}
		if m := rCheck.FindStringSubmatch(line); m != nil {
			status, ok := rWords[m[2]]
			if !ok {
				status = Passed
			}
			in.out.Set(m[1], status)
		} else if m := rCheckOpen.FindStringSubmatch(line); m != nil {
			in.place()
			open = strings.Clone(m[1])
		}
		return nil
	})
	if open != "" && err == nil {
		in.out.setDefault(open, Passed)
	}
	return err
}

var leinTest = re(`^lein test (.+)$`)

// parseLein reads Leiningen: namespaces have passed unless a failure follows
// before the next.
func parseLein(in *input) error {
	current := ""
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		m := leinTest.FindStringSubmatch(line)
		switch {
		case m != nil:
			in.place()
			names := fields(m[1])
			switch {
			case len(names) == 0:
				current = ""
			case names[0] == ":only":
				base, _, _ := strings.Cut(strip(strings.Join(names[1:], " ")), "/")
				current = strings.Clone(strip(base))
				if current != "" {
					in.out.setDefault(current, Passed)
				}
			default:
				for _, n := range names {
					in.out.setDefault(n, Passed)
				}
				current = strings.Clone(names[len(names)-1])
			}
		case current == "":
		case strings.HasPrefix(line, "FAIL in"):
			in.out.Set(current, Failed)
		case strings.HasPrefix(line, "ERROR in"):
			in.out.Set(current, Error)
		}
		return nil
	})
}

var (
	swiftCases = lineCases{
		need: []string{"Test Case '"},
		cases: []lineCase{
			{pattern: re(`^Test Case '([^']+)'\s+passed\s+\([0-9.]+\s+seconds\)$`), status: Passed},
			{pattern: re(`^Test Case '([^']+)'\s+failed\s+\([0-9.]+\s+seconds\)$`), status: Failed},
		},
	}
	csharpCases = lineCases{
		prepare: rstrip,
		need:    []string{"Passed", "Failed", "Skipped", "[FAIL]"},
		cases: []lineCase{
			{pattern: re(`^\[xUnit\.net\s+(?:\d|[:.])+\]\s+(.+?)\s+\[FAIL\]$`), status: Failed},
			{pattern: re(`^\s+Failed\s+(.+?)\s+\[.+?\]$`), status: Failed},
			{pattern: re(`^\s+Skipped\s+(.+?)(?:\s+\[.+?\])?$`), status: Skipped},
			{pattern: re(`^\s+Passed\s+(.+?)\s+\[.+?\]$`), status: Passed, keep: true},
		},
	}
)
