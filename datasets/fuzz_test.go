package datasets_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"unicode/utf8"

	"harness/datasets"
)

// Whatever a file holds: no panic, and a row that is accepted survives its canonical form.
func FuzzRows(f *testing.F) {
	row, err := json.Marshal(rowWith(map[string]any{"limits": map[string]any{"cpus": 1}, "frozen": map[string]any{"note": "n"}}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(row)
	f.Add(append(append(bytes.Clone(row), '\n'), row...))
	f.Add([]byte(`{"instance_id":"a","repo":"a/b","base_commit":"","patch":"","test_patch":"","FAIL_TO_PASS":"[]","PASS_TO_PASS":["\ud83d\ude00"]}`))
	f.Add([]byte(`{"instance_id":"a","FAIL_TO_PASS":"[\"\\ud800\"]"}`))
	for _, name := range []string{"multi", "live", "multilang", "rebench", "rebench2", "pro", "proinfo", "gym", "gymscripts"} {
		row, err := json.Marshal(familyRow(name, nil))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(row)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "tasks.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		ds, problems, err := datasets.Validate(t.Context(), path, datasets.Options{})
		if err != nil {
			return
		}
		for _, p := range problems {
			if p.String() == "" || p.Reason == "" {
				t.Fatalf("empty problem %+v", p)
			}
		}
		for i := range ds.Tasks {
			c, err := datasets.CanonicalJSON(&ds.Tasks[i])
			if err != nil || !utf8.Valid(c) {
				t.Fatalf("%s: %v", c, err)
			}
			back, err := datasets.ParseTask(c)
			if err != nil || !reflect.DeepEqual(back, ds.Tasks[i]) {
				t.Fatalf("canonical form %s reads as %+v, %v", c, back, err)
			}
		}
	})
}

func FuzzListFile(f *testing.F) {
	f.Add([]byte(`[{"instance_id":"a"},{}]`))
	f.Add([]byte(`[{"a":[}]`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "tasks.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := datasets.Load(t.Context(), path, datasets.Options{MaxRecordBytes: 1 << 10}); err == nil && !json.Valid(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
			t.Fatalf("%q was loaded", data)
		} else if errors.As(err, new(*datasets.LoadError)) {
			_ = err.Error()
		}
	})
}
