package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

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
