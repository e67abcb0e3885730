//go:build oracle

package oracle

import (
	"os"
	"testing"

	"harness/internal/vectors"
	"harness/scoring/grade"
)

// The worked verdicts of a release's profile are what the release says: the same
// report for their logs, and resolved where they say so.
func TestWorkedVerdicts(t *testing.T) {
	dir := os.Getenv("HARNESS_ORACLE")
	if dir == "" {
		t.Fatal("HARNESS_ORACLE does not name the folder that venv.sh filled; start this test with internal/oracle/run.sh")
	}
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			p, err := grade.ByName(r.profile)
			if err != nil {
				t.Fatal(err)
			}
			all, err := vectors.Read("../../scoring/grade/testdata/vectors/" + r.profile + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			o := start(t, dir, r.version)
			for _, v := range all {
				want, err := o.grade(&v.Task, v.Log)
				if err != nil {
					t.Fatalf("line %d: %v", v.Line, err)
				}
				if resolved := want.resolved(t); resolved != (v.Outcome == "resolved") {
					t.Errorf("line %d: %s: resolved is %v officially, the verdict is %s", v.Line, v.Why, resolved, v.Outcome)
				}
				got, _, err := ours(p, &v.Task, v.Log)
				if err != nil {
					t.Errorf("line %d: %v", v.Line, err)
				} else if d := difference(got, want); d != "" {
					t.Errorf("line %d: %s: %s", v.Line, v.Why, d)
				}
			}
			t.Logf("%d worked verdicts", len(all))
		})
	}
}
