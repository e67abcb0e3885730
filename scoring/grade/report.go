package grade

import (
	"fmt"
	"strings"

	"harness/eval"
	"harness/scoring/logparse"
)

// judged is one expected test after the rules.
type judged struct {
	name, group string
	key         string // its name in the log
	status      string // of the log; "" when absent
	mark        Mark
}

// card is what becomes of a task's tests.
type card struct {
	expected []judged
	listed   map[string]struct{} // their names in the log
	broken   map[string]struct{} // unlisted tests that passed without the patch and fail now
	status   *eval.TestsStatus
	unseen   int    // tests in no list that must be in one
	lacking  string // what the trial lacks besides; "" when nothing
}

// judge applies the rules to all tests. An error means that the task lacks what
// they need.
func (r *Rules) judge(t *eval.Task, m *logparse.StatusMap, flags *flagSet) (*card, error) {
	c := &card{status: emptyStatus(), listed: make(map[string]struct{}), broken: make(map[string]struct{})}
	if r.Transitions {
		return c, c.transitions(t, m, flags)
	}
	failOnly := r.FailOnly.applies(t)
	for _, name := range t.FailToPass {
		c.add(r.judgeTest(name, eval.GroupF2P, failOnly, m, flags), flags)
	}
	for _, name := range t.PassToPass {
		c.add(r.judgeTest(name, eval.GroupP2P, failOnly, m, flags), flags)
	}
	if r.NeedTarget && len(t.FailToPass) == 0 {
		c.lack(flags, flagNoTarget, "the task names no test that must start to pass")
	}
	if r.OnlyExpected {
		c.onlyExpected(m, flags)
	}
	return c, nil
}

// add puts a judged test where its mark says.
func (c *card) add(j judged, flags *flagSet) {
	c.expected = append(c.expected, j)
	c.listed[j.key] = struct{}{}
	into := &c.status.FailToPass
	if j.group == eval.GroupP2P {
		into = &c.status.PassToPass
	}
	switch j.mark {
	case Passes:
		into.Success = append(into.Success, j.name)
	case Fails:
		into.Failure = append(into.Failure, j.name)
	case Unseen:
		c.unseen++
		flags.add(flagUnseen)
	case LeftOut:
		flags.add(flagUncounted)
	}
}

// lists reports whether a test is one of the expected ones.
func (c *card) lists(name string) bool {
	_, ok := c.listed[name]
	return ok
}

func (c *card) lack(flags *flagSet, word flag, why string) {
	flags.add(word)
	if c.lacking == "" {
		c.lacking = why
	}
}

// onlyExpected compares the tests that pass with the expected ones, which are
// to be listed once: the official comparison is one of sorted lists.
func (c *card) onlyExpected(m *logparse.StatusMap, flags *flagSet) {
	if len(c.listed) < len(c.expected) {
		c.lack(flags, flagListedTwice, "the task lists a test twice, which no result can match")
	}
	extra := 0
	for n, s := range m.All() {
		if s == logparse.Passed && !c.lists(n) {
			extra++
		}
	}
	if extra > 0 {
		c.lack(flags, flagExtraPasses, fmt.Sprintf("%d tests pass that are not expected to", extra))
	}
}

// resolved reports whether every expected test that counts behaved; a list
// without any is complete.
func (c *card) resolved() bool {
	return c.failures() == 0 && c.unseen == 0 && c.lacking == ""
}

func (c *card) failures() int {
	return len(c.status.FailToPass.Failure) + len(c.status.PassToPass.Failure) + len(c.status.PassToFail.Failure)
}

// missed says for people why the trial is not resolved.
func (c *card) missed() string {
	if c.failures()+c.unseen == 0 {
		return c.lacking
	}
	why := fmt.Sprintf("%d tests that must start to pass do not, %d that must stay passing do not",
		len(c.status.FailToPass.Failure)+c.unseen, len(c.status.PassToPass.Failure))
	if c.lacking != "" {
		why += "; " + c.lacking
	}
	return why
}

// counts are over the expected tests.
func (c *card) counts() eval.TestCounts {
	total := map[string]int{}
	for _, j := range c.expected {
		total[j.group]++
	}
	n := func(v int) *int { return &v }
	return eval.TestCounts{
		F2PPassed: n(len(c.status.FailToPass.Success)), F2PTotal: n(total[eval.GroupF2P]),
		P2PPassed: n(len(c.status.PassToPass.Success)), P2PTotal: n(total[eval.GroupP2P]),
	}
}

// Bounds of the unlisted tests of a log that become rows: how many, and the
// bytes of their names.
const (
	MaxOther      = 20000
	maxOtherBytes = 4 << 20
)

// StatusMissing is the status of an expected test that the log does not have.
const StatusMissing = "MISSING"

// rows lists every expected test, in dataset order, and then the log's other
// tests, in log order.
func (c *card) rows(m *logparse.StatusMap, flags *flagSet) []eval.TestResult {
	out := make([]eval.TestResult, 0, len(c.expected)+min(m.Len(), MaxOther))
	for _, j := range c.expected {
		out = append(out, row(j.name, j.group, j.status, m, j.key))
	}
	others, size := 0, 0
	for n, s := range m.All() {
		if c.lists(n) {
			continue
		}
		others, size = others+1, size+len(n)
		if others > MaxOther || size > maxOtherBytes {
			flags.add(flagOtherCapped)
			break
		}
		group := eval.GroupOther
		if _, ok := c.broken[n]; ok {
			group = eval.GroupP2F
		}
		out = append(out, row(n, group, s, m, n))
	}
	return out
}

// row is one test's, whose name in the log is key.
func row(name, group, status string, m *logparse.StatusMap, key string) eval.TestResult {
	r := eval.TestResult{Name: name, Group: group, Status: word(status), RawStatus: status}
	if s, ok := m.Seconds(key); ok {
		r.Seconds = &s
	}
	return r
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
