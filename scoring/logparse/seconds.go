package logparse

import (
	"math"
	"strconv"
)

// Seconds returns how long a test took, as its log says; ok is false where it
// does not.
func (m *StatusMap) Seconds(name string) (s float64, ok bool) {
	if m == nil {
		return 0, false
	}
	i, ok := m.index[name]
	if !ok || i >= len(m.seconds) || math.IsNaN(m.seconds[i]) {
		return 0, false
	}
	return m.seconds[i], true
}

// setSeconds records how long a test took. Tests without a status have none, and
// what is no time is left out.
func (m *StatusMap) setSeconds(name string, s float64) {
	i, ok := m.index[name]
	if !ok || !(s >= 0) || math.IsInf(s, 0) {
		return
	}
	for len(m.seconds) <= i {
		m.seconds = append(m.seconds, math.NaN())
	}
	m.seconds[i] = s
}

// setDuration is setSeconds for a number as it stands in a log, of a unit of
// seconds.
func (m *StatusMap) setDuration(name, number string, unit float64) {
	if s, err := strconv.ParseFloat(number, 64); err == nil {
		m.setSeconds(name, s*unit)
	}
}
