package fetch_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"harness/datasets/fetch"
)

// half sends the first bytes of what was asked for and hangs up.
func half(w http.ResponseWriter, text string, n int) {
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.Header().Set("ETag", `"one"`)
	hangUp(w, text[:n])
}

// hangUp sends text as the beginning of an answer.
func hangUp(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func blobs(t *testing.T, f *fetcher) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(f.Dir, "blobs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(entries)
}

func TestServerStopsHalfWay(t *testing.T) {
	h := newHub(t)
	text := rows(0, 50)
	h.large["test.jsonl"] = text
	f := newFetcher(t, h)
	var ranges, conditions []string
	h.cdnAnswer = func(w http.ResponseWriter, r *http.Request) bool {
		h.set(func() {
			ranges, conditions = append(ranges, r.Header.Get("Range")), append(conditions, r.Header.Get("If-Range"))
		})
		if len(ranges) == 1 {
			half(w, text, 1000)
		}
		if r.Header.Get("Authorization") != "" {
			t.Error("the token was sent to another host")
		}
		w.Header().Set("ETag", `"one"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
		return true
	}
	r, err := f.Fetch(t.Context(), "hf://org/name", "")
	if err != nil || read(t, r) != text {
		t.Fatalf("%v", err)
	}
	if len(ranges) != 2 || ranges[1] != "bytes=1000-" || conditions[1] != `"one"` {
		t.Errorf("ranges %q, conditions %q", ranges, conditions)
	}
	if left, err := os.ReadDir(filepath.Join(f.Dir, "partial")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestServerStopsAgainAndAgain(t *testing.T) {
	h := newHub(t)
	text := rows(0, 50)
	h.large["test.jsonl"] = text
	f := newFetcher(t, h)
	h.cdnAnswer = func(w http.ResponseWriter, _ *http.Request) bool {
		half(w, text, 1000) // and knows no ranges
		return true
	}
	_, err := f.Fetch(t.Context(), "hf://org/name", "")
	if err == nil || !strings.Contains(err.Error(), "test.jsonl: the server stopped after 1000 of "+strconv.Itoa(len(text))+" bytes") || !strings.Contains(err.Error(), "given up after 6 tries") {
		t.Errorf("%v", err)
	}
	if blobs(t, f) != 0 {
		t.Error("half a file is in the cache")
	}
	// A later process goes on where this one ended.
	var asked string
	h.set(func() {
		h.cdnAnswer = func(w http.ResponseWriter, r *http.Request) bool {
			asked = r.Header.Get("Range")
			w.Header().Set("ETag", `"one"`)
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
			return true
		}
	})
	if r, err := f.Fetch(t.Context(), "hf://org/name", ""); err != nil || read(t, r) != text || asked != "bytes=1000-" {
		t.Errorf("later: %v, range %q", err, asked)
	}
}

// Progress, however slow, is no reason to give up.
func TestServerSendsALittleAtATime(t *testing.T) {
	h := newHub(t)
	text := rows(0, 50)
	h.large["test.jsonl"] = text
	f := newFetcher(t, h)
	h.cdnAnswer = func(w http.ResponseWriter, r *http.Request) bool {
		from := 0
		if v := strings.TrimSuffix(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-"); v != "" {
			from, _ = strconv.Atoi(v)
			w.Header().Set("Content-Range", "bytes "+v+"-"+strconv.Itoa(len(text)-1)+"/"+strconv.Itoa(len(text)))
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(text)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		if from+600 < len(text) {
			hangUp(w, text[from:from+600])
		}
		_, _ = io.WriteString(w, text[from:])
		return true
	}
	if r, err := f.Fetch(t.Context(), "hf://org/name", ""); err != nil || read(t, r) != text || len(f.pauses) < 8 {
		t.Errorf("%v after %d tries", err, len(f.pauses))
	}
}

func TestWrongDigest(t *testing.T) {
	h := newHub(t)
	text := rows(0, 5)
	other := strings.Replace(text, "octo", "evil", 1)
	h.large["data/test.jsonl"], h.files["dev.jsonl"] = text, text
	f := newFetcher(t, h)
	h.cdnAnswer = func(w http.ResponseWriter, r *http.Request) bool { serveText(w, r, other); return true }
	h.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/dev.jsonl") {
			serveText(w, r, other)
			return true
		}
		return false
	}
	for split, want := range map[string]string{"test": "its SHA-256 is ", "dev": "git would name it "} {
		r, err := f.Fetch(t.Context(), "hf://org/name", split)
		if !errors.Is(err, fetch.ErrDigest) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), split+".jsonl") {
			t.Errorf("%s: %+v, %v", split, r, err)
		}
	}
	for text, want := range map[string]string{text[:100]: "server stopped after 100 of ", text + "\n": "it has " + strconv.Itoa(len(text)+1) + " bytes"} {
		h.set(func() {
			h.cdnAnswer = func(w http.ResponseWriter, r *http.Request) bool { serveText(w, r, text); return true }
		})
		if _, err := f.Fetch(t.Context(), "hf://org/name", "test"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v, want %q", len(text), err, want)
		}
	}
	if blobs(t, f) != 0 {
		t.Error("wrong bytes are in the cache")
	}
}

// The file is another one when the download goes on: it starts anew.
func TestFileChangesMeanwhile(t *testing.T) {
	h := newHub(t)
	text := rows(0, 50)
	h.large["test.jsonl"] = text
	f := newFetcher(t, h)
	n := 0
	h.cdnAnswer = func(w http.ResponseWriter, r *http.Request) bool {
		if n++; n == 1 {
			half(w, strings.Repeat("x", len(text)), 1000)
		}
		w.Header().Set("ETag", `"two"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
		return true
	}
	if r, err := f.Fetch(t.Context(), "hf://org/name", ""); err != nil || read(t, r) != text || n != 2 {
		t.Errorf("with ETags: %v after %d requests", err, n)
	}
	// Without ETags the parts don't fit, which the digest tells.
	f, n = newFetcher(t, h), 0
	h.set(func() {
		h.cdnAnswer = func(w http.ResponseWriter, r *http.Request) bool {
			if n++; n == 1 {
				w.Header().Set("Content-Length", strconv.Itoa(len(text)))
				hangUp(w, strings.Repeat("x", 1000))
			}
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
			return true
		}
	})
	if r, err := f.Fetch(t.Context(), "hf://org/name", ""); err != nil || read(t, r) != text || n != 3 {
		t.Errorf("without ETags: %v after %d requests", err, n)
	}
}

func TestServerFallsSilent(t *testing.T) {
	h := newHub(t)
	text := rows(0, 50)
	h.large["test.jsonl"] = text
	f := newFetcher(t, h)
	f.Idle = 20 * time.Millisecond
	silent := 0
	h.cdnAnswer = func(w http.ResponseWriter, r *http.Request) bool {
		if silent++; silent > 1 {
			return false
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = io.WriteString(w, text[:100])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	r, err := f.Fetch(t.Context(), "hf://org/name", "")
	if err != nil || read(t, r) != text {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(f.notes, "\n"), "the server sent nothing for 20ms") {
		t.Errorf("notes %q", f.notes)
	}
}
