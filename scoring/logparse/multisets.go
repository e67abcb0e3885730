package logparse

// Multi-SWE-bench reads a log into three sets of tests. A test that is in two of
// them when the log is read makes its result invalid.

// testSet is a bit for each set.
type testSet uint8

const (
	inPassed testSet = 1 << iota
	inFailed
	inSkipped
)

// testSets are the sets while a log is read.
type testSets struct {
	in    *input
	names StatusMap
	sets  []testSet // by place in names
}

func newTestSets(in *input) *testSets {
	s := &testSets{in: in}
	s.names.wantAs(in.out)
	return s
}

func (s *testSets) has(name string, set testSet) bool {
	i, ok := s.names.index[name]
	return ok && s.sets[i]&set != 0
}

func (s *testSets) add(name string, set testSet) {
	s.in.place()
	s.names.setDefault(name, "")
	if i, ok := s.names.index[name]; ok {
		if i == len(s.sets) {
			s.sets = append(s.sets, 0)
		}
		s.sets[i] |= set
	}
}

func (s *testSets) remove(name string, sets testSet) {
	if i, ok := s.names.index[name]; ok {
		s.sets[i] &^= sets
	}
}

// done turns the sets into statuses, in order of first appearance.
func (s *testSets) done() error {
	words := map[testSet]string{inPassed: Passed, inFailed: Failed, inSkipped: Skipped}
	var twice string
	for i, name := range s.names.names {
		if s.sets[i] == 0 {
			continue
		}
		status, ok := words[s.sets[i]]
		if !ok {
			status = Failed
			if twice == "" {
				twice = name
			}
		}
		s.in.out.Set(name, status)
	}
	s.in.out.dropped += s.names.dropped
	if twice != "" {
		return s.in.raise("ValueError", "test %.80q is in two of the sets of passed, failed and skipped tests", twice)
	}
	return nil
}

// setPolicy says what it means to a test that it was in another set before.
type setPolicy int

const (
	// anySet: a test joins whatever set a line says.
	anySet setPolicy = iota
	// failedStays: a test that failed never joins the passed ones, and leaves
	// them when it fails.
	failedStays
	// oneSet: as failedStays, and a result takes a test out of the skipped ones.
	// Only a test that failed can join these, which makes the result invalid.
	oneSet
)

// setLines is a format of which each line is matched against all patterns.
type setLines struct {
	prepare func(string) string // nil takes white space off both ends
	need    []string            // text that every line of the format has
	policy  setPolicy
	rules   []setRule
	name    func(string) string // the name that joins a set; nil: as it stands
}

// setRule is a kind of line. The name is its pattern's first group that matched.
type setRule struct {
	set     testSet
	pattern *pyPattern
}

func (l setLines) parse(in *input) error {
	sets := newTestSets(in)
	err := in.eachPrepared(l.need, l.prepare, func(line string) {
		for _, r := range l.rules {
			if m := r.pattern.FindStringSubmatch(line); m != nil {
				l.result(sets, m[1], r.set)
			}
		}
	})
	if err != nil {
		return err
	}
	return sets.done()
}

func (l setLines) result(sets *testSets, name string, set testSet) {
	joins := name
	if l.name != nil {
		joins = l.name(name)
	}
	if l.policy == anySet {
		sets.add(joins, set)
		return
	}
	switch set {
	case inPassed:
		if sets.has(name, inFailed) {
			sets.in.place()
			return
		}
		if l.policy == oneSet {
			sets.remove(name, inSkipped)
		}
	case inFailed:
		sets.remove(name, inPassed)
		if l.policy == oneSet {
			sets.remove(name, inSkipped)
		}
	case inSkipped:
		if l.policy == oneSet && (sets.has(name, inPassed) || !sets.has(name, inFailed)) {
			sets.in.place()
			return
		}
	}
	sets.add(joins, set)
}
