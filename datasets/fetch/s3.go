package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"harness/datasets/internal/layout"
	"harness/datasets/internal/source"
)

// Object is one object of a bucket.
type Object struct {
	Key  string
	Size int64
	ETag string // changes when the object does
}

// Objects reads the bucket and prefix of one s3:// address. Its errors are final:
// transient faults are retried inside. A body that breaks off is the caller's.
type Objects interface {
	// List returns the objects whose key is the address's, or stands below it as a
	// folder, at most limit+1 of them. Keys are relative to the address; that of
	// the object itself is "". When there is nothing it is an *AddressError.
	List(ctx context.Context, limit int) ([]Object, error)
	// Open reads the object from offset on, as long as it has that ETag.
	Open(ctx context.Context, o Object, offset int64) (io.ReadCloser, error)
	// URL is the address without parameters: s3://bucket/prefix.
	URL() string
	// Server tells servers apart that have buckets of the same name.
	Server() string
}

const maxObjects = 10_000

// bucket is what an address of S3 offers.
type bucket struct {
	Objects
	address Address
	found   map[string]Object // by key relative to the address
	splits  []layout.Split
}

func (f *Fetcher) openBucket(ctx context.Context, a Address) (*bucket, error) {
	if f.Objects == nil {
		return nil, refuse(a.raw, "s3:// is not supported here")
	}
	objects, err := f.Objects(ctx, a.raw)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", a, err)
	}
	list, err := objects.List(ctx, maxObjects)
	if errors.As(err, new(*AddressError)) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", a, err)
	}
	if len(list) > maxObjects {
		return nil, refuse(a.raw, "there are more than %d objects below it; give the folder or the object that is meant", maxObjects)
	}
	b := &bucket{Objects: objects, address: a, found: make(map[string]Object)}
	var names []string
	for _, o := range list {
		if o.Key == "" {
			return b, b.single(o)
		}
		if filepath.IsLocal(o.Key) && path.Clean(o.Key) == o.Key {
			b.found[o.Key] = o
			names = append(names, o.Key)
		}
	}
	if b.splits = layout.Group(names); len(b.splits) == 0 {
		return nil, refuse(a.raw, "there is no .jsonl, .json, .csv or .parquet object (.gz and .zst too) of that name, or below it")
	}
	return b, nil
}

// single is for the address of one object.
func (b *bucket) single(o Object) error {
	base := path.Base(b.URL())
	if source.ParseName(base).Format == "" {
		return refuse(b.address.raw, "the name of the object does not say what it holds; name it .jsonl, .json, .csv or .parquet, and .gz or .zst behind that")
	}
	b.found = map[string]Object{base: o}
	b.splits = layout.Group([]string{base})
	return nil
}

func (f *Fetcher) listS3(ctx context.Context, a Address) ([]Item, error) {
	b, err := f.openBucket(ctx, a)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64)
	for key, o := range b.found {
		sizes[key] = o.Size
	}
	var out []Item
	for _, s := range b.splits {
		out = append(out, item(&s, sizes, a.raw))
	}
	return out, nil
}

func (f *Fetcher) fetchS3(ctx context.Context, a Address, split string) (*Result, error) {
	b, err := f.openBucket(ctx, a)
	if err != nil {
		return nil, err
	}
	chosen, err := b.choose(split)
	if err != nil {
		return nil, err
	}
	// The folder is named by what it holds, so that a bucket that changes gets another.
	id := sha256.New()
	fmt.Fprintln(id, b.Server(), b.URL())
	var files []entry
	for _, key := range chosen.Files {
		o := b.found[key]
		fmt.Fprintf(id, "%q %d %q\n", key, o.Size, o.ETag)
		files = append(files, entry{Path: key, Size: o.Size})
	}
	if err := f.checkSize(a, files); err != nil {
		return nil, err
	}
	dir := filepath.Join(f.Dir, "s3", hex.EncodeToString(id.Sum(nil)[:16]))
	wait := f.Wait
	if wait == nil {
		wait = sleep
	}
	for _, e := range files {
		o := b.found[e.Path]
		label := strings.TrimSuffix(b.URL()+"/"+o.Key, "/")
		// The ETag is in the name of the download, too: parts of two versions never meet.
		want := content{size: e.Size}
		open := func(ctx context.Context, offset int64, _ string) (body, error) {
			r, err := b.Open(ctx, o, offset)
			if err != nil {
				return body{}, permanentError{err}
			}
			return body{ReadCloser: r, start: offset}, nil
		}
		if err := f.bring(ctx, wait, dir, e, want, label+" ("+o.ETag+")", open); err != nil {
			return nil, fmt.Errorf("fetch %s: %w", a, err)
		}
	}
	name := source.ParseName(path.Base(b.URL())).Stem
	return &Result{Dir: dir, Files: chosen.Files, Name: name, Split: chosen.Name, Source: b.URL()}, nil
}

func (b *bucket) choose(split string) (*layout.Split, error) {
	found := slices.Clone(b.splits)
	if split != "" {
		found = slices.DeleteFunc(found, func(s layout.Split) bool { return s.Name != split })
	}
	if i := slices.IndexFunc(found, func(s layout.Split) bool { return s.Name == "dataset" }); i >= 0 {
		found = found[i : i+1]
	}
	switch len(found) {
	case 0:
		return nil, refuse(b.address.raw, "it has no split %q; there is %s", split, strings.Join(layout.Names(b.splits), ", "))
	case 1:
		if err := found[0].Err(); err != nil {
			return nil, refuse(b.address.raw, "%s", err)
		}
		return &found[0], nil
	}
	if configs := layout.Configs(found); len(configs) > 1 {
		return nil, refuse(b.address.raw, "several folders hold splits (%s); give the one that is meant", strings.Join(configs, ", "))
	}
	return nil, refuse(b.address.raw, "it holds several splits (%s); say which with --split", strings.Join(layout.Names(found), ", "))
}
