package reports

import (
	"fmt"
	"strings"
	"testing"

	"harness/eval"
)

func TestSummaryNamesWhatIsPresent(t *testing.T) {
	render := func(spec eval.RunSpec, trials ...eval.TrialResult) string {
		store := newMemStore()
		mustBuild(t, store, spec, each(trials...))
		return string(store.objects[eval.ReportKey(spec.RunID, FileSummary)])
	}
	clean := render(testSpec("r1", 1), trial("r1", "x", eval.Resolved))
	for _, absent := range []string{"Coverage", "Infra", "Tamper", "Not resolved", "all selected tasks", "any attempt"} {
		if strings.Contains(clean, absent) {
			t.Errorf("a clean run speaks of %q:\n%s", absent, clean)
		}
	}
	for _, want := range []string{"### Resolved 1 of 1 (100.0 %)", "| all | 1 of 1 | 100.0 % | 20.7 – 100.0 % |", "| without infra errors | 1 of 1 |", "| resolved | 1 |", "Took 10m0s"} {
		if !strings.Contains(clean, want) {
			t.Errorf("%q is missing:\n%s", want, clean)
		}
	}

	spec := testSpec("r1", 4)
	spec.Coverage.Missing, spec.Coverage.Null = []string{"gone"}, []string{"e"}
	flagged := trial("r1", "x", eval.Resolved)
	flagged.Patch.TamperFlags = []string{"edits_tests"}
	full := render(spec, flagged, trial("r1", "i", eval.InfraError), trial("r1", "e", eval.EmptyPatch))
	for _, want := range []string{
		"### Resolved 1 of 3 (33.3 %)", "| without infra errors | 1 of 2 |", "| all selected tasks | 1 of 4 |",
		"- 1 missing: selected tasks without a prediction: `gone`\n", "- 1 null: predictions without a patch: `e`\n",
		"| `i` | `ImagePull` | `registry said 503` |", "| `x` | resolved | `edits_tests` |", "| `e` | empty_patch |",
	} {
		if !strings.Contains(full, want) {
			t.Errorf("%q is missing:\n%s", want, full)
		}
	}
	if strings.Contains(full, "duplicate") || strings.Contains(full, "malformed") {
		t.Errorf("speaks of what is not there:\n%s", full)
	}
}

func TestSummaryFitsAComment(t *testing.T) {
	const n = 400
	long := strings.Repeat("\U000e0041", 500) // each shows as ten characters
	var trials []eval.TrialResult
	for i := range n {
		o := eval.Unresolved
		if i%2 == 0 {
			o = eval.InfraError
		}
		r := trial("r1", fmt.Sprintf("%s-%04d", strings.Repeat("x", 190), i), o)
		r.Reason, r.ErrorMessage, r.Patch.TamperFlags = long, long, []string{long}
		trials = append(trials, r)
	}
	spec := testSpec("r1", n)
	for range 100 {
		for _, p := range []*[]string{&spec.Coverage.Missing, &spec.Coverage.Duplicate, &spec.Coverage.Unknown, &spec.Coverage.Malformed, &spec.Coverage.Empty, &spec.Coverage.Null, &spec.Coverage.Unselected} {
			*p = append(*p, long)
		}
	}
	store := newMemStore()
	mustBuild(t, store, spec, each(trials...))
	md := store.objects[eval.ReportKey("r1", FileSummary)]
	if len(md) > 65536 {
		t.Errorf("summary.md has %d bytes, a comment takes 65536", len(md))
	}
	if !strings.Contains(string(md), " more\n") {
		t.Error("what was left out is not counted")
	}
}
