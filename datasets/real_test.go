package datasets_test

import (
	"errors"
	"path/filepath"
	"testing"

	"harness/datasets"
	"harness/internal/checkout"
)

func TestRealDatasetsLoad(t *testing.T) {
	data := checkout.SharedData(t)
	tests := []struct {
		file     string
		rows     int
		warnings int
	}{
		{"instances/official_202602_SWE-bench_Multilingual_test.jsonl.zst", 300, 1},
		{"instances/official_202602_SWE-bench_Verified_test.jsonl.zst", 500, 0},
		{"instances/official_SWE-bench_Lite_dev.jsonl.zst", 23, 0},
		{"instances/official_SWE-bench_Lite_test.jsonl.zst", 300, 0},
		{"instances/official_SWE-bench_Multilingual_test.jsonl.zst", 300, 1},
		{"instances/official_SWE-bench_Multimodal_dev.jsonl.zst", 102, 0},
		{"instances/official_SWE-bench_Verified_test.jsonl.zst", 500, 0},
		{"instances/official_SWE-bench_dev.jsonl.zst", 225, 0},
		{"instances/official_multimodal_tasks_repo.jsonl.zst", 612, 0},
		{"release-pinned/tasks.jsonl", 104, 0},
	}
	for _, tt := range tests {
		t.Run(filepath.Base(tt.file), func(t *testing.T) {
			ds, err := datasets.Load(t.Context(), filepath.Join(data, tt.file), datasets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(ds.Tasks) != tt.rows || len(ds.Warnings) != tt.warnings {
				t.Errorf("%d tasks, %d warnings %v; want %d, %d", len(ds.Tasks), len(ds.Warnings), ds.Warnings, tt.rows, tt.warnings)
			}
			for i := range ds.Tasks {
				if err := datasets.Runnable(&ds.Tasks[i]); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestRealForeignFamilies(t *testing.T) {
	data := checkout.SharedData(t)
	for file, family := range map[string]string{
		"multi_swe_bench_java.jsonl.zst":                "Multi-SWE-bench",
		"swe_rebench_v2_sample.jsonl.zst":               "SWE-rebench",
		"swebench_pro_instance_info_scaleapi.jsonl.zst": "SWE-bench Pro",
		"swebench_pro_via_thecontextlab.jsonl.zst":      "SWE-bench Pro",
	} {
		_, err := datasets.Load(t.Context(), filepath.Join(data, "instances", file), datasets.Options{})
		var fe *datasets.FamilyError
		if !errors.As(err, &fe) || fe.Family != family {
			t.Errorf("%s: error is %v, want a family error naming %s", file, err, family)
			continue
		}
		t.Log(err)
	}
	// A mixed file is a list of bad rows, not another family.
	_, err := datasets.Load(t.Context(), filepath.Join(data, "instances", "nemo_gym_examples.jsonl.zst"), datasets.Options{})
	if !errors.As(err, new(*datasets.LoadError)) {
		t.Errorf("mixed file: %v", err)
	}
	t.Log(err)
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
