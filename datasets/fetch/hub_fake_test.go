package fetch_test

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/datasets/fetch"
)

const (
	commit1 = "1111111111111111111111111111111111111111"
	commit2 = "2222222222222222222222222222222222222222"
)

// hub is a Hugging Face hub with one dataset, org/name, and a second host for
// large files, as the real one has.
type hub struct {
	*httptest.Server
	cdn *httptest.Server

	mu      sync.Mutex
	files   map[string]string // small ones, kept in git
	large   map[string]string // on the CDN
	card    string            // JSON
	commit  string            // of main
	perPage int
	// seen are "host METHOD path" of all requests, tokens those that bore a token.
	seen, tokens []string
	// answer, when it returns true, has dealt with a request in place of the hub.
	answer func(w http.ResponseWriter, r *http.Request) bool
	// cdnAnswer is that of the CDN.
	cdnAnswer func(w http.ResponseWriter, r *http.Request) bool
}

func newHub(t *testing.T) *hub {
	h := &hub{files: map[string]string{}, large: map[string]string{}, commit: commit1, perPage: 1000, card: "null"}
	watch := func(host string, answer *func(http.ResponseWriter, *http.Request) bool, next http.HandlerFunc) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.mu.Lock()
			h.seen = append(h.seen, host+" "+r.URL.Path)
			if r.Header.Get("Authorization") != "" {
				h.tokens = append(h.tokens, host+" "+r.Header.Get("Authorization"))
			}
			act := *answer
			h.mu.Unlock()
			if act == nil || !act(w, r) {
				next(w, r)
			}
		})
	}
	h.Server = httptest.NewServer(watch("hub", &h.answer, h.serve))
	h.cdn = httptest.NewServer(watch("cdn", &h.cdnAnswer, h.serveLarge))
	t.Cleanup(h.Close)
	t.Cleanup(h.cdn.Close)
	return h
}

func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	api, files := "/api/datasets/org/name", "/datasets/org/name/resolve/"
	switch path := r.URL.Path; {
	case path == "/api/datasets/old/name/revision/main":
		http.Redirect(w, r, api+"/revision/main", http.StatusTemporaryRedirect)
	case strings.HasPrefix(path, "/api/datasets/old/name/tree/"):
		http.Redirect(w, r, api+strings.TrimPrefix(r.URL.RequestURI(), "/api/datasets/old/name"), http.StatusTemporaryRedirect)
	case strings.HasPrefix(path, "/datasets/old/name/"):
		http.Redirect(w, r, strings.Replace(path, "old", "org", 1), http.StatusTemporaryRedirect)
	case strings.HasPrefix(path, api+"/revision/"):
		commit := strings.TrimPrefix(path, api+"/revision/")
		switch commit {
		case "main", "refs/pr/1":
			commit = h.commit
		case commit1, commit2:
		default:
			w.Header().Set("X-Error-Code", "RevisionNotFound")
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, `{"id":"org/name","sha":%q,"cardData":%s}`, commit, h.card)
	case strings.HasPrefix(path, api+"/tree/"):
		h.tree(w, r)
	case strings.HasPrefix(path, files):
		_, name, _ := strings.Cut(strings.TrimPrefix(path, files), "/")
		if text, ok := h.files[name]; ok {
			serveText(w, r, text)
		} else if _, ok := h.large[name]; ok {
			http.Redirect(w, r, h.cdn.URL+"/"+name+"?signature=secret", http.StatusFound)
		} else {
			w.Header().Set("X-Error-Code", "EntryNotFound")
			w.WriteHeader(http.StatusNotFound)
		}
	default:
		w.Header().Set("X-Error-Code", "RepoNotFound")
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// tree lists files in pages, like the hub with directories among them.
func (h *hub) tree(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{{"type": "directory", "path": "data", "oid": "x", "size": 0}}
	for name, text := range h.files {
		git := sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(text), text)))
		list = append(list, map[string]any{"type": "file", "path": name, "size": len(text), "oid": hex.EncodeToString(git[:])})
	}
	for name, text := range h.large {
		sum := sha256.Sum256([]byte(text))
		list = append(list, map[string]any{"type": "file", "path": name, "size": len(text), "oid": strings.Repeat("0", 40),
			"lfs": map[string]any{"oid": hex.EncodeToString(sum[:]), "size": len(text), "pointerSize": 130}})
	}
	sortByPath(list)
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	to := min(from+h.perPage, len(list))
	if to < len(list) {
		// A mirror passes on the original's address.
		w.Header().Set("Link", fmt.Sprintf(`<https://huggingface.co%s?recursive=true&cursor=%d>; rel="next"`, r.URL.Path, to))
	}
	_ = json.NewEncoder(w).Encode(list[from:to])
}

func (h *hub) serveLarge(w http.ResponseWriter, r *http.Request) {
	serveText(w, r, h.large[strings.TrimPrefix(r.URL.Path, "/")])
}

func serveText(w http.ResponseWriter, r *http.Request, text string) {
	sum := sha256.Sum256([]byte(text))
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:4])+`"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}

func (h *hub) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// requests counts those whose line contains part.
func (h *hub) requests(part string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, s := range h.seen {
		if strings.Contains(s, part) {
			n++
		}
	}
	return n
}

// fetcher is for the hub, with a cache of its own; it notes pauses in place of waiting.
type fetcher struct {
	*fetch.Fetcher
	mu     sync.Mutex
	notes  []string
	pauses []time.Duration
}

func newFetcher(t *testing.T, h *hub) *fetcher {
	f := &fetcher{}
	f.Fetcher = &fetch.Fetcher{Dir: t.TempDir(), Note: func(s string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.notes = append(f.notes, s)
	}, Wait: func(ctx context.Context, d time.Duration) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.pauses = append(f.pauses, d)
		return ctx.Err()
	}}
	if h != nil {
		f.Endpoint = h.URL
	}
	return f
}
