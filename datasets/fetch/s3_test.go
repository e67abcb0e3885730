package fetch_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"harness/datasets/fetch"
)

// bucket is a fake of an address of S3.
type bucket struct {
	url     string
	objects map[string]string // by key relative to the address
	tag     string
	cut     int // bodies break off after so many bytes, 0 for never
	opened  []int64
}

func (b *bucket) URL() string    { return b.url }
func (b *bucket) Server() string { return "http://fake" }

func (b *bucket) List(_ context.Context, limit int) ([]fetch.Object, error) {
	var out []fetch.Object
	for key, text := range b.objects {
		if len(out) <= limit {
			out = append(out, fetch.Object{Key: key, Size: int64(len(text)), ETag: b.tag})
		}
	}
	return out, nil
}

func (b *bucket) Open(_ context.Context, o fetch.Object, offset int64) (io.ReadCloser, error) {
	b.opened = append(b.opened, offset)
	rest := b.objects[o.Key][offset:]
	if o.ETag != b.tag {
		return nil, errors.New("the object has changed")
	}
	if b.cut > 0 && len(rest) > b.cut {
		return io.NopCloser(io.MultiReader(strings.NewReader(rest[:b.cut]), iotest.ErrReader(io.ErrUnexpectedEOF))), nil
	}
	return io.NopCloser(strings.NewReader(rest)), nil
}

func TestFetchS3(t *testing.T) {
	b := &bucket{url: "s3://bucket/sets/calc", tag: "1", cut: 200, objects: map[string]string{
		"data/test-00000-of-00002.jsonl": rows(0, 2), "data/test-00001-of-00002.jsonl": rows(2, 2), "data/dev.jsonl": rows(9, 1), "notes.txt": "x",
	}}
	f := newFetcher(t, nil)
	f.Objects = func(_ context.Context, url string) (fetch.Objects, error) {
		if url != "s3://bucket/sets/calc?endpoint=http://fake" {
			t.Errorf("opened %s", url)
		}
		return b, nil
	}
	const address = "s3://bucket/sets/calc?endpoint=http://fake"
	r, err := f.Fetch(t.Context(), address, "test")
	if err != nil || read(t, r) != rows(0, 4) || r.Name != "calc" || r.Split != "test" || r.Source != "s3://bucket/sets/calc" {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(b.opened) < 4 || b.opened[1] != 200 {
		t.Errorf("opened at %v", b.opened)
	}
	b.opened = nil
	if r, err = f.Fetch(t.Context(), address, "test"); err != nil || read(t, r) != rows(0, 4) || len(b.opened) != 0 {
		t.Errorf("again: %v, opened at %v", err, b.opened)
	}
	// The bucket changes, also to something of the same size.
	b.tag, b.objects["data/test-00000-of-00002.jsonl"] = "2", rows(4, 2)
	if r, err = f.Fetch(t.Context(), address, "test"); err != nil || read(t, r) != rows(4, 2)+rows(2, 2) {
		t.Errorf("changed: %v", err)
	}
	for split, want := range map[string]string{"": "several splits (dev, test)", "x": `no split "x"; there is dev, test`} {
		if _, err := f.Fetch(t.Context(), address, split); !errors.As(err, new(*fetch.AddressError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("split %q: %v", split, err)
		}
	}
	items, err := f.List(t.Context(), address)
	if err != nil || len(items) != 2 || items[1].Split != "test" || len(items[1].Files) != 2 || items[1].Bytes != int64(len(rows(0, 4))) {
		t.Errorf("%+v, %v", items, err)
	}
	delete(b.objects, "data/test-00000-of-00002.jsonl")
	if _, err := f.Fetch(t.Context(), address, "test"); !errors.As(err, new(*fetch.AddressError)) || !strings.Contains(err.Error(), "shard 00000 of 2 is missing") {
		t.Errorf("missing shard: %v", err)
	}
	b.objects = map[string]string{"a/test.jsonl": "{}", "b/test.jsonl": "{}"}
	if _, err := f.Fetch(t.Context(), address, "test"); err == nil || !strings.Contains(err.Error(), "several folders hold splits (a, b)") {
		t.Errorf("folders: %v", err)
	}
	b.objects = map[string]string{"../../x.jsonl": "{}", "notes.txt": "x"}
	if _, err := f.Fetch(t.Context(), address, ""); err == nil || !strings.Contains(err.Error(), "there is no .jsonl") {
		t.Errorf("nothing: %v", err)
	}
}

func TestFetchOneObject(t *testing.T) {
	b := &bucket{url: "s3://bucket/sets/calc.jsonl", tag: "1", objects: map[string]string{"": rows(0, 2)}}
	f := newFetcher(t, nil)
	f.Objects = func(context.Context, string) (fetch.Objects, error) { return b, nil }
	r, err := f.Fetch(t.Context(), "s3://bucket/sets/calc.jsonl", "")
	if err != nil || read(t, r) != rows(0, 2) || r.Name != "calc" || r.Source != "s3://bucket/sets/calc.jsonl" {
		t.Errorf("%+v, %v", r, err)
	}
	b.url = "s3://bucket/sets/calc"
	if _, err := f.Fetch(t.Context(), b.url, ""); err == nil || !strings.Contains(err.Error(), "does not say what it holds") {
		t.Errorf("no extension: %v", err)
	}
	f.Objects = nil
	if _, err := f.Fetch(t.Context(), b.url, ""); !errors.As(err, new(*fetch.AddressError)) {
		t.Errorf("no S3: %v", err)
	}
}
