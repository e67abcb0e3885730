package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"harness/artifacts"
)

func testCreateOnly(t *testing.T, s artifacts.Store) {
	once := artifacts.PutOptions{CreateOnly: true}
	if _, err := s.Put(t.Context(), "k/r.json", strings.NewReader("first"), once); err != nil {
		t.Fatal(err)
	}
	for _, opts := range []string{"second", "", noise(6<<20, 9)} {
		_, err := s.Put(t.Context(), "k/r.json", onlyReader{strings.NewReader(opts)}, once)
		wantErr(t, "second create", err, artifacts.ErrExists)
	}
	wantGet(t, s, "k/r.json", "first")
	put(t, s, "k/r.json", "overwritten")
	if err := s.Delete(t.Context(), "k/r.json"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "k/r.json", strings.NewReader("again"), once); err != nil {
		t.Fatalf("create after delete: %v", err)
	}
	wantGet(t, s, "k/r.json", "again")
}

func testCreateOnlyRace(t *testing.T, s artifacts.Store) {
	const writers = 16
	for round, size := range []int{10, 100, 2 << 20} {
		key := fmt.Sprintf("race/%d/result.json", round)
		start := make(chan struct{})
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				data := noise(size, uint64(w))
				<-start
				_, errs[w] = s.Put(t.Context(), key, onlyReader{strings.NewReader(data)}, artifacts.PutOptions{CreateOnly: true})
			})
		}
		close(start)
		wg.Wait()
		winner := -1
		for w, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("round %d: writers %d and %d both won", round, winner, w)
			case err == nil:
				winner = w
			default:
				wantErr(t, "loser", err, artifacts.ErrExists)
			}
		}
		if winner < 0 {
			t.Fatalf("round %d: nobody won", round)
		}
		wantGet(t, s, key, noise(size, uint64(winner)))
	}
}

func testDeleteUnderWriters(t *testing.T, s artifacts.Store) {
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 25 {
				key := fmt.Sprintf("shared/deep/er/w%d-%d", w, i)
				if _, err := s.Put(t.Context(), key, strings.NewReader(key), artifacts.PutOptions{CreateOnly: i%2 == 0}); err != nil {
					t.Errorf("Put(%q): %v", key, err)
					return
				}
				if got, err := get(t.Context(), s, key); err != nil || got != key {
					t.Errorf("Get(%q) = %q, %v", key, got, err)
				}
				if err := s.Delete(t.Context(), key); err != nil {
					t.Errorf("Delete(%q): %v", key, err)
				}
			}
		})
	}
	wg.Wait()
	wantKeys(t, s, "")
	wantDirs(t, s, "")
}

func testCancelled(t *testing.T, s artifacts.Store) {
	put(t, s, "k", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Put(ctx, "new", strings.NewReader("x"), artifacts.PutOptions{})
	wantErr(t, "Put", err, context.Canceled)
	_, _, err = s.Get(ctx, "k")
	wantErr(t, "Get", err, context.Canceled)
	_, err = s.Stat(ctx, "k")
	wantErr(t, "Stat", err, context.Canceled)
	wantErr(t, "Delete", s.Delete(ctx, "k"), context.Canceled)
	n := 0
	for _, err := range s.List(ctx, "") {
		n++
		wantErr(t, "List", err, context.Canceled)
	}
	for _, err := range s.Dirs(ctx, "") {
		n++
		wantErr(t, "Dirs", err, context.Canceled)
	}
	if n != 2 {
		t.Errorf("listings of a cancelled context yielded %d times, want one error each", n)
	}

	// Cancelled in the middle of a stream.
	ctx, cancel = context.WithCancel(t.Context())
	r := &cancelAfter{r: strings.NewReader(noise(8<<20, 4)), left: 5 << 20, cancel: cancel}
	_, err = s.Put(ctx, "new", r, artifacts.PutOptions{})
	wantErr(t, "Put cut short", err, context.Canceled)
	wantKeys(t, s, "", "k")
	wantGet(t, s, "k", "x")
}

type cancelAfter struct {
	r      io.Reader
	left   int
	cancel func()
}

func (c *cancelAfter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.left -= n; c.left <= 0 {
		c.cancel()
	}
	return n, err
}

func testReadersDuringOverwrite(t *testing.T, s artifacts.Store) {
	version := func(n int) string { return strings.Repeat(string(rune('a'+n)), 1<<20+n) }
	put(t, s, "k", version(0))
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !done.Load() {
				got, err := get(t.Context(), s, "k")
				if err != nil {
					t.Errorf("Get: %v", err)
					return
				}
				if got == "" || got != version(int(got[0]-'a')) {
					t.Errorf("read a mixture of versions: %d bytes", len(got))
					return
				}
			}
		})
	}
	for n := range 15 {
		put(t, s, "k", version(n))
	}
	done.Store(true)
	wg.Wait()

	// A reader that is open keeps its version, or is told that it can't.
	rc, _, err := s.Get(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	put(t, s, "k", "new")
	got, err := io.ReadAll(rc)
	if err == nil && string(got) != version(14) {
		t.Errorf("an open reader saw %d bytes of another version", len(got))
	}
	if errors.Is(err, artifacts.ErrNotFound) {
		t.Errorf("an open reader lost its object: %v", err)
	}
}
