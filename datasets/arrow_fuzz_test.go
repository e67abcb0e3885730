package datasets_test

import (
	"os"
	"path/filepath"
	"testing"

	"harness/datasets"
)

// Whatever an Arrow file holds: no panic, and what is accepted has a canonical form.
func FuzzArrow(f *testing.F) {
	whole := arrowStream(f, numbered(1, 2), numbered(3, 1))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "tasks.arrow")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		ds, _, err := datasets.Validate(t.Context(), path, datasets.Options{})
		if err != nil {
			return
		}
		if d, err := datasets.Digest(ds.Tasks); err != nil || d != ds.Digest {
			t.Fatalf("digest %s, loaded with %s: %v", d, ds.Digest, err)
		}
	})
}
