package grade_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"harness/eval"
	"harness/scoring/grade"
)

func task(f2p, p2p []string) *eval.Task {
	return &eval.Task{
		InstanceID: "owner__repo-1", Repo: "owner/repo", LogParser: "parse_log_pytest",
		EvalType: eval.EvalPassAndFail, FailToPass: f2p, PassToPass: p2p,
	}
}

func opener(log string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil }
}

func profile(t testing.TB, name string) grade.Profile {
	t.Helper()
	p, err := grade.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// marked puts results between the markers as an eval script's trace does.
func marked(results string) string {
	return "+ : '>>>>> Start Test Output'\n" + results + "+ : '>>>>> End Test Output'\n"
}

func ptr[T any](v T) *T { return &v }

// What a log and the host's facts come to under the rules of release 5.
func TestOutcomes(t *testing.T) {
	good := marked("PASSED f\nPASSED p\n")
	bad := marked("FAILED f\nPASSED p\n")
	empty := marked("nothing here\n")
	tests := []struct {
		name    string
		log     string
		noLog   bool
		noPatch bool
		notDone bool // the patch was not applied
		exec    eval.ExecFacts
		want    eval.Outcome
		blame   eval.Blame
		flags   string
		report  string // of the official report: none, null, refused, graded
	}{
		{name: "resolved", log: good, want: eval.Resolved, report: "graded"},
		{name: "unresolved", log: bad, want: eval.Unresolved, blame: eval.BlameCandidate, report: "graded"},
		{name: "without a patch", log: bad, noPatch: true, want: eval.Unresolved, report: "null"},
		{name: "without a patch and log", noLog: true, noPatch: true, want: eval.EmptyPatch, blame: eval.BlameCandidate, report: "null"},
		{name: "not applied", log: good, notDone: true, want: eval.PatchNotApplied, blame: eval.BlameCandidate, report: "none"},
		{name: "not applied and no log", noLog: true, notDone: true, want: eval.PatchNotApplied, blame: eval.BlameCandidate, report: "none"},
		{name: "time limit", log: good, exec: eval.ExecFacts{TimedOut: true, OOMKilled: true}, want: eval.TimedOut, blame: eval.BlameAmbiguous, report: "none"},
		{name: "time limit without a patch", noLog: true, noPatch: true, exec: eval.ExecFacts{TimedOut: true}, want: eval.TimedOut, blame: eval.BlameEnvironment, report: "none"},
		{name: "memory", log: good, exec: eval.ExecFacts{OOMKilled: true, Died: true}, want: eval.OutOfMemory, blame: eval.BlameAmbiguous, report: "none"},
		{name: "died", log: good, exec: eval.ExecFacts{Died: true}, want: eval.SandboxDied, blame: eval.BlameAmbiguous, report: "none"},
		{name: "disk with a failure", log: bad, exec: eval.ExecFacts{DiskFull: true}, want: eval.OutOfDisk, blame: eval.BlameAmbiguous, report: "none"},
		{name: "disk without one", log: good, exec: eval.ExecFacts{DiskFull: true}, want: eval.Resolved, report: "graded"},
		{name: "disk and died", log: good, exec: eval.ExecFacts{DiskFull: true, Died: true}, want: eval.OutOfDisk, blame: eval.BlameAmbiguous, report: "none"},
		{name: "no result", log: empty, want: eval.NoTestsRan, blame: eval.BlameAmbiguous, flags: "no_results", report: "refused"},
		{name: "no result, exit code", log: empty, exec: eval.ExecFacts{ExitCode: ptr(2)}, want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "no_results", report: "refused"},
		{name: "no result, host says 0", log: empty, exec: eval.ExecFacts{ExitCode: ptr(0)}, want: eval.NoTestsRan, blame: eval.BlameAmbiguous, flags: "no_results", report: "refused"},
		{name: "a printed reason is not blame", log: marked("Cannot allocate memory\n"), want: eval.NoTestsRan, blame: eval.BlameAmbiguous, flags: "no_results", report: "refused"},
		{name: "no markers", log: "PASSED f\nPASSED p\n", want: eval.NoTestsRan, blame: eval.BlameAmbiguous, flags: "markers_missing", report: "refused"},
		{name: "empty log", log: "", want: eval.NoTestsRan, blame: eval.BlameAmbiguous, flags: "markers_missing", report: "refused"},
		{name: "bad code", log: good + ">>>>> Tests Errored\n", want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "bad_code", report: "refused"},
		{name: "exit code mismatch", log: good + ">>>>> Test Exit Code: 1\n", want: eval.TestsErrored, blame: eval.BlameAmbiguous, flags: "exit_code_mismatch", report: "refused"},
		{name: "exit code with a failure", log: marked("PASSED f\nPASSED p\nFAILED x\n") + ">>>>> Test Exit Code: 1\n", want: eval.Resolved, report: "graded"},
		{name: "whole log", log: "PASSED f\nPASSED p\n" + marked(""), want: eval.Resolved, flags: "whole_log_fallback", report: "graded"},
		{name: "cut log", log: good, exec: eval.ExecFacts{Truncated: 5}, want: eval.Resolved, flags: "log_truncated", report: "graded"},
		{name: "twice with other results", log: marked("FAILED f\nPASSED p\nPASSED f\n"), want: eval.Resolved, flags: "duplicate_tests", report: "graded"},
		{name: "second start marker ends", log: ">>>>> Start Test Output PASSED x\nPASSED f\n>>>>> Start Test Output\nPASSED p\n>>>>> End Test Output\n", want: eval.Unresolved, blame: eval.BlameCandidate, report: "graded"},
		{name: "results behind a printed end marker", log: ">>>>> Start Test Output\nPASSED f\n>>>>> End Test Output\nFAILED f\nPASSED p\n", want: eval.Unresolved, blame: eval.BlameCandidate, report: "graded"},
		{name: "end before start", log: ">>>>> End Test Output\n>>>>> Start Test Output\nPASSED f\nPASSED p\n", want: eval.Resolved, report: "graded"},
	}
	p := profile(t, "swebench")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := grade.Input{Task: task([]string{"f"}, []string{"p"}), PatchGiven: !tt.noPatch, Applied: !tt.notDone && !tt.noPatch, Exec: tt.exec}
			if !tt.noLog {
				in.Log = opener(tt.log)
			}
			res, err := p.Grade(in)
			if err != nil {
				t.Fatal(err)
			}
			v := res.Verdict
			if v.Outcome != tt.want || res.Blame != tt.blame || v.Resolved != (tt.want == eval.Resolved) {
				t.Errorf("got %s, blame %q, resolved %v (%s); want %s, blame %q", v.Outcome, res.Blame, v.Resolved, res.Reason, tt.want, tt.blame)
			}
			if got := strings.Join(v.Flags, " "); got != tt.flags {
				t.Errorf("flags %q, want %q", got, tt.flags)
			}
			if got := describe(v.Official); got != tt.report {
				t.Errorf("official report is %s, want %s", got, tt.report)
			}
			if (res.Reason == "") != (tt.want == eval.Resolved) {
				t.Errorf("reason %q", res.Reason)
			}
		})
	}
}

func describe(r *eval.OfficialReport) string {
	switch {
	case r == nil:
		return "none"
	case r.PatchIsNone && !r.PatchExists && !r.PatchApplied && r.TestsStatus == nil:
		return "null"
	case r.PatchExists && !r.PatchApplied && r.TestsStatus == nil && !r.Resolved:
		return "refused"
	case r.PatchExists && r.PatchApplied && r.TestsStatus != nil:
		return "graded"
	}
	return fmt.Sprintf("odd: %+v", *r)
}

// How an expected test counts by what the log says of it.
func TestExpectedTests(t *testing.T) {
	profiles := []string{"swebench", "swebench-4", "swebench-2", "live", "rebench", "multi-swe-bench", "pro", "strict"}
	tests := []struct {
		name     string
		word     string // of both tests; "" when they are absent
		evalType string
		repo     string
		// The marks of a FAIL_TO_PASS and a PASS_TO_PASS test by profile:
		// + success, - failure, 0 in neither list.
		want string
	}{
		{"passed", "PASSED", "", "", "++ ++ ++ ++ ++ ++ ++ ++"},
		{"failed", "FAILED", "", "", "-- -- -- -- -- -- -- --"},
		{"error", "ERROR", "", "", "-- -- -- -- -- -- -- --"},
		{"expected failure", "XFAIL", "", "", "++ ++ ++ -- -- ++ -- --"},
		{"skipped", "SKIPPED", "", "", "-+ 00 00 00 -- -- -- --"},
		{"absent", "", "", "", "-- -- -- 00 -- -- -- --"},
		{"odd word", "FAILED:", "", "", "00 00 00 -- -- -- -- --"},
		{"odd word that sounds good", "PASSED:", "", "", "00 00 00 ++ -- -- -- --"},
		{"fail only, absent", "", eval.EvalFailOnly, "", "++ -- -- 00 -- -- -- ++"},
		{"fail only by repository", "", "", "chartjs/Chart.js", "-- ++ -- 00 -- -- -- --"},
		{"fail only, failed", "FAILED", eval.EvalFailOnly, "chartjs/Chart.js", "-- -- -- -- -- -- -- --"},
		{"fail only, error", "ERROR", eval.EvalFailOnly, "", "++ -- -- -- -- -- -- --"},
	}
	for _, tt := range tests {
		want := strings.Fields(tt.want)
		if len(want) != len(profiles) {
			t.Fatalf("%s: %d results for %d profiles", tt.name, len(want), len(profiles))
		}
		tk := task([]string{"f"}, []string{"p"})
		tk.Repo = tt.repo
		tk.Baseline = &eval.Baseline{Run: &eval.TestStates{}, Test: &eval.TestStates{Passed: []string{"p"}, Failed: []string{"f"}}}
		if tt.evalType != "" {
			tk.EvalType = tt.evalType
		}
		results := "PASSED other\n 14 passing (2s)\n"
		if tt.word != "" {
			results += tt.word + " f\n" + tt.word + " p\n"
		}
		log := "Applied patch t.py cleanly.\n" + marked(results)
		for i, name := range profiles {
			res, err := profile(t, name).Grade(grade.Input{Task: tk, PatchGiven: true, Applied: true, Log: opener(log)})
			if err != nil {
				t.Fatal(err)
			}
			st := res.Verdict.Official.TestsStatus
			if got := sign(st.FailToPass) + sign(st.PassToPass); got != want[i] {
				t.Errorf("%s under %s: got %s, want %s", tt.name, name, got, want[i])
			}
		}
	}
}

func sign(s eval.SuccessFailure) string {
	return strings.Repeat("+", len(s.Success)) + strings.Repeat("-", len(s.Failure)) +
		strings.Repeat("0", 1-min(1, len(s.Success)+len(s.Failure)))
}

// Names that a dataset cut inside brackets stand for what starts with them.
func TestTruncatedIDs(t *testing.T) {
	tests := []struct {
		log, id string
		want    string
		flag    string
	}{
		{"PASSED t[log(a-1]\nXFAIL t[log(a-2]\n", "t[log(a", "+", "truncated_ids"},
		{"PASSED t[a-1]\nFAILED t[a-2]\n", "t[a", "-", "truncated_ids_ambiguous"},
		{"FAILED t[a-1]\nSKIPPED t[a-2]\n", "t[a", "-", "truncated_ids"},
		{"PASSED t[a]\n", "t", "-", ""},
		{"PASSED t[a]\n", "t[a]", "+", ""},
		{"PASSED t[a\nFAILED t[ab]\n", "t[a", "+", ""},
	}
	for _, tt := range tests {
		res, err := profile(t, "swebench").Grade(grade.Input{
			Task: task([]string{tt.id}, nil), PatchGiven: true, Applied: true, Log: opener(marked(tt.log)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := sign(res.Verdict.Official.TestsStatus.FailToPass); got != tt.want {
			t.Errorf("%q in %q: got %s, want %s", tt.id, tt.log, got, tt.want)
		}
		if got := strings.Join(res.Verdict.Flags, " "); got != tt.flag {
			t.Errorf("%q in %q: flags %q, want %q", tt.id, tt.log, got, tt.flag)
		}
	}
}

// Rows: expected tests in dataset order, then the others in log order.
func TestRows(t *testing.T) {
	res, err := profile(t, "swebench").Grade(grade.Input{
		Task: task([]string{"f", "gone"}, []string{"p"}), PatchGiven: true, Applied: true,
		Log: opener(marked("PASSED z\nERRORS y\nSKIPPED p\nFAILED f\n")),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []eval.TestResult{
		{Name: "f", Group: "F2P", Status: "FAILED", RawStatus: "FAILED"},
		{Name: "gone", Group: "F2P", Status: "MISSING"},
		{Name: "p", Group: "P2P", Status: "SKIPPED", RawStatus: "SKIPPED"},
		{Name: "z", Group: "other", Status: "PASSED", RawStatus: "PASSED"},
		{Name: "y", Group: "other", Status: "ERROR", RawStatus: "ERRORS"},
	}
	if !reflect.DeepEqual(res.Tests, want) {
		t.Errorf("got %+v\nwant %+v", res.Tests, want)
	}
	c := res.Counts
	if *c.F2PPassed != 0 || *c.F2PTotal != 2 || *c.P2PPassed != 1 || *c.P2PTotal != 1 {
		t.Errorf("counts %d/%d, %d/%d", *c.F2PPassed, *c.F2PTotal, *c.P2PPassed, *c.P2PTotal)
	}
}

// A flood of unlisted tests is cut, and neither it nor a full map loses an
// expected test.
func TestFlood(t *testing.T) {
	var b strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&b, "PASSED flood%d\n", i)
	}
	b.WriteString("FAILED f\n")
	tk := task([]string{"f"}, nil)
	tk.EvalType = eval.EvalFailOnly
	res, err := profile(t, "swebench").Grade(grade.Input{Task: tk, PatchGiven: true, Applied: true, Log: opener(marked(b.String()))})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict.Outcome != eval.Unresolved || len(res.Tests) != 1+grade.MaxOther {
		t.Errorf("%s with %d rows", res.Verdict.Outcome, len(res.Tests))
	}
	if got := strings.Join(res.Verdict.Flags, " "); got != "other_tests_capped status_map_capped" {
		t.Errorf("flags %q", got)
	}
}

// A log that breaks the official parser leaves no report.
func TestParserRaises(t *testing.T) {
	tk := task([]string{"f"}, nil)
	tk.LogParser = "parse_log_django"
	res, err := profile(t, "swebench").Grade(grade.Input{Task: tk, PatchGiven: true, Applied: true, Log: opener(marked("f ... ok\nFAIL:\n"))})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict.Official != nil || res.Verdict.Outcome != eval.TestsErrored || strings.Join(res.Verdict.Flags, " ") != "parser_raised" {
		t.Errorf("got %+v", res.Verdict)
	}
	res, err = profile(t, "swebench-4").Grade(grade.Input{Task: task([]string{"f"}, nil), PatchGiven: true, Applied: true, Log: opener(marked("PASSED f\nodd \xff byte\n"))})
	if err != nil || res.Verdict.Official != nil {
		t.Errorf("bytes that are not UTF-8 under release 4: %+v, %v", res.Verdict, err)
	}
	res, err = profile(t, "swebench").Grade(grade.Input{Task: task([]string{"f"}, nil), PatchGiven: true, Applied: true, Log: opener(marked("PASSED f\nodd \xff byte\n"))})
	if err != nil || !res.Verdict.Resolved {
		t.Errorf("bytes that are not UTF-8 under release 5: %+v, %v", res.Verdict, err)
	}
}

func TestErrors(t *testing.T) {
	p := profile(t, "swebench")
	tk := task([]string{"f"}, nil)
	tk.LogParser = "parse_log_nobody"
	_, err := p.Grade(grade.Input{Task: tk, PatchGiven: true, Applied: true, Log: opener("")})
	if !errors.Is(err, grade.ErrUnknownParser) || !strings.Contains(err.Error(), "parse_log_django") {
		t.Errorf("unknown parser: %v", err)
	}
	tk.LogParser = ""
	_, err = p.Grade(grade.Input{Task: tk, PatchGiven: true, Applied: true, Log: opener("")})
	if !errors.Is(err, grade.ErrUnknownParser) || !strings.Contains(err.Error(), "the row names none") {
		t.Errorf("no parser: %v", err)
	}
	broken := errors.New("store is gone")
	for _, log := range []func() (io.ReadCloser, error){
		func() (io.ReadCloser, error) { return nil, broken },
		func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(broken)), nil },
	} {
		if _, err := p.Grade(grade.Input{Task: task(nil, nil), PatchGiven: true, Applied: true, Log: log}); !errors.Is(err, broken) {
			t.Errorf("unreadable log: %v", err)
		}
	}
	if _, err := p.Grade(grade.Input{Task: task(nil, nil), PatchGiven: true, Applied: true}); err == nil {
		t.Error("no log was accepted")
	}
	if _, err := p.Grade(grade.Input{}); err == nil {
		t.Error("no task was accepted")
	}
	if _, err := grade.ByName("nobody"); err == nil || !strings.Contains(err.Error(), "swebench-4") {
		t.Errorf("unknown profile: %v", err)
	}
}

// However a log arrives, byte by byte or with markers on a buffer's edge, it is
// graded the same.
func TestChunks(t *testing.T) {
	for _, pad := range []int{0, 1, 100, 128<<10 - 520, 128<<10 - 30, 128 << 10, 300 << 10} {
		log := strings.Repeat("x", pad) + "\nApplied patch a.py cleanly.\n" + marked(strings.Repeat("y", pad)+"\r\nPASSED f\r\n") + ">>>>> Test Exit Code: 0\n"
		for _, name := range []string{"swebench", "swebench-4", "swebench-2"} {
			for i, chunk := range []func(io.Reader) io.Reader{
				func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader,
			} {
				res, err := profile(t, name).Grade(grade.Input{
					Task: task([]string{"f"}, nil), PatchGiven: true, Applied: true,
					Log: func() (io.ReadCloser, error) { return io.NopCloser(chunk(strings.NewReader(log))), nil },
				})
				if err != nil || !res.Verdict.Resolved {
					t.Errorf("%s, pad %d, reader %d: %+v, %v", name, pad, i, res.Verdict, err)
				}
			}
		}
	}
}

func TestDocument(t *testing.T) {
	p := profile(t, "swebench")
	res, err := p.Grade(grade.Input{Task: task([]string{"f"}, []string{"p"}), PatchGiven: true, Applied: true, Log: opener(marked("PASSED p\nFAILED f\n"))})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"instance_id":"owner__repo-1","profile":"swebench","resolved":false,"patch_successfully_applied":true,` +
		`"status_map":{"p":"PASSED","f":"FAILED"},"tests_status":{"FAIL_TO_PASS":{"success":[],"failure":["f"]},` +
		`"PASS_TO_PASS":{"success":["p"],"failure":[]},"FAIL_TO_FAIL":{"success":[],"failure":[]},` +
		`"PASS_TO_FAIL":{"success":[],"failure":[]}},"flags":[],"outcome":"unresolved","infra_failure":false,` +
		`"coverage":{"lines":4,"bytes":25,"unplaced_lines":2,"unplaced_bytes":7}}`
	if got, err := json.Marshal(grade.JSON(res)); err != nil || string(got) != want {
		t.Errorf("got  %s %v\nwant %s", got, err, want)
	}
	res, err = p.Grade(grade.Input{Task: task([]string{"f"}, nil), PatchGiven: true, Applied: true, Log: opener(marked("ModuleNotFoundError: x\n"))})
	if err != nil {
		t.Fatal(err)
	}
	want = `{"instance_id":"owner__repo-1","profile":"swebench","resolved":false,"patch_successfully_applied":false,` +
		`"status_map":{},"tests_status":{"FAIL_TO_PASS":{"success":[],"failure":[]},` +
		`"PASS_TO_PASS":{"success":[],"failure":[]},"FAIL_TO_FAIL":{"success":[],"failure":[]},` +
		`"PASS_TO_FAIL":{"success":[],"failure":[]}},"flags":["no_results"],"outcome":"no_tests_ran","infra_failure":false,"infra_failure_reason":"missing_module",` +
		`"coverage":{"lines":3,"bytes":81,"unplaced_lines":3,"unplaced_bytes":81}}`
	if got, err := json.Marshal(grade.JSON(res)); err != nil || string(got) != want {
		t.Errorf("got  %s %v\nwant %s", got, err, want)
	}
}
