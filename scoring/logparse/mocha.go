package logparse

import (
	"strings"
)

var (
	highlightEnd    = re(`^[ \t]*\d+ passing`)
	highlightFailed = re(`^\d+\)`)
	highlightTime   = re(`\(\d+ms\)`)
)

// parseHighlightJS reads mocha's spec reporter up to its summary. Only the
// heading read last is the suite.
func parseHighlightJS(in *input) error {
	suite, first := "", true
	hasSuite := false
	record := func(name, status string) {
		name = strip(highlightTime.ReplaceAllLiteralString(name, ""))
		if hasSuite {
			name = suite + "." + name
		}
		in.out.Set(name, status)
	}
	return in.eachLine(func(b []byte) error {
		line := text(b)
		if !first && highlightEnd.MatchString(line) {
			return errStop
		}
		first = false
		t := strip(line)
		switch {
		case strings.HasPrefix(t, "✓"):
			_, name, _ := strings.Cut(line, "✓")
			record(name, Passed)
		case strings.HasPrefix(t, "✔"):
			_, name, _ := strings.Cut(line, "✔")
			record(name, Passed)
		case highlightFailed.MatchString(t):
			_, name, _ := strings.Cut(line, ")")
			record(name, Failed)
		case strings.HasPrefix(line, "  "):
			in.place()
			suite, hasSuite = shorten(t), true
		}
		return nil
	})
}

var (
	lighthouseRun  = re(`running\s\d+\stest\sfiles`)
	lighthouseEnd  = re(`\d+\spassing`)
	lighthouseTest = []struct {
		pattern *pyPattern
		status  string
	}{
		{re(`^✔\s(.*)\s\(\d+m+s\)`), Passed},
		{re(`^✔\s(.*)`), Passed},
		{re(`^\d+\)\s(.*)\s\(\d+m+s\)`), Failed},
		{re(`^\d+\)\s(.*)`), Failed},
	}
)

// parseLighthouse chooses by version: mocha's spec reporter, jest, or mocha's
// JSON reporter.
func parseLighthouse(in *input) error {
	switch in.opt.Version {
	case "9.5", "10.0", "10.2":
		return parseLighthouseMocha(in)
	}
	v, err := pyFloat(in.opt.Version)
	if err != nil {
		return in.raise("ValueError", "version %q is not a number", in.opt.Version)
	}
	if v >= 3 {
		return parseCarbon(in)
	}
	log, err := in.whole()
	if err != nil {
		return err
	}
	for _, part := range strings.Split(log, "./node_modules/.bin/mocha --reporter json")[1:] {
		for _, f := range []struct{ from, to, status string }{
			{`"passes": [`, "]", Passed},
			{`"failures": [`, "],", Failed},
		} {
			list := part[lastEnd(part, f.from):]
			if i := strings.LastIndex(list, f.to); i >= 0 {
				list = list[:i]
			}
			eachMatch(lighthouseTitle, list, func(m []string) { in.out.Set(m[1], f.status) })
		}
	}
	return nil
}

var lighthouseTitle = re(`"fullTitle":\s"(.*)",\n`)

// lastEnd is where the last occurrence of sep ends, 0 if there is none.
func lastEnd(s, sep string) int {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return i + len(sep)
	}
	return 0
}

func parseLighthouseMocha(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	for _, run := range lighthouseRun.Split(log, -1)[1:] {
		var suites suiteStack
		if loc := lighthouseEnd.FindStringIndex(run); loc != nil {
			run = run[:loc[0]]
		}
		for line := range strings.SplitSeq(strip(run), "\n") {
			t := strip(line)
			matched := false
			for _, f := range lighthouseTest {
				if m := f.pattern.FindStringSubmatch(t); m != nil {
					in.out.Set(suites.join(m[1]), f.status)
					matched = true
					break
				}
			}
			if n := indent(line); !matched && n > 0 {
				suites.heading(shorten(t), n)
			}
		}
	}
	return nil
}
