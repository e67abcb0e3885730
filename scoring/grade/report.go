package grade

import (
	"slices"
	"strings"

	"harness/eval"
	"harness/scoring/logparse"
)

// judged is one expected test after the rules.
type judged struct {
	name, group string
	status      string // of the log; "" when absent
	success     bool
	failure     bool
}

// judgeTest applies the expected-test rules to one test.
func (r *Rules) judgeTest(name, group string, failOnly bool, m *logparse.StatusMap, flags *flagSet) judged {
	j := judged{name: name, group: group}
	status, ok := m.Get(name)
	if failOnly {
		// Absent counts as passed here: such parsers report failures only.
		j.status, j.failure = status, ok && status == logparse.Failed
		j.success = !j.failure
		return j
	}
	if !ok && r.TruncatedIDs {
		status, ok = r.truncated(name, m, flags)
	}
	j.status = status
	switch {
	case !ok:
		j.failure = true
	case status == logparse.Passed || status == logparse.XFail:
		j.success = true
	case status == logparse.Failed || status == logparse.Error:
		j.failure = true
	case status == logparse.Skipped && r.SkipRules:
		j.success = group == eval.GroupP2P
		j.failure = !j.success
	}
	return j
}

// truncated finds the status of a name that was cut inside its brackets: that of
// the first test whose name starts with it, if all of those agree on passing.
func (r *Rules) truncated(name string, m *logparse.StatusMap, flags *flagSet) (string, bool) {
	if strings.Count(name, "[") <= strings.Count(name, "]") {
		return "", false
	}
	first, found := "", false
	for n, s := range m.All() {
		if !strings.HasPrefix(n, name) {
			continue
		}
		if !found {
			first, found = s, true
		} else if passes(s) != passes(first) {
			flags.add("truncated_ids_ambiguous")
			return "", false
		}
	}
	if found {
		flags.add("truncated_ids")
	}
	return first, found
}

func passes(s string) bool { return s == logparse.Passed || s == logparse.XFail }

// report judges all expected tests. A test may end in neither list.
func (r *Rules) report(t *eval.Task, m *logparse.StatusMap, flags *flagSet) ([]judged, *eval.TestsStatus) {
	st := emptyStatus()
	failOnly := r.FailOnly.applies(t)
	var all []judged
	for _, g := range []struct {
		name  string
		tests []string
		into  *eval.SuccessFailure
	}{
		{eval.GroupF2P, t.FailToPass, &st.FailToPass},
		{eval.GroupP2P, t.PassToPass, &st.PassToPass},
	} {
		for _, name := range g.tests {
			j := r.judgeTest(name, g.name, failOnly, m, flags)
			all = append(all, j)
			switch {
			case j.success:
				g.into.Success = append(g.into.Success, name)
			case j.failure:
				g.into.Failure = append(g.into.Failure, name)
			default:
				flags.add("uncounted_tests")
			}
		}
	}
	return all, st
}

// full reports whether every expected test that counts behaved; a list without
// any is complete.
func full(st *eval.TestsStatus) bool {
	return len(st.FailToPass.Failure) == 0 && len(st.PassToPass.Failure) == 0
}

// MaxOther is how many unlisted tests of a log become rows.
const MaxOther = 20000

// StatusMissing is the status of an expected test that the log does not have.
const StatusMissing = "MISSING"

// rows lists every expected test, in dataset order, and then the log's other
// tests, in log order.
func rows(expected []judged, m *logparse.StatusMap, flags *flagSet) []eval.TestResult {
	out := make([]eval.TestResult, 0, len(expected)+min(m.Len(), MaxOther))
	listed := make(map[string]struct{}, len(expected))
	for _, j := range expected {
		listed[j.name] = struct{}{}
		out = append(out, eval.TestResult{Name: j.name, Group: j.group, Status: word(j.status), RawStatus: j.status})
	}
	others := 0
	for n, s := range m.All() {
		if _, ok := listed[n]; ok {
			continue
		}
		if others++; others > MaxOther {
			flags.add("other_tests_capped")
			break
		}
		out = append(out, eval.TestResult{Name: n, Group: eval.GroupOther, Status: word(s), RawStatus: s})
	}
	return out
}

// word maps a log's word to a status of the tests table: parsers that copy it
// may give "ERRORS" or "FAILED:".
func word(raw string) string {
	if raw == "" {
		return StatusMissing
	}
	for _, s := range []string{logparse.Passed, logparse.Failed, logparse.Skipped, logparse.Error, logparse.XFail} {
		if strings.HasPrefix(raw, s) {
			return s
		}
	}
	return logparse.Error
}

// flagSet collects a verdict's flags.
type flagSet map[string]struct{}

func (f *flagSet) add(flag string) {
	if *f == nil {
		*f = make(flagSet)
	}
	(*f)[flag] = struct{}{}
}

func (f flagSet) sorted() []string {
	var out []string
	for k := range f {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
