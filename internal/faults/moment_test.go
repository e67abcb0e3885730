//go:build e2e

package faults

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// moment is a point of a run, told from what it has stored and from the sandboxes
// that exist, never from the clock.
type moment struct {
	name    string
	reached func(p progress) bool
}

// progress is what can be seen of a run from outside.
type progress struct {
	total     int // trials
	results   int // stored
	sandboxes int // being made, running or being removed
}

var (
	first  = moment{"first", func(p progress) bool { return p.sandboxes > 0 }}
	middle = moment{"middle", func(p progress) bool { return p.results >= p.total/2 && p.sandboxes > 0 }}
	last   = moment{"last", func(p progress) bool { return p.results >= p.total-1 && p.sandboxes > 0 }}
	report = moment{"report", func(p progress) bool { return p.results == p.total }}

	whileSandboxes = []moment{first, middle, last}
	anyMoment      = []moment{first, middle, last, report}
)

const (
	lookEvery = 5 * time.Millisecond
	patience  = 2 * time.Minute
)

// await returns the number of stored results when the moment has come.
func (r *run) await(t *testing.T, m moment) int {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(lookEvery) {
		if p := r.progress(t); m.reached(p) {
			return p.results
		}
		select {
		case <-r.ended:
			t.Fatalf("the run was over before its moment %q came\n%s", m.name, r.output())
		default:
		}
	}
	t.Fatalf("the moment %q of the run did not come within %s\n%s", m.name, patience, r.output())
	return 0
}

func (r *run) progress(t *testing.T) progress {
	t.Helper()
	results, err := filepath.Glob(filepath.Join(r.dir(), "tasks", "*", "*", "*", "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := os.ReadDir(filepath.Join(r.home.dir, "sandboxes", "boxes"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return progress{total: r.in.trials, results: len(results), sandboxes: len(boxes)}
}
