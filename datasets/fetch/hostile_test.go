package fetch_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a hub, or somebody between, may send to harm the machine: each ends with an
// error that says it, within bounds, and nothing is left in the cache's place of files.
func TestHostileHub(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token was sent to another port")
		}
		fmt.Fprint(w, "{}")
	}))
	defer other.Close()
	isTree := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/tree/") }
	isFile := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/resolve/") }
	list := func(w http.ResponseWriter, paths ...string) {
		var out []map[string]any
		for _, p := range paths {
			out = append(out, map[string]any{"type": "file", "path": p, "size": 1, "oid": commit1})
		}
		_ = json.NewEncoder(w).Encode(out)
	}
	for _, tt := range []struct {
		name, want string
		answer     func(w http.ResponseWriter, r *http.Request) bool
	}{
		{"endless pages", "more than 1000 pages", func(w http.ResponseWriter, r *http.Request) bool {
			if isTree(r) {
				w.Header().Set("Link", fmt.Sprintf(`<%s?page=x>; rel="next"`, r.URL.Path))
				fmt.Fprint(w, "[]")
			}
			return isTree(r)
		}},
		{"endless page", "more than 33554432 bytes", func(w http.ResponseWriter, r *http.Request) bool {
			if isTree(r) {
				block := make([]byte, 1<<20)
				for r.Context().Err() == nil {
					if _, err := w.Write(block); err != nil {
						break
					}
				}
			}
			return isTree(r)
		}},
		{"packed page", "more than 33554432 bytes", func(w http.ResponseWriter, r *http.Request) bool {
			if isTree(r) {
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				for range 64 {
					_, _ = z.Write(make([]byte, 1<<20))
				}
				_ = z.Close()
			}
			return isTree(r)
		}},
		{"packed file", "wrong content", func(w http.ResponseWriter, r *http.Request) bool {
			if isFile(r) {
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				_, _ = z.Write(make([]byte, 10<<20))
				_ = z.Close()
			}
			return isFile(r)
		}},
		{"to a file", "unsupported protocol scheme", func(w http.ResponseWriter, r *http.Request) bool {
			if isFile(r) {
				http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
			}
			return isFile(r)
		}},
		{"to another port", "stopped after 2 of 135 bytes", func(w http.ResponseWriter, r *http.Request) bool {
			if isFile(r) {
				http.Redirect(w, r, other.URL+"/x", http.StatusFound)
			}
			return isFile(r)
		}},
		{"above", "is refused", func(w http.ResponseWriter, r *http.Request) bool {
			return isTree(r) && answered(list, w, "../../x.jsonl")
		}},
		{"absolute", "is refused", func(w http.ResponseWriter, r *http.Request) bool {
			return isTree(r) && answered(list, w, "/etc/x.jsonl")
		}},
		{"backslash", "is refused", func(w http.ResponseWriter, r *http.Request) bool {
			return isTree(r) && answered(list, w, `a\..\x.jsonl`)
		}},
		{"a file below a file", "hf://org/name", func(w http.ResponseWriter, r *http.Request) bool {
			return isTree(r) && answered(list, w, "test-00000-of-00002.jsonl", "test-00000-of-00002.jsonl/test-00001-of-00002.jsonl")
		}},
		{"a huge card", "its card has 100002 patterns", func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case isTree(r):
				paths := make([]string, 1000)
				for i := range paths {
					paths[i] = fmt.Sprintf("x/%d.jsonl", i)
				}
				list(w, paths...)
			case strings.Contains(r.URL.Path, "/revision/"):
				fmt.Fprintf(w, `{"sha":%q,"cardData":{"configs":[{"data_files":[""%s]}]}}`, commit1, strings.Repeat(`,"**/**/**/x"`, 100_000))
			default:
				return false
			}
			return true
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHub(t)
			h.files["data/test.jsonl"] = rows(0, 1)
			h.answer = tt.answer
			f := newFetcher(t, h)
			f.Token = "secret"
			_, err := f.Fetch(t.Context(), "hf://org/name", "")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
			if blobs, _ := os.ReadDir(filepath.Join(f.Dir, "blobs")); len(blobs) > 0 {
				t.Errorf("the cache keeps %v", blobs)
			}
		})
	}
}

func answered(list func(http.ResponseWriter, ...string), w http.ResponseWriter, paths ...string) bool {
	list(w, paths...)
	return true
}

// A repository of very many files is listed without comparing each with all.
func TestManyFiles(t *testing.T) {
	h := newHub(t)
	const n = 20_000
	for i := range n {
		h.files[fmt.Sprintf("%d/test.jsonl", i)] = "x"
	}
	h.perPage = n
	items, err := newFetcher(t, h).List(t.Context(), "hf://org/name")
	if err != nil || len(items) != n {
		t.Errorf("%d splits, %v", len(items), err)
	}
}
