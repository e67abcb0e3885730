package logparse

import (
	"strings"
)

// The alternatives of a status word as SWE-rebench has them.
const rebenchWords = `PASSED|FAILED|SKIPPED|ERROR`

var (
	neboWorker = re(`^\[gw\d+\]\s+\[[^\]]*\]\s+(` + rebenchWords + `)\s+(.*)$`)
	neboBehind = re(`^(\S.*?)\s+(` + rebenchWords + `)\s+\[[^\]]*\]\s+in\s+\d+(?:\.\d+)?s$`)
	neboBefore = re(`^(` + rebenchWords + `)\s+(.*)$`)
)

// parsePytestNebo knows the status before the name, behind it, and before it
// behind a worker's number. What follows " in " is no part of a name.
func parsePytestNebo(in *input) error {
	return in.eachPyLine(func(line string) error {
		line = strip(dropControls(dropColours(line)))
		if m := neboWorker.FindStringSubmatch(line); m != nil {
			in.out.Set(beforeIn(m[2]), m[1])
		} else if m := neboBehind.FindStringSubmatch(line); m != nil {
			in.out.Set(strip(m[1]), m[2])
		} else if m := neboBefore.FindStringSubmatch(line); m != nil {
			in.out.Set(beforeIn(m[2]), m[1])
		}
		return nil
	})
}

func beforeIn(name string) string {
	name, _, _ = strings.Cut(name, " in ")
	return strip(name)
}

const cppFailures = "=================================== FAILURES ==================================="

var (
	cppFailed = re(`^___________________________ (.*?) ___________________________$`)
	cppWords  = []struct {
		pattern *pyPattern
		status  string
	}{
		{re(`^(.*?)\s+PASSED`), Passed},
		{re(`^(.*?)\s+FAILED`), Failed},
		{re(`^(.*?)\s+SKIPPED`), Skipped},
		{re(`^(.*?)\s+ERROR`), Error},
	}
)

// parseCpp reads pytest -v by the last part of a name, and from its list of
// failures on only headings.
func parseCpp(in *input) error {
	inFailures := false
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		if strings.HasPrefix(line, cppFailures) {
			in.place()
			inFailures = true
			return nil
		}
		if inFailures {
			if m := cppFailed.FindStringSubmatch(line); m != nil {
				in.out.Set(m[1], Failed)
			}
			return nil
		}
		for _, w := range cppWords {
			if !strings.Contains(line, w.status) {
				continue
			}
			m := w.pattern.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			parts := strings.Split(m[1], "::")
			name := parts[len(parts)-1]
			if w.status == Passed {
				in.out.setDefault(name, Passed)
			} else {
				in.out.Set(name, w.status)
			}
			break
		}
		return nil
	})
}
