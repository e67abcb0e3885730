package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"harness/artifacts"
)

func testBadKeys(t *testing.T, s artifacts.Store) {
	for _, key := range []string{
		"", "/", "/abs", "a/", "a//b", ".", "..", "../x", "a/../b", "a/./b", "a/..", "./a",
		"nul\x00", "line\nbreak", "tab\t", "esc\x1b[2J", "del\x7f", "bad\xff\xfeutf8", `back\slash`,
		"bidi\u202emark", "zero\u200bwidth", "sur\ufffd", strings.Repeat("a/", 450) + "a",
		"x/" + strings.Repeat("n", 256), artifacts.ReservedDir, artifacts.ReservedDir + "/x",
	} {
		ctx := t.Context()
		_, err := s.Put(ctx, key, strings.NewReader("x"), artifacts.PutOptions{})
		wantErr(t, fmt.Sprintf("Put(%.20q)", key), err, artifacts.ErrBadKey)
		_, _, err = s.Get(ctx, key)
		wantErr(t, fmt.Sprintf("Get(%.20q)", key), err, artifacts.ErrBadKey)
		_, err = s.Stat(ctx, key)
		wantErr(t, fmt.Sprintf("Stat(%.20q)", key), err, artifacts.ErrBadKey)
		wantErr(t, fmt.Sprintf("Delete(%.20q)", key), s.Delete(ctx, key), artifacts.ErrBadKey)
	}
	for _, prefix := range []string{"/", "../", "a//", "a/../", "x\x00", artifacts.ReservedDir + "/"} {
		for _, err := range s.List(t.Context(), prefix) {
			wantErr(t, fmt.Sprintf("List(%q)", prefix), err, artifacts.ErrBadKey)
		}
	}
	for _, prefix := range []string{"/", "noslash", "../", "a//"} {
		n := 0
		for _, err := range s.Dirs(t.Context(), prefix) {
			n++
			wantErr(t, fmt.Sprintf("Dirs(%q)", prefix), err, artifacts.ErrBadKey)
		}
		if n != 1 {
			t.Errorf("Dirs(%q) yielded %d times, want one error", prefix, n)
		}
	}
	wantKeys(t, s, "")
}

// Keys that are legal and that careless code mixes up or escapes wrongly.
func testOddKeys(t *testing.T, s artifacts.Store) {
	keys := []string{
		"...", "..a", "a..b", "-rf", "~", "a b", " lead", "trail ", "%2e%2e", "%2F", "q?x=1&y", "h#ash", "plus+sign",
		"quote\"'`$(x)", "star*[a]?{b}", "Case", "case", "é", "日本語/キー", "emoji😀", "semi;colon:at@", "<xml>&amp;", "sub/.hidden",
		"deep/" + artifacts.ReservedDir + "/x",
		strings.Repeat("n", artifacts.MaxPartBytes),
		strings.Repeat("long/", 179) + "x",
	}
	for _, k := range keys {
		put(t, s, k, "of "+k)
	}
	for _, k := range keys {
		wantGet(t, s, k, "of "+k)
	}
	slices.Sort(keys)
	wantKeys(t, s, "", keys...)
	for _, k := range keys {
		if err := s.Delete(t.Context(), k); err != nil {
			t.Errorf("Delete(%q): %v", k, err)
		}
	}
	wantKeys(t, s, "")
}

// A folder can't hold "a" and "a/b" both. A driver that can't either says so and
// leaves what is there; a driver that can keeps both.
func testObjectBelowObject(t *testing.T, s artifacts.Store) {
	put(t, s, "a", "object")
	if _, err := s.Put(t.Context(), "a/b/c", strings.NewReader("x"), artifacts.PutOptions{}); err != nil {
		wantErr(t, "Put below an object", err, artifacts.ErrBadKey)
	}
	put(t, s, "f/x", "below")
	for _, opts := range []artifacts.PutOptions{{}, {CreateOnly: true}} {
		if _, err := s.Put(t.Context(), "f", strings.NewReader("x"), opts); err != nil && !opts.CreateOnly {
			wantErr(t, "Put over a folder", err, artifacts.ErrBadKey)
		}
	}
	wantGet(t, s, "a", "object")
	wantGet(t, s, "f/x", "below")
}

func testList(t *testing.T, s artifacts.Store) {
	// Key order is byte order of whole keys: '-' and '.' come before '/', digits after.
	keys := []string{"r/a-b", "r/a.b", "r/a/x", "r/a/y", "r/a0", "r/b/1/2/3", "ra", "s", "é"}
	for _, k := range slices.Backward(keys) {
		put(t, s, k, k)
	}
	wantKeys(t, s, "", keys...)
	wantKeys(t, s, "r/", keys[:6]...)
	wantKeys(t, s, "r", keys[:7]...)
	wantKeys(t, s, "r/a", keys[:5]...)
	wantKeys(t, s, "r/a/", "r/a/x", "r/a/y")
	wantKeys(t, s, "r/a/x", "r/a/x")
	wantKeys(t, s, "r/a/x/")
	wantKeys(t, s, "r/b/1", "r/b/1/2/3")
	wantKeys(t, s, "none")
	wantKeys(t, s, "none/deep/")
	for info, err := range s.List(t.Context(), "s") {
		if err != nil || info.Size != 1 || info.Modified.IsZero() {
			t.Errorf("List: %+v, %v", info, err)
		}
	}
}

func testListStops(t *testing.T, s artifacts.Store) {
	for i := range 12 {
		put(t, s, fmt.Sprintf("d%d/o", i), "x")
	}
	n := 0
	for _, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			break
		}
	}
	for _, err := range s.Dirs(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 5 {
			break
		}
	}
	if n != 5 {
		t.Errorf("stopped after %d", n)
	}
}

func testDirs(t *testing.T, s artifacts.Store) {
	for _, k := range []string{"runs/b/spec.json", "runs/a/tasks/x/1", "runs/a/tasks/y/1", "runs/a.b/spec.json", "runs/loose", "top"} {
		put(t, s, k, "x")
	}
	wantDirs(t, s, "", "runs")
	wantDirs(t, s, "runs/", "a.b", "a", "b") // key order: "a.b/" before "a/"
	wantDirs(t, s, "runs/a/tasks/", "x", "y")
	wantDirs(t, s, "runs/a/tasks/x/")
	wantDirs(t, s, "runs/loose/")
	wantDirs(t, s, "none/")
}
