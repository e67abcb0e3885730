//go:build e2e

package faults

import (
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
	reporting bool
}

var (
	first  = moment{"first", func(p progress) bool { return p.sandboxes > 0 }}
	middle = moment{"middle", func(p progress) bool { return p.results >= p.total/2 && p.sandboxes > 0 }}
	last   = moment{"last", func(p progress) bool { return p.results >= p.total-2 && p.sandboxes > 0 }}
	report = moment{"report", func(p progress) bool { return p.reporting }}

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
	return progress{
		total:     r.in.trials,
		results:   len(glob(t, r.dir(), "tasks", "*", "*", "*", "result.json")),
		sandboxes: len(glob(t, r.home.dir, "sandboxes", "boxes", "*")),
		reporting: len(glob(t, r.home.dir, "spool", "*", "harness-report-*")) > 0,
	}
}

func glob(t *testing.T, pattern ...string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
