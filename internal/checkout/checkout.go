// Package checkout tells tests where the checkout is that they run in, and where
// the real data lies beside it. It imports nothing heavy, so every package's
// tests can use it.
package checkout

import (
	"os"
	"path/filepath"
	"testing"
)

// Root returns the folder of the checkout: the one that holds go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("the tests do not run inside a checkout: no go.mod above them")
		}
	}
}

// SharedData returns the path of a file or folder of the real data beside the
// checkout. The test is skipped when the data is not there.
func SharedData(t testing.TB, name ...string) string {
	t.Helper()
	data := filepath.Join(Root(t), "..", "shared", "data")
	if _, err := os.Stat(data); err != nil {
		t.Skipf("needs the folder of real data beside the checkout: %v", err)
	}
	return filepath.Join(append([]string{data}, name...)...)
}
