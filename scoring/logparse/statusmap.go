package logparse

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// Status words that parsers give. A parser that copies the word from the log
// may give another one that starts with one of these, e.g. "ERRORS".
const (
	Passed  = "PASSED"
	Failed  = "FAILED"
	Skipped = "SKIPPED"
	Error   = "ERROR"
	XFail   = "XFAIL"
)

// Bounds of a StatusMap, far above any real suite: names, their bytes together
// with those of the statuses, and the bytes of one name. The last keeps a short
// line that repeats a huge name from costing more than its own length. Of a
// status no more than MaxStatus bytes are kept, and few once there is no room.
const (
	MaxNames     = 1 << 17
	MaxNameBytes = 12 << 20
	MaxName      = 8 << 10
	MaxStatus    = 1 << 10
)

// StatusMap maps test names to status words. Names keep the order in which they
// were first set; a later status replaces an earlier one. The zero value is
// ready to use.
//
// At most MaxNames names of MaxNameBytes bytes together are kept, and none
// longer than MaxName; others are dropped and Capped reports it. Names given to
// Want are always kept.
type StatusMap struct {
	index    map[string]int
	names    []string
	statuses []string
	seconds  []float64 // by place in names, as far as known; NaN is unknown
	bytes    int
	dropped  int64
	changed  int
	past     map[int]past // of names whose status was replaced
	sets     int          // calls of Set and its kin
	want     map[string]struct{}
	longest  int // of the names in want
}

// Want names tests that are kept even when the map is full.
func (m *StatusMap) Want(names ...[]string) {
	if m.want == nil {
		m.want = make(map[string]struct{})
	}
	for _, list := range names {
		for _, n := range list {
			m.want[n] = struct{}{}
			m.longest = max(m.longest, len(n))
		}
	}
}

// wantAs copies what o was told to keep.
func (m *StatusMap) wantAs(o *StatusMap) { m.want, m.longest = o.want, o.longest }

func (m *StatusMap) tooLong(n int) bool {
	if n <= MaxName || n <= m.longest {
		return false
	}
	m.dropped++
	return true
}

// Set records a status.
func (m *StatusMap) Set(name, status string) {
	m.sets++
	if m.tooLong(len(name)) {
		return
	}
	if i, ok := m.index[name]; ok {
		m.replace(i, status)
		return
	}
	m.insert(strings.Clone(name), status)
}

// setBytes is Set without an allocation for a name that is known already.
func (m *StatusMap) setBytes(name, status []byte) {
	m.sets++
	if m.tooLong(len(name)) {
		return
	}
	if i, ok := m.index[string(name)]; ok {
		if m.statuses[i] != string(status) {
			m.replace(i, string(status))
		}
		return
	}
	m.insert(string(name), string(status))
}

// setDefault records a status unless the test has one.
func (m *StatusMap) setDefault(name, status string) {
	m.sets++
	if _, ok := m.index[name]; !ok && !m.tooLong(len(name)) {
		m.insert(strings.Clone(name), status)
	}
}

// past is what a name was reported as before its last status.
type past struct {
	passed bool
	failed string // the last word that means a failure
}

// failing returns a word of the log if it means that a test failed, else "".
// Words that are no status do: they stand where one does.
func failing(word string) string {
	switch word {
	case Passed, Skipped, XFail:
		return ""
	}
	return word
}

// revise records what a parser learned later about a test it has already: no
// second report of it.
func (m *StatusMap) revise(name, status string) {
	if i, ok := m.index[name]; ok {
		m.statuses[i] = status
	}
}

func (m *StatusMap) replace(i int, status string) {
	old := m.statuses[i]
	if status = m.word(status); old == status {
		return
	}
	m.changed++
	m.recall(i, past{passed: old == Passed, failed: failing(old)})
	m.statuses[i] = status
	m.bytes += len(status)
}

// recall adds to what the i-th name was reported as before.
func (m *StatusMap) recall(i int, p past) {
	if m.past == nil {
		m.past = make(map[int]past)
	}
	was := m.past[i]
	if p.failed == "" {
		p.failed = was.failed
	}
	m.past[i] = past{passed: was.passed || p.passed, failed: p.failed}
}

func (m *StatusMap) insert(name, status string) {
	status = m.word(status)
	if len(m.names) >= MaxNames || m.bytes+len(name)+len(status) > MaxNameBytes {
		if _, ok := m.want[name]; !ok {
			m.dropped++
			return
		}
	}
	if m.index == nil {
		m.index = make(map[string]int)
	}
	m.index[name] = len(m.names)
	m.names = append(m.names, name)
	m.statuses = append(m.statuses, status)
	m.bytes += len(name) + len(status)
}

// word returns a status that holds on to no part of the log, as long as there is
// room for it.
func (m *StatusMap) word(status string) string {
	switch status {
	case Passed:
		return Passed
	case Failed:
		return Failed
	case Skipped:
		return Skipped
	case Error:
		return Error
	case XFail:
		return XFail
	}
	most := MaxStatus
	if m.bytes+len(status) > MaxNameBytes {
		most = 2 * len(Skipped)
	}
	if len(status) > most {
		status = strings.ToValidUTF8(status[:most], "")
	}
	return strings.Clone(status)
}

// Get returns the status of a test.
func (m *StatusMap) Get(name string) (string, bool) {
	if m == nil {
		return "", false
	}
	i, ok := m.index[name]
	if !ok {
		return "", false
	}
	return m.statuses[i], true
}

// Worst is Get for readers to whom a test has passed if it was ever reported so
// and never as failed.
func (m *StatusMap) Worst(name string) (string, bool) {
	s, ok := m.Get(name)
	if !ok || failing(s) != "" {
		return s, ok
	}
	switch p := m.past[m.index[name]]; {
	case p.failed != "":
		return p.failed, true
	case p.passed:
		return Passed, true
	}
	return s, true
}

// Best is Get for readers to whom a test has passed if it was ever reported so.
func (m *StatusMap) Best(name string) (string, bool) {
	s, ok := m.Get(name)
	if ok && m.past[m.index[name]].passed {
		return Passed, true
	}
	return s, ok
}

// Len is the number of names.
func (m *StatusMap) Len() int {
	if m == nil {
		return 0
	}
	return len(m.names)
}

// All yields names and statuses in order of first appearance.
func (m *StatusMap) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if m == nil {
			return
		}
		for i, n := range m.names {
			if !yield(n, m.statuses[i]) {
				return
			}
		}
	}
}

// Capped reports whether names were dropped because the map was full.
func (m *StatusMap) Capped() bool { return m != nil && m.dropped > 0 }

// Changed counts how often a test was reported again with another status.
func (m *StatusMap) Changed() int {
	if m == nil {
		return 0
	}
	return m.changed
}

// merge sets everything of o, in o's order.
func (m *StatusMap) merge(o *StatusMap) { m.mergeAs(o, func(name string) string { return name }) }

// Renamed is the map under other names. Names that become one are several reports
// of one test, of which the last counts. The tests of want are always kept.
func (m *StatusMap) Renamed(name func(string) string, want ...[]string) *StatusMap {
	out := new(StatusMap)
	out.Want(want...)
	out.mergeAs(m, name)
	return out
}

func (m *StatusMap) mergeAs(o *StatusMap, name func(string) string) {
	for i, n := range o.names {
		n = name(n)
		m.Set(n, o.statuses[i])
		if j, kept := m.index[n]; kept {
			if p, ok := o.past[i]; ok {
				m.recall(j, p)
			}
			if s, ok := o.Seconds(o.names[i]); ok {
				m.setSeconds(n, s)
			}
		}
	}
	m.dropped += o.dropped
	m.changed += o.changed
}

// MarshalJSON writes an object whose keys are in order of first appearance.
func (m *StatusMap) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for n, s := range m.All() {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		for i, v := range []string{n, s} {
			q, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			if i == 1 {
				b.WriteByte(':')
			}
			b.Write(q)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
