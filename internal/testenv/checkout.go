package testenv

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

// ImageCache makes the data folder home use the images that are built on this
// machine already, and leave there what it builds: a base takes a minute to build.
func ImageCache(t testing.TB, home string) {
	t.Helper()
	if err := os.MkdirAll(cacheDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(cacheDir(), filepath.Join(home, "cache")); err != nil {
		t.Fatal(err)
	}
}
