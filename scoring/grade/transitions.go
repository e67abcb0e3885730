package grade

import (
	"errors"

	"harness/eval"
	"harness/scoring/logparse"
)

// ErrNoBaseline: the rules judge by change, and the task does not say from what.
var ErrNoBaseline = errors.New("the task has no results of its publisher to compare with (run and test_patch_result of its row); " +
	"grade it with another profile, or load the dataset again from its publisher's files")

func hasBaseline(t *eval.Task) bool {
	return t.Baseline != nil && t.Baseline.Run != nil && t.Baseline.Test != nil
}

// state of one test in one execution, as Multi-SWE-bench tells them apart.
type state uint8

const (
	stateNone state = iota // not reported
	statePass
	stateFail
	stateSkip
)

// states is a publisher's execution, by test.
func states(s *eval.TestStates) map[string]state {
	m := make(map[string]state, len(s.Passed)+len(s.Failed)+len(s.Skipped))
	for _, l := range []struct {
		names []string
		is    state
	}{{s.Passed, statePass}, {s.Failed, stateFail}, {s.Skipped, stateSkip}} {
		for _, n := range l.names {
			m[n] = l.is
		}
	}
	return m
}

// stateOf reads a status word of the log at hand.
func stateOf(status string) state {
	switch status {
	case logparse.Passed, logparse.XFail:
		return statePass
	case logparse.Failed, logparse.Error:
		return stateFail
	case logparse.Skipped:
		return stateSkip
	}
	return stateNone
}

// transitions judges all tests by how they changed. test is the publisher's
// execution with the test patch alone, run the one with neither patch:
//
//   - no test may pass in test and fail now;
//   - no test may pass in run, be absent or skipped in test, and fail now;
//   - some test must pass now that did not in test;
//   - each listed test must change as its list says.
func (c *card) transitions(t *eval.Task, m *logparse.StatusMap, flags *flagSet) error {
	if !hasBaseline(t) {
		return ErrNoBaseline
	}
	run, test := states(t.Baseline.Run), states(t.Baseline.Test)
	fixed := false
	for name, status := range m.All() {
		now, before := stateOf(status), test[name]
		switch {
		case now == statePass && before != statePass:
			fixed = true
		case now == stateFail && before == statePass:
			c.status.PassToFail.Failure = append(c.status.PassToFail.Failure, name)
			c.broken[name] = struct{}{}
			c.lack(flags, flagRegressed, "tests fail that pass without the patch")
		case now == stateFail && before != stateFail && run[name] == statePass:
			c.lack(flags, flagAnomalous, "tests fail that pass in the repository as it was, and do not run with the test patch alone")
		}
	}
	if !fixed {
		c.lack(flags, flagNothingFixed, "no test passes that did not pass before")
	}
	changes := func(name, group string, from state) {
		j := judged{name: name, group: group, key: name, mark: Fails}
		j.status, _ = m.Get(name)
		if stateOf(j.status) == statePass && test[name] == from {
			j.mark = Passes
		}
		c.add(j, flags)
	}
	// A loader may list the tests that were skipped or absent with those to fix.
	from := make(map[string]state)
	for _, name := range t.Baseline.SkipToPass {
		from[name] = stateSkip
	}
	for _, name := range t.Baseline.NoneToPass {
		from[name] = stateNone
	}
	for _, name := range t.FailToPass {
		before, special := from[name]
		if !special {
			before = stateFail
		}
		changes(name, eval.GroupF2P, before)
	}
	for _, list := range [][]string{t.Baseline.SkipToPass, t.Baseline.NoneToPass} {
		for _, name := range list {
			if !c.lists(name) {
				changes(name, eval.GroupF2P, from[name])
			}
		}
	}
	for _, name := range t.PassToPass {
		changes(name, eval.GroupP2P, statePass)
	}
	return nil
}
