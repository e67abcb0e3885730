package grade

import (
	"strings"

	"harness/eval"
	"harness/scoring/logparse"
)

// judgeTest applies the rules to one expected test.
func (r *Rules) judgeTest(name, group string, failOnly bool, m *logparse.StatusMap, flags *flagSet) judged {
	j := judged{name: name, group: group, key: name}
	if r.StripTiming {
		j.key = logparse.StripTimes(name)
	}
	status, ok := r.lookUp(j.key, m)
	if !ok && !failOnly {
		status, ok = r.truncated(j.key, m, flags)
	}
	j.status = status
	if failOnly {
		j.mark = r.FailOnly.mark(status, ok, flags)
		return j
	}
	of := func(pair Marks) Mark {
		if group == eval.GroupP2P {
			return pair.P2P
		}
		return pair.F2P
	}
	if ok && r.LooseWords {
		status = loose(status)
	}
	switch {
	case !ok:
		j.mark = of(r.Absent)
	case status == logparse.Passed:
		j.mark = Passes
	case status == logparse.Failed || status == logparse.Error:
		j.mark = Fails
	case status == logparse.XFail:
		j.mark = of(r.XFail)
	case status == logparse.Skipped:
		j.mark = of(r.Skipped)
	default:
		j.mark = of(r.Odd)
	}
	return j
}

// mark is that of a test in a log that tells failures only.
func (f FailOnly) mark(status string, ok bool, flags *flagSet) Mark {
	switch {
	case !ok:
		if f.Careful {
			flags.add(flagAbsentPasses)
		}
		return Passes
	case status == logparse.Failed, f.Careful && status != logparse.Passed:
		return Fails
	}
	return Passes
}

func (r *Rules) lookUp(name string, m *logparse.StatusMap) (string, bool) {
	switch r.Repeated {
	case WorstCounts:
		return m.Worst(name)
	case BestCounts:
		return m.Best(name)
	}
	return m.Get(name)
}

// truncated finds the status of a name that was cut inside its brackets: that of
// the first test whose name starts with it, if the rules accept what all of
// those say.
func (r *Rules) truncated(name string, m *logparse.StatusMap, flags *flagSet) (string, bool) {
	if r.Truncated == TruncatedNever || strings.Count(name, "[") <= strings.Count(name, "]") {
		return "", false
	}
	first, passed, failed, agree := "", false, false, true
	for n := range m.All() {
		if !strings.HasPrefix(n, name) {
			continue
		}
		s, _ := r.lookUp(n, m)
		if first == "" {
			first = s
		}
		passed = passed || s == logparse.Passed
		failed = failed || s != logparse.Skipped && !passes(s)
		agree = agree && passes(s) == passes(first)
	}
	if first == "" {
		return "", false
	}
	if r.Truncated == TruncatedPassed {
		first, agree = logparse.Passed, passed && !failed
	}
	// Of a map that is full, nobody knows what those say that it lacks.
	if !agree || m.Capped() {
		flags.add(flagAmbiguousID)
		return "", false
	}
	flags.add(flagTruncatedID)
	return first, true
}

func passes(s string) bool { return s == logparse.Passed || s == logparse.XFail }

// loose reads a status word by what it has in it.
func loose(status string) string {
	switch status = strings.ToLower(status); {
	case strings.Contains(status, "pass"):
		return logparse.Passed
	case strings.Contains(status, "skip"):
		return logparse.Skipped
	}
	return logparse.Failed
}
