package datasets_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/datasets"
	"harness/eval"
)

// Whatever an Arrow file holds: no panic, and what is accepted has a canonical form.
func FuzzArrow(f *testing.F) {
	whole := arrowStream(f, numbered(1, 2), numbered(3, 1))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) { accepted(t, filepath.Join(dir, "tasks.arrow"), data) })
}

// accepted wants of a file that loads that its tasks have the digest it says.
func accepted(t *testing.T, path string, data []byte) {
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	ds, _, err := datasets.Validate(t.Context(), path, datasets.Options{MaxBytes: 16 << 20})
	if err != nil {
		return
	}
	if d, err := datasets.Digest(ds.Tasks); err != nil || d != ds.Digest {
		t.Fatalf("digest %s, loaded with %s: %v", d, ds.Digest, err)
	}
}

// Likewise for Parquet.
func FuzzParquet(f *testing.F) {
	var whole bytes.Buffer
	task := eval.Task{InstanceID: "octo__calc-1", Repo: "octo/calc", BaseCommit: strings.Repeat("a", 40), FailToPass: []string{"t"}}
	if err := datasets.WriteParquet(&whole, &datasets.Dataset{Name: "x", Tasks: []eval.Task{task}}); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) { accepted(t, filepath.Join(dir, "tasks.parquet"), data) })
}
