package releasepinned

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"harness/eval"
)

// Freeze returns the task with the test lists that were observed: of the
// published tests, those that pass in every gold run and fail in every
// unpatched run are FAIL_TO_PASS, those that pass in all of both are
// PASS_TO_PASS. Ids are
// written as this image's runner prints them. Tests that were never seen with
// the gold patch are named in Frozen.Missing; the others that count no longer
// are counted in its Note. Runtime and image are the caller's to add.
//
// Without a test that the gold patch fixes there is nothing to measure: that is
// an error, as is a task without runs.
func Freeze(task eval.Task, goldRuns, noopRuns []map[string]string) (eval.Task, error) {
	if len(goldRuns) == 0 || len(noopRuns) == 0 {
		return task, fmt.Errorf("freeze %s: %d gold and %d unpatched runs: at least one of each is needed", task.InstanceID, len(goldRuns), len(noopRuns))
	}
	frozen := eval.Frozen{
		GoldRuns: len(goldRuns), NoopRuns: len(noopRuns),
		PublishedF2P: len(task.FailToPass), PublishedP2P: len(task.PassToPass),
	}
	names := observedNames(goldRuns)
	var f2p, p2p []string
	var notes noteCounts
	seen := map[string]bool{}
	for i, published := range append(append([]string{}, task.FailToPass...), task.PassToPass...) {
		ids := names.find(published)
		if len(ids) == 0 {
			frozen.Missing = append(frozen.Missing, published)
		}
		for _, id := range ids {
			if seen[id] {
				continue
			}
			seen[id] = true
			after, before := passes(goldRuns, id), passes(noopRuns, id)
			// A published PASS_TO_PASS test that is just absent without the patch was
			// lost, not failing: only one that is seen to fail may change its list.
			fails := before == 0 && (i < len(task.FailToPass) || seenFailing(noopRuns, id))
			switch {
			case after == len(goldRuns) && fails:
				f2p = append(f2p, id)
			case after == len(goldRuns) && before == len(noopRuns):
				p2p = append(p2p, id)
				if i < len(task.FailToPass) && len(ids) == 1 {
					notes.passedBefore++
				}
			case after == len(goldRuns) && before == 0:
				notes.lost++
			case after == 0:
				notes.failing++
			default:
				notes.unstable++
			}
		}
	}
	if len(f2p) == 0 {
		return task, fmt.Errorf("freeze %s: %w: of %d published FAIL_TO_PASS tests none fails before and passes after the gold patch (%s): look at the logs of both",
			task.InstanceID, ErrNothingFixed, len(task.FailToPass), notes.text(len(frozen.Missing)))
	}
	if p2p == nil {
		p2p = []string{}
	}
	frozen.Note = notes.text(len(frozen.Missing))
	task.FailToPass, task.PassToPass, task.Frozen = f2p, p2p, &frozen
	return task, nil
}

// ErrNothingFixed: the gold patch turned no published test from failing to passing.
var ErrNothingFixed = errors.New("nothing is fixed")

type noteCounts struct{ passedBefore, failing, unstable, lost int }

func (n noteCounts) text(missing int) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(missing, "never seen with the gold patch")
	add(n.failing, "fail with the gold patch")
	add(n.lost, "published as PASS_TO_PASS never seen without the gold patch")
	add(n.unstable, "differ between equal runs")
	add(n.passedBefore, "published as FAIL_TO_PASS pass without it")
	return strings.Join(parts, ", ")
}

// passes counts the runs in which a test passed. XFAIL counts, as the official
// graders count it.
func passes(runs []map[string]string, id string) int {
	n := 0
	for _, m := range runs {
		if s := m[id]; s == "PASSED" || s == "XFAIL" {
			n++
		}
	}
	return n
}

// seenFailing reports whether every run says that a test failed.
func seenFailing(runs []map[string]string, id string) bool {
	for _, m := range runs {
		if s := m[id]; s != "FAILED" && s != "ERROR" {
			return false
		}
	}
	return true
}

// idNames finds the id that the runner printed for a published one.
type idNames struct {
	exact  map[string]bool
	normal map[string]string // normal form -> printed id; "" when two share it
}

func observedNames(runs []map[string]string) idNames {
	n := idNames{map[string]bool{}, map[string]string{}}
	for _, m := range runs {
		for id := range m {
			if n.exact[id] {
				continue
			}
			n.exact[id] = true
			form := normalID(id)
			if _, twice := n.normal[form]; twice {
				n.normal[form] = ""
				continue
			}
			n.normal[form] = id
		}
	}
	return n
}

// find returns what stands for a published id: the same id, else the one with
// its normal form, else, for an id that was cut inside its brackets, every id
// that begins with it. In the last case each counts by its own name from then on.
func (n idNames) find(published string) []string {
	if n.exact[published] {
		return []string{published}
	}
	if id := n.normal[normalID(published)]; id != "" {
		return []string{id}
	}
	if strings.Count(published, "[") <= strings.Count(published, "]") {
		return nil
	}
	var out []string
	for id := range n.exact {
		if strings.HasPrefix(id, published) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

var unittestID = regexp.MustCompile(`^(\S+) \((\S+)\)$`)

// normalID removes what Python versions print differently: since 3.11 unittest
// says "test_x (module.Class.test_x)", before it was "test_x (module.Class)".
func normalID(id string) string {
	m := unittestID.FindStringSubmatch(id)
	if m == nil {
		return id
	}
	return m[1] + " (" + strings.TrimSuffix(m[2], "."+m[1]) + ")"
}
