package fetch_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/datasets"
	"harness/datasets/fetch"
)

func sortByPath(list []map[string]any) {
	slices.SortFunc(list, func(a, b map[string]any) int { return cmp.Compare(a["path"].(string), b["path"].(string)) })
}

// rows makes n rows of a dataset file.
func rows(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"instance_id":"octo__calc-%d","repo":"octo/calc","base_commit":"","patch":"p","test_patch":"t","FAIL_TO_PASS":["a"],"PASS_TO_PASS":[]}`+"\n", from+i)
	}
	return b.String()
}

func read(t *testing.T, r *fetch.Result) string {
	t.Helper()
	var all strings.Builder
	for _, f := range r.Files {
		data, err := os.ReadFile(filepath.Join(r.Dir, f))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

func TestFetch(t *testing.T) {
	h := newHub(t)
	h.perPage = 2 // the listing comes in pages
	h.files = map[string]string{"README.md": "# x", ".gitattributes": "", "data/dev.jsonl": rows(100, 1)}
	h.large = map[string]string{"data/test-00000-of-00002.jsonl": rows(0, 3), "data/test-00001-of-00002.jsonl": rows(3, 2)}
	f := newFetcher(t, h)
	f.Token = "secret-token"
	r, err := f.Fetch(t.Context(), "hf://org/name/test", "")
	if err != nil {
		t.Fatal(err)
	}
	if r.Source != "hf://org/name@"+commit1+"/test" || r.Split != "test" || r.Name != "name" || read(t, r) != rows(0, 5) {
		t.Errorf("%+v", r)
	}
	ds, err := datasets.Load(t.Context(), r.Dir, datasets.Options{Files: r.Files, Split: r.Split, Name: r.Name, Source: r.Source})
	if err != nil || len(ds.Tasks) != 5 || ds.Name != "name" || ds.Split != "test" || ds.Source != r.Source {
		t.Errorf("loaded %+v, %v", ds, err)
	}
	// The token went to the hub only.
	if len(h.tokens) == 0 || slices.ContainsFunc(h.tokens, func(s string) bool { return s != "hub Bearer secret-token" }) || h.requests("cdn ") != 2 {
		t.Errorf("tokens %q, requests %q", h.tokens, h.seen)
	}
	// Once more, all is there. Only the branch is looked up.
	h.set(func() { h.seen = nil })
	if r, err = f.Fetch(t.Context(), "hf://org/name", "test"); err != nil || read(t, r) != rows(0, 5) || len(h.seen) != 1 {
		t.Errorf("again: %v, requests %q", err, h.seen)
	}
	// The pinned address needs no server at all.
	h.set(func() { h.seen = nil })
	if r, err = f.Fetch(t.Context(), r.Source, ""); err != nil || read(t, r) != rows(0, 5) || len(h.seen) != 0 {
		t.Errorf("pinned: %v, requests %q", err, h.seen)
	}
	// A small file is checked against git's name for it.
	if r, err = f.Fetch(t.Context(), "hf://org/name/dev", ""); err != nil || read(t, r) != rows(100, 1) {
		t.Errorf("dev: %v", err)
	}
	// A dataset that was renamed is found under its former name.
	if r, err = f.Fetch(t.Context(), "hf://old/name", "dev"); err != nil || read(t, r) != rows(100, 1) {
		t.Errorf("renamed: %v", err)
	}
}

func TestBranchMoves(t *testing.T) {
	h := newHub(t)
	h.files["test.jsonl"] = rows(0, 1)
	f := newFetcher(t, h)
	if _, err := f.Fetch(t.Context(), "hf://org/name", ""); err != nil {
		t.Fatal(err)
	}
	h.set(func() { h.commit, h.files["test.jsonl"] = commit2, rows(0, 2) })
	r, err := f.Fetch(t.Context(), "hf://org/name@main", "")
	if err != nil || read(t, r) != rows(0, 2) || r.Source != "hf://org/name@"+commit2+"/test" {
		t.Errorf("after the move: %+v, %v", r, err)
	}
	r, err = f.Fetch(t.Context(), "hf://org/name@"+commit1, "")
	if err != nil || read(t, r) != rows(0, 1) {
		t.Errorf("the former commit: %+v, %v", r, err)
	}
	// The hub is gone: the branch is what it was, and that is said.
	h.Close()
	f.notes = nil
	r, err = f.Fetch(t.Context(), "hf://org/name", "")
	if err != nil || read(t, r) != rows(0, 2) || len(f.notes) != 1 || !strings.Contains(f.notes[0], "using commit "+commit2+" from the cache, which is what main was on ") {
		t.Errorf("without the hub: %+v, %v, notes %q", r, err, f.notes)
	}
	if _, err = f.Fetch(t.Context(), "hf://org/name@dev", ""); err == nil || !strings.Contains(err.Error(), "the cache does not know revision dev") {
		t.Errorf("unknown branch without the hub: %v", err)
	}
	f.Offline, f.notes = true, nil
	if r, err = f.Fetch(t.Context(), "hf://org/name", ""); err != nil || read(t, r) != rows(0, 2) || !strings.Contains(f.notes[0], "HF_HUB_OFFLINE") {
		t.Errorf("offline: %v, notes %q", err, f.notes)
	}
	if err := os.RemoveAll(filepath.Join(f.Dir, "blobs")); err != nil {
		t.Fatal(err)
	}
	if _, err = f.Fetch(t.Context(), "hf://org/name", ""); err == nil || !strings.Contains(err.Error(), "test.jsonl is not in the cache") {
		t.Errorf("offline without the file: %v", err)
	}
}

func TestCacheIsChecked(t *testing.T) {
	h := newHub(t)
	h.files["test.jsonl"] = rows(0, 1)
	f := newFetcher(t, h)
	r, err := f.Fetch(t.Context(), "hf://org/name", "")
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.EvalSymlinks(filepath.Join(r.Dir, r.Files[0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(rows(7, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	f.notes = nil
	if r, err = f.Fetch(t.Context(), r.Source, ""); err != nil || read(t, r) != rows(0, 1) || !strings.Contains(f.notes[0], "damaged; fetching it again") {
		t.Errorf("%v, notes %q", err, f.notes)
	}
}

func TestTwoAtOnce(t *testing.T) {
	h := newHub(t)
	h.large["test.jsonl"] = rows(0, 500)
	f := newFetcher(t, h)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			g := *f.Fetcher
			if r, err := g.Fetch(t.Context(), "hf://org/name", ""); err != nil || read(t, r) != rows(0, 500) {
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
}

func TestConfigurations(t *testing.T) {
	h := newHub(t)
	for _, name := range []string{"go/a_dataset.jsonl", "java/b_dataset.jsonl", "java/c_dataset.jsonl", "mini/part-1.jsonl", "mini/part-2.jsonl", "notes.txt", "x/test-00000-of-00002.jsonl"} {
		h.files[name] = fmt.Sprintf(`{"at":%q}`, name)
	}
	f := newFetcher(t, h)
	cards := map[string]string{
		"none":      "null",
		"broken":    `{"configs":"yes"}`,
		"default":   `{"configs":[{"config_name":"mini","default":true,"data_files":[{"split":"test","path":"mini/*"},{"split":"one","path":["mini/part-1.jsonl"]}]},{"config_name":"java","data_files":"java/**"},{"config_name":"go","data_dir":"go"}]}`,
		"undecided": `{"configs":[{"config_name":"mini","data_files":{"test":"mini/*"}},{"config_name":"java","data_files":["java/b*","java/c*"]}]}`,
	}
	tests := []struct{ card, path, split, want, source string }{
		{"none", "", "", "error: it has several configurations (go, java, mini, x); name one behind the revision: hf://org/name@" + commit1 + "/go", ""},
		{"none", "go", "", "go/a_dataset.jsonl", "go/a_dataset"},
		{"broken", "go/a_dataset", "", "go/a_dataset.jsonl", "go/a_dataset"},
		{"none", "java", "", "error: it has several splits (b_dataset, c_dataset)", ""},
		{"none", "java", "c_dataset", "java/c_dataset.jsonl", "java/c_dataset"},
		{"none", "java/c_dataset", "b_dataset", `error: `, ""},
		{"none", "java/c_dataset.jsonl", "", "java/c_dataset.jsonl", "java/c_dataset.jsonl"},
		{"none", "notes.txt", "", "error: notes.txt does not say what it holds", ""},
		{"none", "x", "", "error: split test is not whole: shard 00001 of 2 is missing", ""},
		{"none", "x/test-00000-of-00002.jsonl", "", "error: the file is shard 0 of 2 only", ""},
		{"none", "nope", "", `has no split, configuration or file "nope"; there is go/a_dataset, java/b_dataset`, ""},
		{"default", "", "", "error: it has several splits (test, one)", ""},
		{"default", "test", "", "mini/part-1.jsonl mini/part-2.jsonl", "test"},
		{"default", "", "one", "mini/part-1.jsonl", "one"},
		{"default", "java", "", "java/b_dataset.jsonl java/c_dataset.jsonl", "java/train"},
		{"default", "java/train", "train", "java/b_dataset.jsonl java/c_dataset.jsonl", "java/train"},
		{"default", "go", "", "go/a_dataset.jsonl", "go/a_dataset"},
		{"undecided", "", "", "error: it has several configurations (mini, java)", ""},
		{"undecided", "mini", "test", "mini/part-1.jsonl mini/part-2.jsonl", "mini/test"},
		{"undecided", "", "nope", `error: `, ""},
	}
	for _, tt := range tests {
		t.Run(tt.card+" "+tt.path+" "+tt.split, func(t *testing.T) {
			h.set(func() { h.card = cards[tt.card] })
			f.Dir = t.TempDir()
			r, err := f.Fetch(t.Context(), strings.TrimSuffix("hf://org/name/"+tt.path, "/"), tt.split)
			if err != nil {
				want, _ := strings.CutPrefix(tt.want, "error: ")
				if !errors.As(err, new(*fetch.AddressError)) || !strings.Contains(err.Error(), want) || tt.source != "" {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				return
			}
			if got := strings.Join(r.Files, " "); got != tt.want || r.Source != "hf://org/name@"+commit1+"/"+tt.source {
				t.Errorf("files %s from %s, want %s from %s", got, r.Source, tt.want, tt.source)
			}
			again, err := f.Fetch(t.Context(), r.Source, "")
			if err != nil || !slices.Equal(again.Files, r.Files) || again.Source != r.Source {
				t.Errorf("its own address gives %+v, %v", again, err)
			}
		})
	}
	h.set(func() { h.card = cards["default"] })
	f.Dir = t.TempDir()
	items, err := f.List(t.Context(), "hf://org/name")
	var got []string
	for _, i := range items {
		got = append(got, fmt.Sprintf("%s/%s %d %s", i.Config, i.Split, i.Bytes, strings.TrimPrefix(i.Address, "hf://org/name@"+commit1)))
	}
	if want := []string{"mini/test 52 /test", "mini/one 26 /one", "java/train 58 /java/train", "go/a_dataset 27 /go/a_dataset"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("listed %q, %v", got, err)
	}
}

func TestWhatTheHubRefuses(t *testing.T) {
	h := newHub(t)
	h.files["test.jsonl"] = rows(0, 1)
	deny := func(code int, kind string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("X-Error-Code", kind)
			w.Header().Set("X-Error-Message", "Access to dataset is restricted")
			w.WriteHeader(code)
			return true
		}
	}
	tests := []struct {
		name, address string
		answer        func(w http.ResponseWriter, r *http.Request) bool
		want          string
		refused       bool
	}{
		{"no such dataset", "hf://org/nope", nil, "it does not exist, or is private, or HF_TOKEN is not valid", true},
		{"no such revision", "hf://org/name@v9", nil, `it has no revision "v9"`, true},
		{"404", "hf://org/name", deny(404, "RepoNotFound"), "the hub has no dataset org/name", true},
		{"401", "hf://org/name", deny(401, ""), "set HF_TOKEN", true},
		{"gated, 401", "hf://org/name", deny(401, "GatedRepo"), "accept its terms", true},
		{"gated, 403", "hf://org/name", deny(403, "GatedRepo"), "accept its terms on its page on the hub, and set HF_TOKEN", true},
		{"no answer of a hub", "hf://org/name", func(w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, "<html>log in to the network")
			return true
		}, "does not answer as a hub does (is HF_ENDPOINT right?)", false},
		{"no commit", "hf://org/name", func(w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, `{"sha":"../../x"}`)
			return true
		}, "names no commit", false},
		{"a path that escapes", "hf://org/name", func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/tree/") {
				fmt.Fprint(w, `[{"type":"file","path":"../../../test.jsonl","size":1,"oid":"`+commit1+`"}]`)
				return true
			}
			return false
		}, "which is refused", false},
		{"no digest", "hf://org/name", func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/tree/") {
				fmt.Fprint(w, `[{"type":"file","path":"test.jsonl","size":1,"lfs":{"oid":"","size":1},"oid":""}]`)
				return true
			}
			return false
		}, "names no digest", false},
		{"round and round", "hf://org/name", func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return true
		}, "redirects more than 10 times", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFetcher(t, h)
			h.set(func() { h.answer = tt.answer })
			_, err := f.Fetch(t.Context(), tt.address, "")
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.As(err, new(*fetch.AddressError)) != tt.refused {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if len(f.pauses) > 0 {
				t.Errorf("tried again after %v", f.pauses)
			}
		})
	}
	h.set(func() { h.answer = nil })
	f := newFetcher(t, h)
	f.MaxBytes = 100
	if _, err := f.Fetch(t.Context(), "hf://org/name", ""); !errors.As(err, new(*fetch.AddressError)) || !strings.Contains(err.Error(), "more than 100 bytes") || h.requests("/resolve/") > 0 {
		t.Errorf("too large: %v", err)
	}
}

func TestServerAsksToWait(t *testing.T) {
	h := newHub(t)
	h.files["test.jsonl"] = rows(0, 1)
	f := newFetcher(t, h)
	n := 0
	h.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		if n++; n > 3 {
			return false
		}
		code := []int{0, 429, 503, 500}[n]
		if code == 429 {
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(code)
		return true
	}
	if _, err := f.Fetch(t.Context(), "hf://org/name", ""); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{7 * time.Second, time.Second, 2 * time.Second}; !slices.Equal(f.pauses, want) {
		t.Errorf("pauses %v, want %v", f.pauses, want)
	}
	f = newFetcher(t, h)
	h.set(func() {
		h.answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true }
	})
	if _, err := f.Fetch(t.Context(), "hf://org/name", ""); err == nil || !strings.Contains(err.Error(), "given up after 6 tries") || len(f.pauses) != 5 {
		t.Errorf("%v, pauses %v", err, f.pauses)
	}
	f = newFetcher(t, h)
	h.set(func() {
		h.answer = func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
	})
	if _, err := f.Fetch(t.Context(), "hf://org/name", ""); err == nil || !strings.Contains(err.Error(), "left alone for 24h") || len(f.pauses) != 0 {
		t.Errorf("%v, pauses %v", err, f.pauses)
	}
}
