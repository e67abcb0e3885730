package evalrun

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/artifacts/dir"
	"harness/datasets"
	"harness/datasets/fetch"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/runs"
	"harness/internal/runs/runstest"
	"harness/internal/session"
)

const hubCommit = "1234567890123456789012345678901234567890"

// A run of a dataset of the hub knows where its tasks came from, at which commit.
func TestSourceOfAHubDatasetIsStored(t *testing.T) {
	var rows bytes.Buffer
	if err := datasets.WriteJSONL(&rows, runstest.Tasks(2)); err != nil {
		t.Fatal(err)
	}
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/datasets/org/name/revision/main":
			fmt.Fprintf(w, `{"sha":%q}`, hubCommit)
		case "/api/datasets/org/name/tree/" + hubCommit:
			fmt.Fprintf(w, `[{"type":"file","path":"data/test.jsonl","lfs":{"oid":"%x","size":%d}}]`, sha256.Sum256(rows.Bytes()), rows.Len())
		case "/datasets/org/name/resolve/" + hubCommit + "/data/test.jsonl":
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(rows.Bytes()))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer hub.Close()
	app := quiet(&bytes.Buffer{})
	app.Getenv = func(name string) string { return map[string]string{"HF_ENDPOINT": hub.URL}[name] }
	o := calibrationOptions("hf://org/name")
	o.Session = session.Config{Home: t.TempDir()}
	req, err := request(t.Context(), app, &o)
	if err != nil {
		t.Fatal(err)
	}
	store, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan(t.Context(), store, req, true)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := runs.Load(t.Context(), store, p.Spec.RunID)
	if err != nil {
		t.Fatal(err)
	}
	s := stored.Spec
	if s.DatasetSource != "hf://org/name@"+hubCommit+"/test" || s.Dataset != "name" || s.Split != "test" || !strings.HasPrefix(s.RunID, "name-") {
		t.Errorf("stored spec: %+v", s)
	}
}

// A picture that the network fails to bring is no fault of the row's.
func TestPicturesOfTasks(t *testing.T) {
	pixels := []byte("pixels")
	row := func(id string, urls ...string) eval.Task {
		a := &eval.ImageAssets{}
		for i, u := range urls {
			a.TestPatch = append(a.TestPatch, eval.Asset{URL: u, Path: fmt.Sprintf("img/%d.png", i)})
		}
		return eval.Task{InstanceID: id, ImageAssets: a}
	}
	var answer func(r *http.Request) (*http.Response, error)
	f := &fetch.Fetcher{
		Dir: t.TempDir(), Transport: roundTrip(func(r *http.Request) (*http.Response, error) { return answer(r) }),
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	send := func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "image/png")
		if strings.Contains(r.URL.Path, "gone") {
			w.WriteHeader(http.StatusGone)
		}
		_, _ = w.Write(pixels)
		return w.Result(), nil
	}
	var notes bytes.Buffer
	app := &cli.App{Err: &notes}

	answer = send
	tasks := []eval.Task{row("none"), row("a", "https://example.org/0", "https://example.org/1")}
	if err := fetchPictures(t.Context(), app, f, tasks, ""); err != nil || !strings.Contains(notes.String(), "2 pictures for 1 task, 12") {
		t.Errorf("%v; notes: %s", err, &notes)
	}
	want := []eval.TaskFile{{Path: "/image_assets/img__0.png", Mode: 0o644, Data: pixels}, {Path: "/image_assets/img__1.png", Mode: 0o644, Data: pixels}}
	if len(tasks[0].Files) != 0 || !slices.EqualFunc(tasks[1].Files, want, func(a, b eval.TaskFile) bool {
		return a.Path == b.Path && a.Mode == b.Mode && bytes.Equal(a.Data, b.Data)
	}) || len(datasets.MissingPictures(&tasks[1])) != 0 {
		t.Errorf("tasks are %+v", tasks)
	}

	tasks = []eval.Task{row("a", "https://example.org/gone", "http://example.org/1"), row("b", "https://example.org/0"), row("c", "https://example.org/gone")}
	err := fetchPictures(t.Context(), app, f, tasks, "x")
	for _, want := range []string{
		"3 pictures can't be had, so nothing is imported", "a: img/0.png: fetch https://example.org/gone: the server answers 410 Gone", "a: img/1.png: fetch http://example.org/1: only https",
		`the other 1: --filter '(x) and instance_id not in ["a", "c"]'`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}

	away, tried := errors.New("network is down"), 0
	answer = func(*http.Request) (*http.Response, error) { tried++; return nil, away }
	tasks = []eval.Task{row("a", "https://example.org/away"), row("b", "https://example.org/away")}
	if err := fetchPictures(t.Context(), app, f, tasks, ""); !errors.Is(err, away) || !strings.Contains(err.Error(), "task a: picture img/0.png: ") || tried != 6 {
		t.Errorf("after %d tries: %v", tried, err)
	}
	if left, _ := filepath.Glob(filepath.Join(f.Dir, "pictures", "*")); len(left) != 2 {
		t.Errorf("the cache holds %v", left)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Many ids are no filter that a person would paste.
func TestLeaveOut(t *testing.T) {
	var ids []string
	for i := range maxFilterIDs + 1 {
		ids = append(ids, fmt.Sprintf("a__b-%d", i))
	}
	if got := leaveOut(ids, "", 100); got != "\nselect the other 49 with -i or --filter; `harness dataset validate --json` names these (not_runnable_tasks)" {
		t.Error(got)
	}
	if got := leaveOut(ids, "", len(ids)); got != "" {
		t.Error(got)
	}
	if got := leaveOut(ids[:1], "repo == 'a/b'", 3); got != "\nto go on with the other 2: --filter '(repo == '\\''a/b'\\'') and instance_id not in [\"a__b-0\"]'" {
		t.Error(got)
	}
}
