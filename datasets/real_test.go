package datasets_test

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"harness/datasets"
	"harness/eval"
	"harness/internal/checkout"
	"harness/scoring/logparse"
)

// Every row of every file of the real data loads, or what is wrong with it is
// named here. The numbers of rows are those of the data's own list.
func TestRealDatasetsLoad(t *testing.T) {
	data := checkout.SharedData(t)
	tests := []struct {
		file     string
		rows     int
		family   string
		warnings int
		runnable int
		problems []string // of rows that do not load; "ID: FIELD: part of the reason"
	}{
		{"instances/official_202602_SWE-bench_Multilingual_test.jsonl.zst", 300, "", 1, 300, nil},
		{"instances/official_202602_SWE-bench_Verified_test.jsonl.zst", 500, "", 0, 500, nil},
		{"instances/official_SWE-bench_Lite_dev.jsonl.zst", 23, "", 0, 23, nil},
		{"instances/official_SWE-bench_Lite_test.jsonl.zst", 300, "", 0, 300, nil},
		{"instances/official_SWE-bench_Multilingual_test.jsonl.zst", 300, "", 1, 300, nil},
		{"instances/official_SWE-bench_Multimodal_dev.jsonl.zst", 102, "", 0, 89, nil},
		{"instances/official_SWE-bench_Verified_test.jsonl.zst", 500, "", 0, 500, nil},
		{"instances/official_SWE-bench_dev.jsonl.zst", 225, "", 0, 225, nil},
		{"instances/official_multimodal_tasks_repo.jsonl.zst", 612, "", 0, 543, nil},
		{"release-pinned/tasks.jsonl", 104, "", 0, 104, nil},
		{"instances/multi_swe_bench_java.jsonl.zst", 50, eval.FamilyMultiSWEBench, 0, 50, nil},
		{"instances/swe_rebench_v2_sample.jsonl.zst", 1, eval.FamilyRebench2, 0, 1, nil},
		// These have tests only: each row lacks a gold patch, and 561 have no PASS_TO_PASS, which is no defect.
		{"instances/swebench_pro_instance_info_scaleapi.jsonl.zst", 1000, eval.FamilyPro, 1000, 0, nil},
		{"instances/swebench_pro_via_thecontextlab.jsonl.zst", 731, eval.FamilyPro, 0, 0, []string{
			"instance_protonmail__webclients-4817fe14e1356789c90165c2a53f6a043c2c5f83: patch: is missing",
			"instance_protonmail__webclients-4817fe14e1356789c90165c2a53f6a043c2c5f83: test_patch: is missing",
		}},
	}
	for _, tt := range tests {
		t.Run(filepath.Base(tt.file), func(t *testing.T) {
			ds, problems, err := datasets.Validate(t.Context(), filepath.Join(data, tt.file), datasets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			bad := expectProblems(t, problems, tt.problems)
			if len(ds.Tasks)+bad != tt.rows || len(ds.Warnings) != tt.warnings {
				t.Errorf("%d tasks, %d bad rows, %d warnings; want %d rows, %d warnings", len(ds.Tasks), bad, len(ds.Warnings), tt.rows, tt.warnings)
			}
			runnable := 0
			for i := range ds.Tasks {
				task := &ds.Tasks[i]
				if task.Family != tt.family {
					t.Fatalf("%s is of family %q, want %q", task.InstanceID, task.Family, tt.family)
				}
				if datasets.Runnable(task) != nil {
					continue
				}
				runnable++
				if _, ok := logparse.Lookup(task.LogParser); !ok {
					t.Errorf("%s: parser %q is not known", task.InstanceID, task.LogParser)
				}
			}
			if runnable != tt.runnable {
				t.Errorf("%d tasks can be executed, want %d; the first: %v", runnable, tt.runnable, datasets.Runnable(&ds.Tasks[0]))
			}
		})
	}
}

// expectProblems compares problems with what is expected and returns how many
// rows they are of.
func expectProblems(t *testing.T, problems []datasets.Problem, want []string) (rows int) {
	t.Helper()
	seen := make(map[int]bool)
	for i, p := range problems {
		seen[p.Row] = true
		got := p.InstanceID + ": " + p.Field + ": " + p.Reason
		if i >= len(want) {
			t.Errorf("problem that is not expected: %v", p)
		} else if head, part, _ := cutLast(want[i], ": "); !strings.HasPrefix(got, head+": ") || !strings.Contains(p.Reason, part) {
			t.Errorf("problem %q, want %q", got, want[i])
		}
	}
	if len(problems) < len(want) {
		t.Errorf("%d problems, want %d", len(problems), len(want))
	}
	return len(seen)
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// The examples of NeMo Gym mix families, which is told of each row that differs
// from the first. With every family in a file of its own they load, but for three
// that have no test lists.
func TestRealMixedFile(t *testing.T) {
	path := checkout.SharedData(t, "instances", "nemo_gym_examples.jsonl.zst")
	_, problems, err := datasets.Validate(t.Context(), path, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mixed := make(map[int]string) // family by line
	for _, p := range problems {
		if family, rest, ok := strings.Cut(strings.TrimPrefix(p.Reason, "the row is of family "), ", the one on line 1 of swe-bench: "); ok && strings.HasPrefix(rest, "a dataset is of one family") {
			mixed[p.Line] = family
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	rows := 0
	for line := range bytes.Lines(text) {
		rows++
		files[mixed[rows]] = append(files[mixed[rows]], line...)
	}
	tests := []struct {
		family             string // as messages name it; "" is SWE-bench's own
		rows, tasks, ready int
		problems           map[string]int
	}{
		{"", 25, 25, 0, nil},
		{eval.FamilyGym, 13, 10, 5, map[string]int{"the field is missing": 6}},
		{eval.FamilyPro, 5, 5, 5, nil},
	}
	if rows != 43 || len(files) != len(tests) {
		t.Errorf("%d rows of %d families", rows, len(files))
	}
	for _, tt := range tests {
		path := write(t, "rows.jsonl", files[tt.family])
		ds, problems, err := datasets.Validate(t.Context(), path, datasets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ready := 0
		for i := range ds.Tasks {
			if datasets.Runnable(&ds.Tasks[i]) == nil {
				ready++
			}
		}
		if n := bytes.Count(files[tt.family], []byte("\n")); n != tt.rows || len(ds.Tasks) != tt.tasks || ready != tt.ready {
			t.Errorf("%q: %d rows, %d tasks, %d can be executed; want %d, %d, %d", tt.family, n, len(ds.Tasks), ready, tt.rows, tt.tasks, tt.ready)
		}
		seen := make(map[string]int)
		for _, p := range problems {
			reason, _, _ := strings.Cut(p.Reason, ",")
			seen[reason]++
		}
		if !maps.Equal(seen, tt.problems) {
			t.Errorf("%q: problems %v, want %v", tt.family, problems, tt.problems)
		}
	}
}

// The 500 rows of SWE-bench Verified are to be loaded and checked in 150 ms.
func BenchmarkLoadVerified(b *testing.B) {
	path := filepath.Join(checkout.SharedData(b), "instances", "official_SWE-bench_Verified_test.jsonl.zst")
	for b.Loop() {
		ds, err := datasets.Load(b.Context(), path, datasets.Options{})
		if err != nil || len(ds.Tasks) != 500 {
			b.Fatal(len(ds.Tasks), err)
		}
	}
}
