// Package storetest is the conformance suite that every artifacts.Store passes.
//
// It tests what artifacts.Store promises and nothing of a single driver.
package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"harness/artifacts"
)

// Run runs the suite. Each test gets its own empty store from open, which
// registers what must be cleaned up with t.
func Run(t *testing.T, open func(t *testing.T) artifacts.Store) {
	tests := []struct {
		name string
		run  func(*testing.T, artifacts.Store)
	}{
		{"round trip", testRoundTrip},
		{"large stream", testLargeStream},
		{"overwrite", testOverwrite},
		{"create only", testCreateOnly},
		{"create only race", testCreateOnlyRace},
		{"failed reader", testFailedReader},
		{"not found", testNotFound},
		{"bad keys", testBadKeys},
		{"odd keys", testOddKeys},
		{"object below object", testObjectBelowObject},
		{"list", testList},
		{"list stops", testListStops},
		{"dirs", testDirs},
		{"delete", testDelete},
		{"delete under writers", testDeleteUnderWriters},
		{"cancelled", testCancelled},
		{"readers during overwrite", testReadersDuringOverwrite},
		{"helpers", testHelpers},
		{"helpers find damage", testHelpersFindDamage},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, open(t)) })
	}
}

func put(t *testing.T, s artifacts.Store, key, data string) artifacts.Info {
	t.Helper()
	info, err := s.Put(t.Context(), key, bytes.NewReader([]byte(data)), artifacts.PutOptions{})
	if err != nil {
		t.Fatalf("Put(%q): %v", key, err)
	}
	return info
}

func get(ctx context.Context, s artifacts.Store, key string) (string, error) {
	rc, _, err := s.Get(ctx, key)
	if err != nil {
		return "", err
	}
	defer rc.Close()
	b, err := io.ReadAll(rc)
	return string(b), err
}

func wantGet(t *testing.T, s artifacts.Store, key, want string) {
	t.Helper()
	got, err := get(t.Context(), s, key)
	if err != nil {
		t.Fatalf("Get(%q): %v", key, err)
	}
	if got != want {
		t.Fatalf("Get(%q) = %d bytes (%.40q), want %d (%.40q)", key, len(got), got, len(want), want)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: got error %v, want one that wraps %q", what, err, want)
	}
}

// wantKeys compares a listing, order included.
func wantKeys(t *testing.T, s artifacts.Store, prefix string, want ...string) {
	t.Helper()
	var got []string
	for info, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatalf("List(%q): %v", prefix, err)
		}
		got = append(got, info.Key)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Fatalf("List(%q) =\n  %q\nwant\n  %q", prefix, got, want)
	}
}

func wantDirs(t *testing.T, s artifacts.Store, prefix string, want ...string) {
	t.Helper()
	var got []string
	for name, err := range s.Dirs(t.Context(), prefix) {
		if err != nil {
			t.Fatalf("Dirs(%q): %v", prefix, err)
		}
		got = append(got, name)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Fatalf("Dirs(%q) = %q, want %q", prefix, got, want)
	}
}

func sum(data string) string {
	h := sha256.Sum256([]byte(data))
	return hex.EncodeToString(h[:])
}

// noise returns n bytes that no compression helps, the same for the same seed.
func noise(n int, seed uint64) string {
	b := make([]byte, n)
	var key [32]byte
	key[0] = byte(seed)
	if _, err := rand.NewChaCha8(key).Read(b); err != nil {
		panic(err) // it never fails
	}
	return string(b)
}

// onlyReader hides every method but Read, as a stream of unknown size does.
type onlyReader struct{ r io.Reader }

func (o onlyReader) Read(p []byte) (int, error) { return o.r.Read(p) }
