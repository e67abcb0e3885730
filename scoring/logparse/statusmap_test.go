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
