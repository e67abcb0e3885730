package reports

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"harness/eval"
)

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
