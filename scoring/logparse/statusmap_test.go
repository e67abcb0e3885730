package logparse_test

import (
	"strings"
	"testing"

	"harness/scoring/logparse"
)

// A word that stands where a status does is kept as it is, but no more of it
// than of a word: neither the first nor a later one can fill the memory, also
// those of tests that are kept in any case.
func TestLongWords(t *testing.T) {
	long := logparse.Failed + strings.Repeat("x", 1<<20-100)
	log := long + " first\nPASSED later\n" + long + " later\nx " + long + logparse.Passed + "\nERRORS kept\n"
	p, _ := logparse.Lookup("parse_log_pytest_v2")
	res, err := p.Parse(strings.NewReader(log), logparse.Options{Dialect: logparse.V5, Want: [][]string{{"first", "later"}}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Tests.Len() != 4 {
		t.Errorf("%d tests, want 4", res.Tests.Len())
	}
	for name, status := range res.Tests.All() {
		if len(status) > logparse.MaxStatus {
			t.Errorf("%s has a status of %d bytes", name, len(status))
		}
		if worst, _ := res.Tests.Worst(name); worst == logparse.Passed {
			t.Errorf("%s has passed", name)
		}
	}
	if s, _ := res.Tests.Get("kept"); s != "ERRORS" {
		t.Errorf("a short word became %q", s)
	}
}

// All words together have the room of the names: statuses that replace others
// count as well.
func TestManyLongWords(t *testing.T) {
	word := logparse.Failed + strings.Repeat("x", logparse.MaxStatus-len(logparse.Failed))
	const size = 40 << 20
	log := &counter{format: "PASSED t%[1]d\n" + word + " t%[1]d\n", left: size}
	p, _ := logparse.Lookup("parse_log_pytest")
	res, err := p.Parse(log, logparse.Options{Dialect: logparse.V5})
	if err != nil {
		t.Fatal(err)
	}
	bytes := 0
	for name, status := range res.Tests.All() {
		bytes += len(name) + len(status)
		if status == logparse.Passed {
			t.Fatalf("%s has passed", name)
		}
	}
	if bytes > logparse.MaxNameBytes+logparse.MaxStatus {
		t.Errorf("%d tests have %d bytes, want at most %d", res.Tests.Len(), bytes, logparse.MaxNameBytes)
	}
}
