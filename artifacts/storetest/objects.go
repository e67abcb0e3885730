package storetest

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"harness/artifacts"
)

func testRoundTrip(t *testing.T, s artifacts.Store) {
	for key, data := range map[string]string{
		"empty":         "",
		"one":           "x",
		"a/b/c/deep":    "some text\n",
		"bytes/nul":     "\x00\xff\x00",
		"medium/stream": noise(3<<20, 1),
	} {
		before := time.Now().Add(-time.Hour)
		info, err := s.Put(t.Context(), key, onlyReader{strings.NewReader(data)}, artifacts.PutOptions{ContentType: "text/plain"})
		if err != nil {
			t.Fatalf("Put(%q): %v", key, err)
		}
		if info.Key != key || info.Size != int64(len(data)) || info.SHA256 != sum(data) {
			t.Errorf("Put(%q) = %+v, want size %d and sha256 %s", key, info, len(data), sum(data))
		}
		wantGet(t, s, key, data)

		st, err := s.Stat(t.Context(), key)
		if err != nil {
			t.Fatalf("Stat(%q): %v", key, err)
		}
		if st.Key != key || st.Size != int64(len(data)) || st.SHA256 != "" && st.SHA256 != sum(data) {
			t.Errorf("Stat(%q) = %+v", key, st)
		}
		if st.Modified.Before(before) || st.Modified.After(time.Now().Add(time.Hour)) {
			t.Errorf("Stat(%q).Modified = %v", key, st.Modified)
		}
		if !strings.Contains(s.URL(key), key) {
			t.Errorf("URL(%q) = %q does not name it", key, s.URL(key))
		}
	}
}

func testLargeStream(t *testing.T, s artifacts.Store) {
	data := noise(20<<20, 2)
	for _, opts := range []artifacts.PutOptions{{}, {CreateOnly: true}} {
		key := "large"
		if opts.CreateOnly {
			key = "large-once"
		}
		info, err := s.Put(t.Context(), key, onlyReader{strings.NewReader(data)}, opts)
		if err != nil {
			t.Fatalf("Put(%q): %v", key, err)
		}
		if info.Size != int64(len(data)) || info.SHA256 != sum(data) {
			t.Errorf("Put(%q) = %+v", key, info)
		}
		wantGet(t, s, key, data)
	}
}

func testOverwrite(t *testing.T, s artifacts.Store) {
	put(t, s, "k", "a long first version")
	put(t, s, "k", "second")
	wantGet(t, s, "k", "second")
	put(t, s, "k", "")
	wantGet(t, s, "k", "")
	wantKeys(t, s, "", "k")
}

func testFailedReader(t *testing.T, s artifacts.Store) {
	boom := errors.New("reader broke")
	put(t, s, "old", "former")
	for name, r := range map[string]io.Reader{
		"at once": iotest.ErrReader(boom),
		"small":   io.MultiReader(strings.NewReader("partial"), iotest.ErrReader(boom)),
		"large":   io.MultiReader(strings.NewReader(noise(6<<20, 3)), iotest.ErrReader(boom)),
	} {
		for _, opts := range []artifacts.PutOptions{{}, {CreateOnly: true}} {
			_, err := s.Put(t.Context(), "new", r, opts)
			wantErr(t, "Put of a broken reader ("+name+")", err, boom)
			_, err = s.Stat(t.Context(), "new")
			wantErr(t, "Stat afterwards", err, artifacts.ErrNotFound)
			r = iotest.ErrReader(boom)
		}
		_, err := s.Put(t.Context(), "old", io.MultiReader(strings.NewReader("part"), iotest.ErrReader(boom)), artifacts.PutOptions{})
		wantErr(t, "Put over an object", err, boom)
	}
	wantGet(t, s, "old", "former")
	wantKeys(t, s, "", "old")
}

func testNotFound(t *testing.T, s artifacts.Store) {
	put(t, s, "folder/object", "x")
	for _, key := range []string{"absent", "absent/deep/key", "folder", "folder/object/below", "folder/objec"} {
		_, _, err := s.Get(t.Context(), key)
		wantErr(t, "Get "+key, err, artifacts.ErrNotFound)
		_, err = s.Stat(t.Context(), key)
		wantErr(t, "Stat "+key, err, artifacts.ErrNotFound)
	}
}

func testDelete(t *testing.T, s artifacts.Store) {
	put(t, s, "a/b/c/one", "1")
	put(t, s, "a/b/two", "2")
	put(t, s, "top", "3")
	for _, key := range []string{"a/b/c/one", "a/b/c/one", "never/was", "a/b", "a", "top/below"} {
		if err := s.Delete(t.Context(), key); err != nil {
			t.Fatalf("Delete(%q): %v", key, err)
		}
	}
	wantKeys(t, s, "", "a/b/two", "top")
	wantDirs(t, s, "a/b/")
	wantDirs(t, s, "", "a")
	if err := s.Delete(t.Context(), "a/b/two"); err != nil {
		t.Fatal(err)
	}
	wantDirs(t, s, "")
	// What was a folder may be an object now, and the other way round.
	put(t, s, "a/b", "object")
	wantGet(t, s, "a/b", "object")
	if err := s.Delete(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	put(t, s, "top/x", "below")
	wantKeys(t, s, "", "a/b", "top/x")
}
