package grade_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"harness/eval"
	"harness/internal/checkout"
	"harness/scoring/grade"
)

// multiRow is what a row of Multi-SWE-bench says of tests.
type multiRow struct {
	ID   string         `json:"instance_id"`
	F2P  map[string]any `json:"f2p_tests"`
	P2P  map[string]any `json:"p2p_tests"`
	S2P  map[string]any `json:"s2p_tests"`
	N2P  map[string]any `json:"n2p_tests"`
	Run  multiStates    `json:"run_result"`
	Test multiStates    `json:"test_patch_result"`
	Fix  multiStates    `json:"fix_patch_result"`
}

type multiStates struct {
	Passed  []string `json:"passed_tests"`
	Failed  []string `json:"failed_tests"`
	Skipped []string `json:"skipped_tests"`
}

// log is one that reports these states to parse_log_pytest_v2.
func (s multiStates) log() string {
	var b strings.Builder
	for word, names := range map[string][]string{"PASSED": s.Passed, "FAILED": s.Failed, "SKIPPED": s.Skipped} {
		for _, n := range names {
			b.WriteString(word + " " + n + "\n")
		}
	}
	return b.String()
}

// By the publisher's own results, every row of Multi-SWE-bench is resolved with
// its gold patch and not without it.
func TestPublishersResults(t *testing.T) {
	f, err := os.Open(checkout.SharedData(t, "instances", "multi_swe_bench_java.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	const rows = 50
	n := 0
	lines := bufio.NewScanner(z)
	for lines.Buffer(nil, 16<<20); lines.Scan(); n++ {
		var row multiRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		names := func(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
		tk := task(slices.Concat(names(row.F2P), names(row.S2P), names(row.N2P)), names(row.P2P))
		tk.InstanceID, tk.LogParser = row.ID, "parse_log_pytest_v2"
		tk.Baseline = &eval.Baseline{
			Run:        &eval.TestStates{Passed: row.Run.Passed, Failed: row.Run.Failed, Skipped: row.Run.Skipped},
			Test:       &eval.TestStates{Passed: row.Test.Passed, Failed: row.Test.Failed, Skipped: row.Test.Skipped},
			SkipToPass: names(row.S2P), NoneToPass: names(row.N2P),
		}
		for _, c := range []struct {
			name     string
			states   multiStates
			resolved bool
		}{{"gold", row.Fix, true}, {"test patch alone", row.Test, false}} {
			res, err := profile(t, "multi-swe-bench").Grade(grade.Input{Task: tk, PatchGiven: true, Applied: true, Log: opener(c.states.log())})
			if err != nil {
				t.Fatalf("%s: %v", row.ID, err)
			}
			if res.Verdict.Resolved != c.resolved {
				t.Errorf("%s, %s: %s (%s), flags %v", row.ID, c.name, res.Verdict.Outcome, res.Reason, res.Verdict.Flags)
			}
		}
	}
	if err := lines.Err(); err != nil || n != rows {
		t.Errorf("%d rows, want %d (%v)", n, rows, err)
	}
}
