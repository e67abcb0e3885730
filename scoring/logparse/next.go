package logparse

import (
	"strings"
)

var (
	nextAssertion = re(`AssertionError:\s+#((?s:.*?))\n\n`)
	nextFailed    = re(`^.*?✗\s*(.*)`)
	nextPassed    = re(`^.*?✓\s*(.*)`)
	nextSuite     = re(`Running:(.*)\)\n{3}\s{2}(.*)\n`)
	nextV2Failed  = re(`(?m)^\s{4}\d+\)\s(.*)`)
	nextV2Passed  = re(`(?m)^\s{4}✓\s(.*)\(`)
)

// parseNext reads cypress's reporter for version 1.27, karma's for all others.
func parseNext(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	if in.opt.Version == "1.27" {
		in.nextCypress(log)
	} else {
		in.nextKarma(log)
	}
	return nil
}

func (in *input) nextKarma(log string) {
	log = ansiCode.ReplaceAllLiteralString(log, "")
	log = nextAssertion.ReplaceAllLiteralString(log, "")
	var suites suiteStack
	for _, run := range strings.Split(log, " xvfb-run ")[1:] {
		run = run[lastEnd(run, "Starting browser Chrome"):]
		for line := range strings.SplitSeq(run, "\n") {
			if strings.HasPrefix(line, "TOTAL") {
				break
			}
			t := strip(line)
			if startsWithAny(t, "ERROR", "LOG", "WARN", "Check", "in") {
				continue
			}
			if m := nextFailed.FindStringSubmatch(line); m != nil {
				in.out.Set(suites.join(m[1]), Failed)
			} else if m := nextPassed.FindStringSubmatch(line); m != nil {
				in.out.Set(suites.join(m[1]), Passed)
			} else if n := indent(line); n > 0 {
				suites.heading(shorten(t), n)
			}
		}
	}
}

func (in *input) nextCypress(log string) {
	m := nextSuite.FindStringSubmatchIndex(log)
	for m != nil {
		suite := shorten(log[m[4]:m[5]])
		log = log[m[1]:]
		tests := log
		if m = nextSuite.FindStringSubmatchIndex(log); m != nil {
			tests = log[:m[0]]
		}
		eachMatch(nextV2Failed, tests, func(f []string) { in.out.Set(suite+": "+strip(f[1]), Failed) })
		eachMatch(nextV2Passed, tests, func(p []string) { in.out.Set(suite+": "+strip(p[1]), Passed) })
	}
}

func startsWithAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.HasPrefix(s, w) {
			return true
		}
	}
	return false
}
