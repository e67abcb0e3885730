package grade_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"harness/eval"
	"harness/scoring/grade"
	"harness/scoring/logparse"
)

// What is missing from a log may have been a failure: what floods a log until it
// is cut gains nothing under strict rules.
func TestIncompleteLogs(t *testing.T) {
	long := strings.Repeat("x", 9<<20)
	for _, tt := range []struct {
		name, parser, log string
		cut               int64
		flag              string
	}{
		{"whole", "parse_log_pytest", "PASSED f\n", 0, ""},
		{"cut when it was recorded", "parse_log_pytest", "PASSED f\n", 1, "log_truncated"},
		{"too long for the format", "parse_log_grommet", "PASS f\n" + long + "\nPASS other\n", 0, "text_cut"},
		{"long, but read by line", "parse_log_carbon", "PASS f\n" + long + "\nPASS other\n", 0, "long_lines"},
	} {
		tk := task([]string{"f"}, nil)
		tk.LogParser = tt.parser
		res, err := profile(t, "strict").Grade(grade.Input{
			Task: tk, PatchGiven: true, Applied: true, Exec: eval.ExecFacts{Truncated: tt.cut}, Log: opener(marked(tt.log)),
		})
		if err != nil {
			t.Fatal(err)
		}
		want := eval.Resolved
		if tt.flag == "log_truncated" || tt.flag == "text_cut" {
			want = eval.TestsErrored
		}
		if got := strings.Join(res.Verdict.Flags, " "); got != tt.flag || res.Verdict.Outcome != want {
			t.Errorf("%s: %s [%s], want %s [%s]", tt.name, res.Verdict.Outcome, got, want, tt.flag)
		}
	}
}

// A name that was cut inside brackets is not found in a map that is full: the
// failure that it stands for as well may be what found no room.
func TestTruncatedIDsOfAFullMap(t *testing.T) {
	var log strings.Builder
	for i := range logparse.MaxNames - 1 {
		fmt.Fprintf(&log, "PASSED %d\n", i)
	}
	log.WriteString("PASSED f[log(1]\nFAILED f[log(2]\n")
	for _, name := range []string{"strict", "swebench"} {
		res, err := profile(t, name).Grade(grade.Input{
			Task: task([]string{"f[log("}, nil), PatchGiven: true, Applied: true, Log: opener(marked(log.String())),
		})
		if err != nil {
			t.Fatal(err)
		}
		if res.Verdict.Resolved || !slices.Contains(res.Verdict.Flags, "truncated_ids_ambiguous") {
			t.Errorf("%s: %s %v", name, res.Verdict.Outcome, res.Verdict.Flags)
		}
	}
}

// Rows of tests that a log brings along stay few and small, however long their
// names are: a result that can't be read again would stop a run.
func TestRowsAreBounded(t *testing.T) {
	var log strings.Builder
	for i := range 1400 {
		fmt.Fprintf(&log, "PASSED %d%s\n", i, strings.Repeat("<", logparse.MaxName-8))
	}
	log.WriteString("PASSED f\n")
	res, err := profile(t, "swebench").Grade(grade.Input{
		Task: task([]string{"f"}, nil), PatchGiven: true, Applied: true, Log: opener(marked(log.String())),
	})
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, r := range res.Tests {
		size += len(r.Name)
	}
	if size > 4<<20 || !slices.Contains(res.Verdict.Flags, "other_tests_capped") || !res.Verdict.Resolved {
		t.Errorf("%d rows of %d bytes, %s %v", len(res.Tests), size, res.Verdict.Outcome, res.Verdict.Flags)
	}
}

// A row says how long its test took where the log does, also under a name
// without its time.
func TestSecondsOfRows(t *testing.T) {
	tk := task([]string{"a"}, []string{"b (2s)", "c"})
	tk.LogParser = "junit_xml"
	log := marked(`<testsuite><testcase name="a" time="0.5"/><testcase name="b (1s)" time="1"/><testcase name="c"/><testcase name="d" time="4"/></testsuite>` + "\n")
	for _, name := range []string{"swebench", "strict", "rebench"} {
		res, err := profile(t, name).Grade(grade.Input{Task: tk, PatchGiven: true, Applied: true, Log: opener(log)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range res.Tests {
			if r.Seconds != nil {
				got = append(got, fmt.Sprintf("%s %v", r.Name, *r.Seconds))
			}
		}
		want := []string{"a 0.5", "b (2s) 1", "d 4"}
		if name == "swebench" {
			want = []string{"a 0.5", "b (1s) 1", "d 4"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
