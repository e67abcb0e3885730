package datasets_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"harness/datasets"
)

func TestCalibrationPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tasks.jsonl", "Verified.test.parquet", "dataset.parquet"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path string
		want []string
	}{
		{"", []string{"calibration.parquet"}},
		{"tasks.jsonl", []string{"tasks.calibration.parquet", "calibration.parquet"}},
		{"Verified.test.parquet", []string{"Verified.calibration.parquet", "calibration.parquet"}},
		{"dataset.parquet", []string{"calibration.parquet"}},
		{"absent.parquet", nil},
		{"hf://org/name", nil},
	} {
		var want []string
		for _, w := range c.want {
			want = append(want, filepath.Join(dir, w))
		}
		path := filepath.Join(dir, c.path)
		if got := datasets.CalibrationPaths(path); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", c.path, got, want)
		}
	}
}

// A folder's dataset is found as it was before its calibration came to lie there.
func TestCalibrationIsNoDataset(t *testing.T) {
	dir := t.TempDir()
	row := `{"instance_id":"a__b-1","repo":"a/b","base_commit":"` + strings.Repeat("a", 40) + `","patch":"","test_patch":"","FAIL_TO_PASS":["t"],"PASS_TO_PASS":[]}` + "\n"
	for name, data := range map[string]string{"test.jsonl": row, "calibration.parquet": "PAR1", "test.calibration.parquet": "PAR1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ds, err := datasets.Load(t.Context(), dir, datasets.Options{})
	if err != nil || len(ds.Tasks) != 1 || filepath.Base(ds.Path) != "test.jsonl" {
		t.Errorf("loaded %+v, %v", ds, err)
	}
}
