// Package fetch brings datasets that live elsewhere onto this machine: it turns
// an address (hf://org/name@revision/split, s3://bucket/prefix) into files that
// package datasets can load.
//
// It owns addresses, the cache and what a server may do wrong: stop half-way,
// send other bytes than it promised, ask to come back later. Every file is
// checked against the digest that its listing names before it takes its place,
// so what is in the cache is whole. It also fetches pictures, whose addresses
// whoever made a dataset wrote: from public hosts only. It knows nothing of rows,
// and never runs code that a repository brings.
package fetch

import (
	"context"
	"net/http"
	"time"

	"harness/datasets/internal/layout"
	"harness/datasets/internal/source"
)

// Fetcher fetches datasets. Dir must be set; the rest works when zero.
type Fetcher struct {
	// Dir is the cache. Several processes may share it.
	Dir string
	// Endpoint is the Hugging Face hub's address, "" for https://huggingface.co.
	Endpoint string
	// Token is sent to the hub, and to no other host that it redirects to.
	Token string
	// Offline answers from the cache only.
	Offline bool
	// MaxBytes is the most that a split may hold; 0 means 8 GiB.
	MaxBytes int64
	// Objects opens the bucket of an s3:// address; nil when there is no S3.
	Objects func(ctx context.Context, url string) (Objects, error)
	// Note tells people what takes time or is not as usual; nil is silent.
	Note func(text string)

	// Transport carries out requests; nil is net/http's own.
	Transport http.RoundTripper
	// Wait pauses between tries; nil sleeps.
	Wait func(ctx context.Context, d time.Duration) error
	// Idle is how long a server may send nothing; 0 means a minute.
	Idle time.Duration
}

// Result is a dataset that is on this machine.
type Result struct {
	Dir    string   // holds Files
	Files  []string // of the split, in order, relative to Dir
	Name   string   // for people
	Split  string   // "" when nothing says it
	Source string   // the address with its revision fixed: fetching it gives the same files
}

// Item is one split that an address offers.
type Item struct {
	Config string   `json:"config,omitempty"`
	Split  string   `json:"split"`
	Files  []string `json:"files"`
	Bytes  int64    `json:"bytes"`
	// Address fetches this split, at the revision that was listed.
	Address string `json:"address"`
	// Problem says why it can't be fetched, "" when it can.
	Problem string `json:"problem,omitempty"`
}

// Fetch brings the split that address and split name onto this machine. A split
// that the address names already may be repeated. What is wrong with the address,
// or with the rights to it, is an *AddressError.
func (f *Fetcher) Fetch(ctx context.Context, address, split string) (*Result, error) {
	a, err := Parse(address)
	if err != nil {
		return nil, err
	}
	if a.Scheme == schemeS3 {
		return f.fetchS3(ctx, a, split)
	}
	return f.fetchHub(ctx, a, split)
}

// List names the splits that an address offers, without fetching them.
func (f *Fetcher) List(ctx context.Context, address string) ([]Item, error) {
	a, err := Parse(address)
	if err != nil {
		return nil, err
	}
	if a.Scheme == schemeS3 {
		return f.listS3(ctx, a)
	}
	return f.listHub(ctx, a)
}

func (f *Fetcher) note(text string) {
	if f.Note != nil {
		f.Note(text)
	}
}

func (f *Fetcher) maxBytes() int64 {
	if f.MaxBytes > 0 {
		return f.MaxBytes
	}
	return source.MaxBytes
}

// item makes an Item of a split.
func item(s *layout.Split, sizes map[string]int64, address string) Item {
	it := Item{Config: s.Config, Split: s.Name, Files: s.Files, Address: address}
	for _, f := range s.Files {
		it.Bytes += sizes[f]
	}
	if err := s.Err(); err != nil {
		it.Problem = err.Error()
	}
	return it
}
