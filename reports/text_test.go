package reports

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"harness/eval"
)

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
