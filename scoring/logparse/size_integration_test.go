//go:build integration

package logparse_test

import (
	"strings"
	"testing"

	"harness/scoring/logparse"
)

// How many bytes of hostile logs a parser gets.
const (
	endlessLine = 8 << 20
	manyResults = 8 << 20
)

// memoryParsers are those that read such logs: all, without those that are
// another by a second name.
var memoryParsers = func() []string {
	var names []string
	seen := map[string]bool{}
	for _, p := range logparse.Builtin() {
		family, _, other := strings.Cut(p.Name, "/")
		if !other {
			family = ""
		}
		if key := family + p.Doc; !seen[key] {
			seen[key] = true
			names = append(names, p.Name)
		}
	}
	return names
}()

// 200 MB without a line end cost no more than 2.
func TestEndlessLine(t *testing.T) {
	const size = 200 << 20
	for _, name := range []string{"parse_log_pytest", "parse_log_django", "junit_xml", "ctrf", "multi/mocha_json", "rebench2/parse_log_junit"} {
		p, _ := logparse.Lookup(name)
		w := newWatch(&pattern{text: `PASSED x{"tests":[<testcase name="`, left: size}, size)
		if _, err := p.Parse(logparse.TextMode(w), optionsFor(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if w.held() > maxHeap || w.read != size {
			t.Errorf("%s: held %d MiB after %d of %d bytes", name, w.held()>>20, w.read, size)
		}
	}
}
