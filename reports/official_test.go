package reports

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"harness/eval"
	"harness/internal/checkout"
)

// summarize counts trials without writing files.
func summarize(spec eval.RunSpec, trials ...eval.TrialResult) Summary {
	slices.SortFunc(trials, func(a, b eval.TrialResult) int { return compareTrials(a.TrialID, b.TrialID) })
	count := newTally(spec, nil)
	for i := range trials {
		count.add(&trials[i])
	}
	return count.summary(spec, Options{})
}

// TestOfficialListsOfRealReports rebuilds the input behind each run report that
// the official harness wrote, and expects the same report.
func TestOfficialListsOfRealReports(t *testing.T) {
	n := 0
	for name, raw := range realReports(t) {
		var want Summary
		if err := json.Unmarshal(raw, &want); err != nil || want.EmptyPatchIDs == nil || slices.ContainsFunc(want.ErrorIDs, func(id string) bool { return slices.Contains(want.CompletedIDs, id) }) {
			continue // another tool's dialect, or a damaged log that we have no outcome for
		}
		n++
		spec := testSpec("r1", want.TotalInstances)
		spec.Coverage.Missing = want.IncompleteIDs
		var trials []eval.TrialResult
		ran := map[string]bool{}
		for _, l := range []struct {
			ids []string
			o   eval.Outcome
		}{{want.ResolvedIDs, eval.Resolved}, {want.UnresolvedIDs, eval.Unresolved}, {want.ErrorIDs, eval.PatchNotApplied}, {want.EmptyPatchIDs, eval.EmptyPatch}} {
			for _, id := range l.ids {
				trials = append(trials, trial("r1", id, l.o))
				ran[id] = true
			}
		}
		for _, id := range want.SubmittedIDs {
			if !ran[id] {
				spec.Coverage.Unselected = append(spec.Coverage.Unselected, id)
			}
		}
		got := summarize(spec, trials...)

		gotKeys, gotValues := jsonKeys(t, got)
		wantKeys, wantValues := objectKeys(t, raw)
		ours := slices.DeleteFunc(gotKeys, func(k string) bool {
			return k == "harness" || strings.HasPrefix(k, "infra_") || strings.HasPrefix(k, "ambiguous_") || k == "failure_reasons"
		})
		// Before 5.0 some releases put the container block before schema_version; 5.0 puts it last.
		theirs := slices.DeleteFunc(wantKeys, func(k string) bool { return strings.HasPrefix(k, "unstopped_") || k == "unremoved_images" })
		if !slices.Equal(ours, theirs) {
			t.Errorf("%s: keys %v, want %v", name, ours, theirs)
		}
		for _, k := range theirs {
			if g, w := compact(gotValues[k]), compact(wantValues[k]); g != w {
				t.Errorf("%s: %s = %.200s, want %.200s", name, k, g, w)
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d reports were compared", n)
	}
}

func TestKeysOfReportJSON(t *testing.T) {
	keys, _ := jsonKeys(t, summarize(testSpec("r1", 0)))
	want := strings.Fields(`total_instances submitted_instances completed_instances resolved_instances unresolved_instances
		infra_failure_instances ambiguous_failure_instances empty_patch_instances error_instances completed_ids incomplete_ids
		empty_patch_ids submitted_ids resolved_ids unresolved_ids infra_failure_ids ambiguous_failure_ids failure_reasons error_ids schema_version harness`)
	if !slices.Equal(keys, want) {
		t.Errorf("got %v, want %v", keys, want)
	}
}

func TestFailureReasons(t *testing.T) {
	flagged := func(id string, o eval.Outcome, infra *bool, reason string) eval.TrialResult {
		r := trial("r1", id, o)
		r.Verdicts[0].Official = &eval.OfficialReport{PatchExists: true, InfraFailure: infra, InfraReason: reason}
		return r
	}
	s := summarize(testSpec("r1", 5),
		flagged("env", eval.Unresolved, some(true), "out_of_memory"),
		flagged("amb", eval.NoTestsRan, some(false), "no_tests_collected"),
		flagged("fine", eval.Unresolved, some(false), ""),
		flagged("won", eval.Resolved, some(true), "network_unreachable"),
		trial("r1", "ours", eval.InfraError),
	)
	if got, want := fmt.Sprint(s.InfraFailureIDs, s.AmbiguousFailureIDs, s.FailureReasons, s.UnresolvedIDs, s.ErrorIDs, s.CompletedIDs),
		"[env ours] [amb] map[amb:no_tests_collected env:out_of_memory ours:ImagePull] [amb env fine] [ours] [amb env fine won]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAttemptsAndRounds(t *testing.T) {
	at := func(id string, attempt, round int, o eval.Outcome) eval.TrialResult {
		r := trial("r1", id, o)
		r.Attempt, r.Round = attempt, round
		return r
	}
	spec := testSpec("r1", 3)
	spec.Attempts, spec.Rounds = 2, 2
	s := summarize(spec,
		at("a", 1, 1, eval.Unresolved), at("a", 1, 2, eval.Resolved), at("a", 2, 1, eval.Unresolved), at("a", 2, 2, eval.TimedOut),
		at("b", 1, 1, eval.Unresolved), at("b", 2, 1, eval.Resolved),
		at("c", 1, 1, eval.InfraError), // attempt 2 of c has no record
	)
	h := s.Harness
	if h.Attempts != 5 || h.Trials != 7 || h.NoResult != 1 || h.Outcomes["resolved"] != 2 || h.Outcomes["unresolved"] != 1 || h.Outcomes["timed_out"] != 1 {
		t.Errorf("got %+v", h)
	}
	if got, want := fmt.Sprint(s.ResolvedIDs, s.UnresolvedIDs, s.ErrorIDs), "[a] [b] [c]"; got != want {
		t.Errorf("first attempts: got %s, want %s", got, want)
	}
	for name, c := range map[string]struct {
		rate         Rate
		resolved, of int
	}{"all": {h.Rates.All, 2, 5}, "without infra errors": {h.Rates.WithoutInfraErrors, 2, 4}, "all tasks": {h.Rates.AllTasks, 1, 3}, "any attempt": {h.Rates.AnyAttempt, 2, 2}} {
		if c.rate.Resolved != c.resolved || c.rate.Of != c.of {
			t.Errorf("%s: %d of %d, want %d of %d", name, c.rate.Resolved, c.rate.Of, c.resolved, c.of)
		}
	}
}

func TestWilsonInterval(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{ // roots of n(p-k/n)^2 = z^2 p(1-p), found by bisection
		{0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {5, 10, 0.2366, 0.7634}, {1, 1, 0.2065, 1}, {250, 500, 0.4563, 0.5437},
	} {
		r := newRate(c.k, c.n)
		if diff := max(*r.Low-c.low, c.low-*r.Low, *r.High-c.high, c.high-*r.High); diff > 1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.k, c.n, *r.Low, *r.High, c.low, c.high)
		}
	}
	if r := newRate(0, 0); r.Rate != nil || r.Low != nil || r.High != nil {
		t.Errorf("0 of 0 is %+v, want unknown", r)
	}
}

// realReports reads the run reports that lie beside the checkout.
func realReports(t *testing.T) map[string][]byte {
	t.Helper()
	f, err := os.Open(checkout.SharedData(t, "run_reports.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer zr.Close()
	out := map[string][]byte{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if base := filepath.Base(h.Name); strings.HasSuffix(base, ".json") && !strings.HasPrefix(base, "_") {
			if out[base], err = io.ReadAll(io.LimitReader(tr, 16<<20)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func jsonKeys(t *testing.T, s Summary) ([]string, map[string]json.RawMessage) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteJSON(&b, s); err != nil {
		t.Fatal(err)
	}
	return objectKeys(t, b.Bytes())
}

// objectKeys returns the keys of a JSON object in their order, and its values.
func objectKeys(t *testing.T, raw []byte) (keys []string, values map[string]json.RawMessage) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	values = map[string]json.RawMessage{}
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k.(string))
		values[k.(string)] = v
	}
	return keys, values
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return err.Error()
	}
	return b.String()
}
