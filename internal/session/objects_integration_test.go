//go:build integration

package session_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/gzip"

	"harness/artifacts"
	"harness/artifacts/s3"
	"harness/datasets"
	"harness/datasets/fetch"
	"harness/internal/session"
	"harness/internal/testenv"
)

// Datasets in a bucket of a real server: an object by its key, shards below a
// folder, a body that breaks off, an object that changes, keys that are wrong.
func TestDatasetsOfABucket(t *testing.T) {
	m := testenv.NewMinIO(t)
	t.Setenv("AWS_ACCESS_KEY_ID", m.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", m.SecretKey)
	store, err := s3.Open(t.Context(), s3.Config{
		Bucket: "datasets", Endpoint: m.Endpoint, AccessKey: m.AccessKey, SecretKey: m.SecretKey, CreateBucket: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	row := func(id string) string {
		return `{"instance_id":"` + id + `","repo":"octo/calc","base_commit":"","patch":"` + strings.Repeat("p", 5000) + `","test_patch":"","FAIL_TO_PASS":["t"],"PASS_TO_PASS":[]}` + "\n"
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(row("a-3"))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for key, data := range map[string]string{
		"sets/calc/data/test-00000-of-00002.jsonl": row("a-1"), "sets/calc/data/test-00001-of-00002.jsonl": row("a-2"),
		"sets/calc/README.md": "x", "sets/one.jsonl.gz": packed.String(), "sets/calculator/test.jsonl": row("b-1"),
		"sets/" + strings.Repeat("long/", 40) + "one.jsonl": row("a-4"),
	} {
		if _, err := store.Put(t.Context(), key, strings.NewReader(data), artifacts.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var cfg session.Config
	cfg.Home = t.TempDir()
	f := &fetch.Fetcher{Dir: filepath.Join(cfg.Home, "cache"), Objects: cfg.OpenObjects}
	load := func(address string) (*datasets.Dataset, error) {
		r, err := f.Fetch(t.Context(), address, "")
		if err != nil {
			return nil, err
		}
		return datasets.Load(t.Context(), r.Dir, datasets.Options{Files: r.Files, Split: r.Split, Name: r.Name, Source: r.Source})
	}
	at := "?endpoint=" + m.Endpoint
	for address, want := range map[string]string{
		"s3://datasets/sets/calc":                                         "a-1 a-2",
		"s3://datasets/sets/calc/data/":                                   "a-1 a-2",
		"s3://datasets/sets/one.jsonl.gz":                                 "a-3",
		"s3://datasets/sets/" + strings.Repeat("long/", 40) + "one.jsonl": "a-4",
	} {
		ds, err := load(address + at)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		var ids []string
		for _, task := range ds.Tasks {
			ids = append(ids, task.InstanceID)
		}
		if got := strings.Join(ids, " "); got != want || ds.Source != strings.TrimSuffix(address, "/") {
			t.Errorf("%s: %s from %s, want %s", address, got, ds.Source, want)
		}
	}
	if _, err := load("s3://datasets/sets/nope" + at); !errors.As(err, new(*fetch.AddressError)) || !strings.Contains(err.Error(), "no such object") {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := load("s3://nobucket/sets" + at); err == nil || !strings.Contains(err.Error(), `bucket "nobucket" does not exist`) {
		t.Errorf("no bucket: %v", err)
	}
	if _, err := store.Put(t.Context(), "sets/one.jsonl", strings.NewReader(row("a-5")), artifacts.PutOptions{}); err != nil {
		t.Fatal(err)
	}

	// A proxy in front of the server cuts the first body of the object.
	target, err := url.Parse(m.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var cuts atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rp := &httputil.ReverseProxy{Rewrite: func(pr *httputil.ProxyRequest) { pr.SetURL(target); pr.Out.Host = pr.In.Host }}
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/one.jsonl") && cuts.Add(1) == 1 {
			rp.ServeHTTP(&cutWriter{ResponseWriter: w, left: 2000}, r)
			panic(http.ErrAbortHandler)
		}
		rp.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	ds, err := load("s3://datasets/sets/one.jsonl?endpoint=" + proxy.URL)
	if err != nil || ds.Tasks[0].InstanceID != "a-5" || cuts.Load() < 2 {
		t.Errorf("cut: %v after %d requests", err, cuts.Load())
	}

	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
	if _, err := load("s3://datasets/sets/one.jsonl" + at); err == nil || !strings.Contains(err.Error(), "refuses the credentials") {
		t.Errorf("wrong keys: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(f.Dir, "partial")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// cutWriter drops what is written behind the first bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (c *cutWriter) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	if _, err := c.ResponseWriter.Write(p[:n]); err != nil {
		return 0, err
	}
	if f, ok := c.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
	return len(p), nil
}
