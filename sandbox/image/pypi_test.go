package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

const wheelText = "bytes of a wheel"

func sumOf(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// index serves one project, as JSON or as HTML, and counts downloads.
func index(t *testing.T, asJSON bool, served string) (*PyPI, *atomic.Int64) {
	t.Helper()
	var downloads atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/simple/a-b/", func(w http.ResponseWriter, r *http.Request) {
		if asJSON && strings.HasPrefix(r.Header.Get("Accept"), simpleJSON) {
			w.Header().Set("Content-Type", simpleJSON)
			fmt.Fprintf(w, `{"files":[{"filename":"../evil","url":"x","hashes":{}},{"filename":"a_b-1.0-py3-none-any.whl","url":"../../files/a.whl","hashes":{"sha256":%q},"size":%d,"yanked":"old"}]}`, sumOf(wheelText), len(wheelText))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a href="../../files/a.whl">x</a><a href="/files/a_b-1.0-py3-none-any.whl#sha256=%s" data-requires-python="&gt;=3">a_b</a>`, sumOf(wheelText))
	})
	mux.HandleFunc("/files/", func(w http.ResponseWriter, r *http.Request) {
		downloads.Add(1)
		fmt.Fprint(w, served)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return &PyPI{Index: s.URL + "/simple/", CacheDir: t.TempDir()}, &downloads
}

func locked() LockedFile {
	return LockedFile{Project: "a-b", Name: "a_b-1.0-py3-none-any.whl", SHA256: sumOf(wheelText), Size: int64(len(wheelText))}
}

func TestFetch(t *testing.T) {
	for _, asJSON := range []bool{true, false} {
		p, downloads := index(t, asJSON, wheelText)
		for range 2 {
			path, err := p.Fetch(context.Background(), locked())
			if err != nil {
				t.Fatalf("json %v: %v", asJSON, err)
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != wheelText {
				t.Errorf("json %v: stored %q, %v", asJSON, b, err)
			}
			// Damage on disk is noticed, not served.
			if err := os.WriteFile(path, []byte(strings.Repeat("y", len(wheelText))), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if downloads.Load() != 2 {
			t.Errorf("json %v: %d downloads, want 2", asJSON, downloads.Load())
		}
	}
}

func TestFetchIsCached(t *testing.T) {
	p, downloads := index(t, true, wheelText)
	for range 3 {
		if _, err := p.Fetch(context.Background(), locked()); err != nil {
			t.Fatal(err)
		}
	}
	if downloads.Load() != 1 {
		t.Errorf("%d downloads, want 1", downloads.Load())
	}
}

func TestFetchRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		served string
		change func(*LockedFile)
		want   string
	}{
		"other bytes":      {strings.Repeat("z", len(wheelText)), func(*LockedFile) {}, "the lock wants"},
		"more bytes":       {wheelText + "!", func(*LockedFile) {}, "the lock wants"},
		"index disagrees":  {wheelText, func(f *LockedFile) { f.SHA256 = sumOf("else") }, "do not use it"},
		"no such file":     {wheelText, func(f *LockedFile) { f.Name = "a_b-2.0.tar.gz" }, "has no such file"},
		"no such project":  {wheelText, func(f *LockedFile) { f.Project = "c" }, "not found on this index"},
		"name with a path": {wheelText, func(f *LockedFile) { f.Name = "../x" }, "plain file name"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := index(t, true, tc.served)
			f := locked()
			tc.change(&f)
			_, err := p.Fetch(context.Background(), f)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
			if entries, _ := os.ReadDir(p.CacheDir + "/sha256"); len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

func TestFetchHidesPassword(t *testing.T) {
	p := &PyPI{Index: "http://user:secret@127.0.0.1:1/simple", CacheDir: t.TempDir(), tries: 1}
	_, err := p.Fetch(context.Background(), locked())
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "PIP_INDEX_URL") {
		t.Errorf("error = %v", err)
	}
}

func TestFilesReadsIndex(t *testing.T) {
	p, _ := index(t, true, wheelText)
	files, err := p.Files(context.Background(), "a-b")
	if err != nil || len(files) != 1 {
		t.Fatalf("Files = %+v, %v", files, err)
	}
	if f := files[0]; f.Size != int64(len(wheelText)) || !f.Yanked || f.SHA256 != sumOf(wheelText) {
		t.Errorf("file = %+v", f)
	}
}
