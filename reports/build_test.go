package reports

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"harness/artifacts"
	"harness/eval"
)

func everyOutcome(run string) []eval.TrialResult {
	var out []eval.TrialResult
	for i, o := range eval.Outcomes() {
		out = append(out, trial(run, fmt.Sprintf("task-%02d", i), o))
	}
	return out
}

func TestBuildWritesAllFilesReportLast(t *testing.T) {
	store := newMemStore()
	trials := everyOutcome("r1")
	s := mustBuild(t, store, testSpec("r1", len(trials)), each(trials...))
	if len(store.order) != 8 || store.order[7] != eval.ReportKey("r1", FileReport) {
		t.Fatalf("published %v: report.json must come last of 8", store.order)
	}
	for _, name := range tableFiles {
		if err := Verify(store.file(t, "r1", name)); err != nil {
			t.Error(err)
		}
	}
	if len(s.Harness.Files) != 7 {
		t.Errorf("report names %d files, want 7", len(s.Harness.Files))
	}
	for _, f := range s.Harness.Files {
		info, err := store.Stat(t.Context(), f.Key)
		if err != nil || info.SHA256 != f.SHA256 || info.Size != f.Size {
			t.Errorf("file %+v is stored as %+v, %v", f, info, err)
		}
	}
	rows := readRows(t, store.file(t, "r1", FileTrials))
	if len(rows) != len(trials) {
		t.Fatalf("%d trials, want %d", len(rows), len(trials))
	}
	want := map[string]string{
		"run_id": "r1", "dataset": "verified", "instance_id": "task-00", "repo": "owner/name", "language": "python", "difficulty": "<15 min fix",
		"agent": "predictions", "model": "vendor/model", "attempt": "1", "round": "1", "outcome": "resolved", "resolved": "true", "reward": "1",
		"profile": "swebench", "calibrated": "true", "f2p_passed": "1", "f2p_total": "1", "p2p_passed": "0", "p2p_total": "1",
		"score_functional": "0.5", "score_resource": "0.9", "score_security": "1", "score_maintainability": "0.7", "score_performance": "0.1",
		"tamper_flags": "[]", "limits_hit": "[]", "tries": "1", "network_policy": "none", "apply_method": "git-apply", "wall_s": "12.5", "cpu_s": "10",
		"queue_s": "1", "peak_memory_bytes": "1048576", "disk_bytes": "4096", "io_read_bytes": "1", "io_write_bytes": "2", "net_bytes": "0", "throttled_s": "0.25",
		"limit_cpu": "1", "limit_memory_bytes": "4294967296", "limit_wall_s": "1800", "tokens_in": "1000", "tokens_out": "50", "cost_usd": "0.25",
		"patch_sha256": strings.Repeat("a", 64), "patch_bytes": "120", "files_changed": "1", "lines_added": "3", "lines_removed": "0", "runtime": "runsc",
		"runtime_version": "1.0", "image_digest": "sha256:abc", "worker": "w1", "started_at": "2026-03-01T12:00:00.123456Z", "ended_at": "2026-03-01T12:01:30.123456Z",
		"cached": "false", "log_ref": "runs/r/log",
	}
	compareRow(t, rows[0], want)
	compareRow(t, rows[len(rows)-1], map[string]string{ // cancelled: nothing is known, and nothing is zero
		"run_id": "r1", "dataset": "verified", "instance_id": "task-13", "repo": "owner/name", "language": "python", "difficulty": "<15 min fix",
		"agent": "predictions", "model": "vendor/model", "attempt": "1", "round": "1", "outcome": "cancelled", "profile": "swebench", "tries": "1", "network_policy": "none",
		"limit_cpu": "1", "limit_memory_bytes": "4294967296", "limit_wall_s": "1800",
		"started_at": "2026-03-01T12:00:00.123456Z", "ended_at": "2026-03-01T12:01:30.123456Z", "cached": "false",
	})
	compareRow(t, readRows(t, store.file(t, "r1", FileTests))[1], map[string]string{
		"run_id": "r1", "instance_id": "task-00", "attempt": "1", "round": "1", "test": "tests/test_a.py::test_two[é]", "group": "P2P", "status": "MISSING",
	})
	compareRow(t, readRows(t, store.file(t, "r1", FileEvents))[0], map[string]string{
		"run_id": "r1", "instance_id": "task-00", "attempt": "1", "round": "1", "time": "2026-03-01T12:00:00.123456Z", "source": "host", "kind": "oom",
		"severity": "high", "detail": "none", "dropped": "0",
	})
	compareRow(t, readRows(t, store.file(t, "r1", FileRuns))[0], map[string]string{
		"run_id": "r1", "dataset": "verified", "dataset_digest": strings.Repeat("d", 64), "split": "test", "agent": "predictions", "model": "vendor/model",
		"profile": "swebench", "spec_digest": s.Harness.Run.SpecDigest, "harness_version": "0.1.0", "started_at": "2026-03-01T12:00:00.123456Z",
		"ended_at": "2026-03-01T12:10:00.123456Z", "tasks": "14", "resolved": "1", "unresolved": "1", "tests_errored": "1", "no_tests_ran": "1", "empty_patch": "1",
		"patch_rejected": "1", "patch_not_applied": "1", "timed_out": "1", "out_of_memory": "1", "out_of_disk": "1", "limit_exceeded": "1", "sandbox_died": "1",
		"infra_error": "1", "cancelled": "1",
	})
}

func compareRow(t *testing.T, got, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			t.Errorf("%s = %q (present: %v), want %q", k, g, ok, v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s = %q, want null", k, v)
		}
	}
}

func TestRowOrderDoesNotDependOnInputOrder(t *testing.T) {
	at := func(id string, attempt, round int) eval.TrialResult {
		r := trial("r1", id, eval.Unresolved)
		r.Attempt, r.Round = attempt, round
		return r
	}
	sorted := []eval.TrialResult{at("a", 1, 1), at("a", 1, 2), at("a", 2, 1), at("a", 10, 1), at("a-b", 1, 1), at("a.b", 1, 1), at("b", 1, 1)}
	shuffled := slices.Clone(sorted)
	slices.Reverse(shuffled)
	var got []string
	store := newMemStore()
	mustBuild(t, store, testSpec("r1", 4), each(shuffled...))
	for _, r := range readRows(t, store.file(t, "r1", FileTrials)) {
		got = append(got, r["instance_id"]+"/"+r["attempt"]+"/"+r["round"])
	}
	if want := []string{"a/1/1", "a/1/2", "a/2/1", "a/10/1", "a-b/1/1", "a.b/1/1", "b/1/1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	again := newMemStore()
	mustBuild(t, again, testSpec("r1", 4), each(sorted...))
	for _, name := range tableFiles {
		if string(store.objects[eval.ReportKey("r1", name)]) != string(again.objects[eval.ReportKey("r1", name)]) {
			t.Errorf("%s depends on the order of the input", name)
		}
	}
}

func TestZeroTrials(t *testing.T) {
	store := newMemStore()
	spec := testSpec("r0", 3)
	spec.Coverage.Missing = []string{"a", "b", "c"}
	s := mustBuild(t, store, spec, each())
	if s.Harness.Rates.All.Rate != nil || s.Harness.Rates.All.Of != 0 || len(s.IncompleteIDs) != 3 || s.TotalInstances != 3 || s.SubmittedInstances != 0 {
		t.Errorf("got %+v", s)
	}
	for _, name := range tableFiles {
		if err := Verify(store.file(t, "r0", name)); err != nil {
			t.Error(err)
		}
		want := 0
		if name == FileRuns {
			want = 1
		}
		if n := len(readRows(t, store.file(t, "r0", name))); n != want {
			t.Errorf("%s has %d rows, want %d", name, n, want)
		}
	}
	var b strings.Builder
	if err := RenderTable(&b, s, 80); err != nil || strings.Contains(b.String(), "NaN") {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestBadTrialsAreRefusedByName(t *testing.T) {
	other := trial("r2", "x", eval.Resolved)
	unfinished := trial("r1", "x", eval.Resolved)
	unfinished.Outcome = eval.OutcomeInvalid
	zeroth := trial("r1", "x", eval.Resolved)
	zeroth.Round = 0
	graded := trial("r1", "x", eval.Resolved)
	graded.Verdicts[0].Outcome = eval.OutcomeInvalid
	twin := trial("r1", "x", eval.Unresolved)
	for _, c := range []struct {
		name   string
		trials []eval.TrialResult
		want   string
	}{
		{"twice", []eval.TrialResult{trial("r1", "x", eval.Resolved), trial("r1", "a", eval.Resolved), twin}, "x attempt 1 round 1 is given twice"},
		{"other run", []eval.TrialResult{other}, `belongs to run "r2"`},
		{"no outcome", []eval.TrialResult{unfinished}, "x attempt 1 round 1 has no outcome"},
		{"round 0", []eval.TrialResult{zeroth}, "count from 1"},
		{"verdict without outcome", []eval.TrialResult{graded}, "the verdict of rules"},
		{"bad id", []eval.TrialResult{trial("r1", "../x", eval.Resolved)}, "is refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newMemStore()
			_, err := Build(t.Context(), store, testSpec("r1", 1), each(c.trials...), Options{TempDir: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if len(store.objects) != 0 {
				t.Errorf("a refused build published %v", store.order)
			}
		})
	}
}

func TestFailureLeavesTheFormerReport(t *testing.T) {
	store := newMemStore()
	spec := testSpec("r1", 1)
	mustBuild(t, store, spec, each(trial("r1", "x", eval.Unresolved)))
	former := string(store.objects[eval.ReportKey("r1", FileReport)])

	boom := errors.New("boom")
	broken := func(yield func(eval.TrialResult, error) bool) {
		_ = yield(trial("r1", "x", eval.Resolved), nil) && yield(eval.TrialResult{}, boom)
	}
	temp := t.TempDir()
	if _, err := Build(t.Context(), store, spec, broken, Options{TempDir: temp}); !errors.Is(err, boom) {
		t.Errorf("got %v, want the error of the input", err)
	}
	store.fail = func(key string) error {
		if strings.HasSuffix(key, FileSummary) {
			return boom
		}
		return nil
	}
	if _, err := Build(t.Context(), store, spec, each(trial("r1", "x", eval.Resolved)), Options{TempDir: temp}); !errors.Is(err, boom) {
		t.Errorf("got %v, want the error of the store", err)
	}
	if string(store.objects[eval.ReportKey("r1", FileReport)]) != former {
		t.Error("the former report.json is gone")
	}
	if s, err := ReadSummary(t.Context(), store, "r1"); err != nil || s.UnresolvedInstances != 1 {
		t.Errorf("former report reads %+v, %v", s, err)
	}
	if _, err := ReadSummary(t.Context(), store, "other"); !errors.Is(err, artifacts.ErrNotFound) {
		t.Errorf("got %v, want not found", err)
	}
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestHostileText puts bytes of every kind into every text field of a trial.
func TestHostileText(t *testing.T) {
	bad := "a\xff\x00\u202e\x1b[31m|`<b>@x\r\n::error::##vso[x] " + strings.Repeat("é", 5000)
	r := trial("r1", "x", eval.Unresolved)
	r.Repo, r.Language, r.Difficulty, r.Reason, r.ErrorClass, r.ErrorMessage, r.Blame = bad, bad, bad, bad, bad, bad, eval.Blame(bad)
	r.Patch = eval.PatchFacts{SHA256: bad, TamperFlags: []string{bad, "b", bad}, ApplyMethod: bad}
	r.Exec = eval.ExecFacts{Runtime: bad, RuntimeVersion: bad, ImageDigest: bad, Worker: bad, Network: bad, LimitsHit: []string{bad}}
	r.Verdicts = []eval.Verdict{{Recipe: bad, Rules: bad, Outcome: eval.Unresolved, Flags: []string{bad}, Official: &eval.OfficialReport{
		InfraReason: bad, TestsStatus: &eval.TestsStatus{FailToPass: eval.SuccessFailure{Success: []string{bad}}}}}}
	r.Tests = []eval.TestResult{{Name: bad, Group: bad, Status: bad, RawStatus: bad, Seconds: some(math.NaN())}, {Name: "bytes:x"}, {Name: "t\\xff"}, {Name: "t\xff\\"}}
	r.Phases = []eval.Phase{{Name: bad, Seconds: math.Inf(1)}, {Name: "p", Seconds: -3}}
	r.Events = []eval.Event{{Source: bad, Kind: bad, Severity: bad, Detail: bad}}
	r.Artifacts = map[string]eval.Ref{eval.FileLog: {Key: bad}, bad: {Key: bad}}
	r.Scores = eval.Scores{Functional: some(math.NaN()), Resource: some(math.Inf(1)), Security: some(math.Inf(-1)), Performance: some(0.5)}
	r.Usage.WallSeconds, r.Limits.CPUs = some(math.NaN()), math.NaN()
	infra := trial("r1", "y", eval.InfraError)
	infra.ErrorMessage = bad

	spec := testSpec("r1", 2)
	spec.Dataset, spec.Agent, spec.Model = bad, bad, bad
	spec.Coverage.Unknown, spec.Coverage.Malformed = []string{bad}, []string{bad}

	store := newMemStore()
	s := mustBuild(t, store, spec, each(r, infra))
	for _, name := range tableFiles {
		if err := Verify(store.file(t, "r1", name)); err != nil {
			t.Error(err)
		}
	}
	if r.Tests[0].Name != bad || r.Patch.TamperFlags[0] != bad {
		t.Error("the caller's record was changed")
	}
	rows := readRows(t, store.file(t, "r1", FileTests))
	for i, want := range []string{"", "bytes:x", "t\\xff", "t\xff\\"} {
		if got := OriginalText(rows[i]["test"]); i > 0 && got != want {
			t.Errorf("test %d reads back as %q, want %q", i, got, want)
		}
	}
	if rows[2]["test"] != "t\\xff" {
		t.Errorf("valid text is stored as %q, want it unchanged", rows[2]["test"])
	}
	if name := rows[0]["test"]; len(name) > maxName*2 || !strings.HasPrefix(name, `bytes:a\xff`) || !strings.Contains(name, "…[cut, 10038 bytes, sha256 ") {
		t.Errorf("long name is stored as %.40q ... %q", name, name[max(0, len(name)-60):])
	}
	if _, ok := rows[0]["seconds"]; ok {
		t.Error("NaN was written")
	}
	for _, p := range readRows(t, store.file(t, "r1", FilePhases)) {
		if v, ok := p["seconds"]; ok {
			t.Errorf("phase of unknown length is %s", v)
		}
	}
	row := readRows(t, store.file(t, "r1", FileTrials))[0]
	for _, k := range []string{"score_functional", "score_resource", "score_security", "wall_s", "limit_cpu"} {
		if v, ok := row[k]; ok {
			t.Errorf("%s = %s, want null", k, v)
		}
	}

	md := string(store.objects[eval.ReportKey("r1", FileSummary)])
	js := string(store.objects[eval.ReportKey("r1", FileReport)])
	var table strings.Builder
	if err := RenderTable(&table, s, 60); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"summary.md": md, "report.json": js, "table": table.String()} {
		for _, bad := range []string{"\x1b", "\u202e", "\x00", "\r", "##vso", "\n::", "\xff"} {
			if strings.Contains(out, bad) {
				t.Errorf("%s contains %q", name, bad)
			}
		}
	}
	for _, bad := range []string{"<b>", "@x", "::error"} {
		if strings.Contains(md, bad) {
			t.Errorf("summary.md contains %q", bad)
		}
	}
	for i := range len(js) {
		if js[i] >= 0x7f {
			t.Fatalf("report.json has byte %#x at %d, want ASCII only", js[i], i)
		}
	}
}

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

func TestOtherTestsAreSortedByName(t *testing.T) {
	r := trial("r1", "x", eval.Resolved)
	r.Tests = []eval.TestResult{{Name: "z", Group: eval.GroupOther}, {Name: "q", Group: eval.GroupF2P}, {Name: "b", Group: eval.GroupOther}, {Name: "a", Group: eval.GroupP2P}}
	store := newMemStore()
	mustBuild(t, store, testSpec("r1", 1), each(r))
	var got []string
	for _, row := range readRows(t, store.file(t, "r1", FileTests)) {
		got = append(got, row["test"])
	}
	if want := []string{"q", "a", "b", "z"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzStoredText(f *testing.F) {
	for _, s := range []string{"", "plain", "bytes:x", "a\\xff", "a\xff\\", "\\\\x41\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := OriginalText(storedText(s, len(s))); got != s {
			t.Errorf("%q comes back as %q", s, got)
		}
		if cut := storedText(s, 5); !utf8.ValidString(cut) || len(cut) > 5*4+len(bytesMark)+80 {
			t.Errorf("%q is cut to %q", s, cut)
		}
	})
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

func TestDiffNonVolatile(t *testing.T) {
	build := func(run string, change func(*eval.TrialResult)) *memStore {
		var trials []eval.TrialResult
		for i := range 40 {
			r := trial(run, fmt.Sprintf("task-%02d", i), eval.Resolved)
			change(&r)
			trials = append(trials, r)
		}
		store := newMemStore()
		mustBuild(t, store, testSpec(run, 40), each(trials...))
		return store
	}
	a := build("r1", func(*eval.TrialResult) {})
	b := build("r2", func(r *eval.TrialResult) {
		later := r.StartedAt.Add(48 * time.Hour)
		r.StartedAt, r.EndedAt, r.Tries, r.Cached = later, later.Add(time.Second), 7, true
		r.Exec.Worker, r.Scores.Resource, r.Scores.Performance, r.Agent.CostUSD = "other", nil, some(0.3), nil
		r.Usage = eval.Usage{}
		r.Artifacts = nil
		r.Reason = "took another way"
		r.Tests[0].Seconds = nil
		r.Phases[0].Seconds, r.Phases[0].StartedAt = 9, later
		r.Events[0].Time, r.Events[0].Detail, r.Events[0].Dropped = later, "pid 7", 3
	})
	for _, name := range tableFiles {
		diffs, err := DiffNonVolatile(a.file(t, "r1", name), b.file(t, "r2", name))
		if err != nil || len(diffs) != 0 {
			t.Errorf("%s: %v, %v", name, diffs, err)
		}
		sameChunks(t, a.file(t, "r1", name), b.file(t, "r2", name))
	}
	c := build("r3", func(r *eval.TrialResult) {
		if r.InstanceID == "task-07" {
			r.Tests[1].Status = "PASSED"
			r.Exec.LimitsHit = []string{"memory"}
			r.Patch.ApplyMethod = ""
		}
	})
	diffs, err := DiffNonVolatile(a.file(t, "r1", FileTests), c.file(t, "r3", FileTests))
	if err != nil || len(diffs) != 1 || diffs[0] != (Difference{"status", 15, "MISSING", "PASSED"}) {
		t.Errorf("got %v, %v", diffs, err)
	}
	diffs, err = DiffNonVolatile(a.file(t, "r1", FileTrials), c.file(t, "r3", FileTrials))
	if err != nil || len(diffs) != 2 || diffs[1].Column != "apply_method" && diffs[0].Column != "apply_method" {
		t.Errorf("got %v, %v", diffs, err)
	}
	diffs, err = DiffNonVolatile(a.file(t, "r1", FileTests), a.file(t, "r1", FilePhases))
	if err != nil || len(diffs) == 0 {
		t.Errorf("different tables: %v, %v", diffs, err)
	}
}

// sameChunks compares the stored bytes of the columns that are not volatile.
func sameChunks(t *testing.T, pathA, pathB string) {
	t.Helper()
	chunks := func(path string) map[string]string {
		tr, err := openTable(path)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.close()
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for g := range tr.reader.NumRowGroups() {
			for c := range tr.reader.MetaData().Schema.NumColumns() {
				name := tr.reader.MetaData().Schema.Column(c).ColumnPath()[0]
				if f, _ := tr.schema.FieldsByName(name); isVolatile(f[0]) {
					continue
				}
				meta, err := tr.reader.MetaData().RowGroup(g).ColumnChunk(c)
				if err != nil {
					t.Fatal(err)
				}
				start := meta.DataPageOffset()
				if meta.HasDictionaryPage() && meta.DictionaryPageOffset() > 0 {
					start = min(start, meta.DictionaryPageOffset())
				}
				out[fmt.Sprint(name, g)] = string(raw[start : start+meta.TotalCompressedSize()])
			}
		}
		return out
	}
	a, b := chunks(pathA), chunks(pathB)
	if len(a) != len(b) || len(a) == 0 {
		t.Errorf("%s: %d chunks against %d", filepath.Base(pathA), len(a), len(b))
	}
	for k := range a {
		if a[k] != b[k] {
			t.Errorf("%s: column and row group %s are stored as different bytes", filepath.Base(pathA), k)
		}
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	store := newMemStore()
	var trials []eval.TrialResult
	for i := range 60 {
		trials = append(trials, trial("r1", fmt.Sprintf("task-%03d", i), eval.Resolved))
	}
	mustBuild(t, store, testSpec("r1", 60), each(trials...))
	raw := store.objects[eval.ReportKey("r1", FileTests)]
	dir := t.TempDir()
	found, silent := 0, 0
	for i := 0; i < len(raw); i += 13 {
		damaged := slices.Clone(raw)
		damaged[i] ^= 0x55
		path := filepath.Join(dir, "t.parquet")
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Verify(path); err != nil {
			found++
		} else {
			silent++
		}
	}
	// What stays silent has no part in the values: statistics, descriptions, padding of the schema.
	if found < 3*silent {
		t.Errorf("%d damages found, %d not", found, silent)
	}
	for _, cut := range []int{0, 4, len(raw) / 2, len(raw) - 1} {
		path := filepath.Join(dir, "cut.parquet")
		if err := os.WriteFile(path, raw[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Verify(path); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %v", cut, err)
		}
	}
}
