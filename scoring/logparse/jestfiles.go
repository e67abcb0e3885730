package logparse

import (
	"strconv"
	"strings"
)

// jestTimes are the ways in which jest writes a file's time behind its path, in
// the order in which they are tried; the name ends before the last time that
// fits.
var jestTimes = []*pyPattern{
	re(`^(.*)\s\([\p{Nd}.]+ms\)`),
	re(`^(.*)\s\([\p{Nd}.]+\ss\)`),
	re(`^(.*)\s\([\p{Nd}.]+s\)`),
}

var jestFile = re(`^(PASS|FAIL)\s(.*)`)

// parseCarbon reads jest's "PASS path (1.2 s)": its tests are files.
func parseCarbon(in *input) error {
	return in.eachLine(func(b []byte) error {
		if !hasPrefix(b, "PASS") && !hasPrefix(b, "FAIL") {
			return nil
		}
		m := jestFile.FindStringSubmatch(text(b))
		if m == nil {
			return nil
		}
		name := m[2]
		for _, t := range jestTimes {
			if timed := t.FindStringSubmatch(name); timed != nil {
				name = timed[1]
				break
			}
		}
		status := Failed
		if m[1] == "PASS" {
			status = Passed
		}
		in.out.Set(name, status)
		return nil
	})
}

var (
	grommetFail = re(`(?m)^FAIL\s(.*)`)
	grommetPass = re(`(?m)^PASS\s(.*)`)
	grommetTime = re(`\s\([\p{Nd}.]+\s?(?:ms|s)\)$`)
)

// parseGrommet reads the same lines, all failures first: a file with both
// results passed.
func parseGrommet(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		pattern *pyPattern
		status  string
	}{{grommetFail, Failed}, {grommetPass, Passed}} {
		eachMatch(f.pattern, log, func(m []string) {
			in.out.Set(grommetTime.ReplaceAllLiteralString(strip(m[1]), ""), f.status)
		})
	}
	return nil
}

// quartoTemp are names of temporary files.
var quartoTemp = []*pyPattern{re(`/tmp/\w+\.qmd`), re(`/tmp/\w+/`)}

// parseQuarto reads Deno's runner, coloured. A test line without any result is a
// failure. Names of temporary files are numbered in order of appearance.
func parseQuarto(in *input) error {
	temps := make(map[string]int)
	return in.eachLine(func(b []byte) error {
		if containsAny(b, []string{"ERRORS", "failures:"}) {
			return errStop
		}
		if !containsAny(b, []string{"[smoke]", "[unit]"}) {
			return nil
		}
		line := text(b)
		for _, t := range quartoTemp {
			found := t.FindString(line)
			if found == "" {
				continue
			}
			n, known := temps[found]
			if !known {
				n = len(temps)
				if n < MaxNames/8 {
					temps[shorten(found)] = n
				}
			}
			line = t.ReplaceAllLiteralString(line, "/tmp/"+strconv.Itoa(n))
		}
		name, _, _ := strings.Cut(line, "...")
		name = strip(name)
		if strings.HasPrefix(line, "test result:") || strings.Contains(line, "34mINFO") ||
			strings.Contains(line, "passed") && strings.Contains(line, "failed") && strings.Contains(line, "steps") {
			return nil
		}
		switch {
		case strings.Contains(line, "32mok"):
			in.out.Set(name, Passed)
		case strings.Contains(line, "31mFAILED"):
			in.out.Set(name, Failed)
		default:
			if _, ok := in.out.Get(name); !ok {
				in.out.Set(name, Failed)
			}
		}
		return nil
	})
}
