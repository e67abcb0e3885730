package sandboxtest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"harness/eval"
	"harness/sandbox"
)

var lifeTests = []test{
	{"unknown image reference", nil, func(t *testing.T, e *env) {
		_, err := e.rt.Resolve(t.Context(), "nowhere.test/none:1")
		if !errors.Is(err, sandbox.ErrImageNotFound) || !strings.Contains(err.Error(), "nowhere.test/none:1") {
			t.Errorf("got %v", err)
		}
	}},
	{"unknown image digest", nil, func(t *testing.T, e *env) {
		s := e.spec()
		s.ImageDigest = "sha256:" + strings.Repeat("0", 64)
		if _, err := e.rt.Create(t.Context(), s); !errors.Is(err, sandbox.ErrImageNotFound) {
			t.Errorf("got %v", err)
		}
	}},
	{"invalid specs", nil, testInvalidSpecs},
	{"an id is used once", nil, func(t *testing.T, e *env) {
		s := e.spec()
		b := e.create(t, func(x *sandbox.Spec) { x.ID = s.ID })
		if _, err := e.rt.Create(t.Context(), s); !errors.Is(err, sandbox.ErrInvalidSpec) {
			t.Errorf("second create: %v", err)
		}
		// The failed one has not taken the first along.
		if err := b.Renew(t.Context(), time.Minute); err != nil {
			t.Errorf("first sandbox is gone: %v", err)
		}
	}},
	{"close is idempotent and final", nil, func(t *testing.T, e *env) {
		b := e.create(t)
		first := end(t, b)
		if first.Died {
			t.Error("closed sandbox counts as died")
		}
		if second := end(t, b); !reflect.DeepEqual(first, second) {
			t.Errorf("second close says %+v, the first %+v", second, first)
		}
		expectClosed(t, b)
	}},
	{"close with a cancelled context", nil, func(t *testing.T, e *env) {
		b := e.create(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Close(ctx); err != nil {
			t.Error(err)
		}
	}},
	{"create with a cancelled context leaves nothing", nil, func(t *testing.T, e *env) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if b, err := e.rt.Create(ctx, e.spec()); err == nil {
			end(t, b)
			t.Error("created")
		}
	}},
	{"kill", nil, func(t *testing.T, e *env) {
		b := e.create(t)
		for range 2 {
			if err := b.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		expectClosed(t, b)
		if f := end(t, b); f.Died {
			t.Error("killed sandbox counts as died")
		}
	}},
	{"list and remove", nil, testListAndRemove},
	{"leases", nil, testLeases},
}

func expectClosed(t *testing.T, b sandbox.Sandbox) {
	t.Helper()
	if _, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"true"}}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("exec: %v, want ErrClosed", err)
	}
	if err := b.Renew(t.Context(), time.Minute); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("renew: %v, want ErrClosed", err)
	}
}

func testInvalidSpecs(t *testing.T, e *env) {
	for name, change := range map[string]func(*sandbox.Spec){
		"empty id":               func(s *sandbox.Spec) { s.ID = "" },
		"path as id":             func(s *sandbox.Spec) { s.ID = "../x" },
		"flag as id":             func(s *sandbox.Spec) { s.ID = "-x" },
		"long id":                func(s *sandbox.Spec) { s.ID = strings.Repeat("x", 61) },
		"no memory":              func(s *sandbox.Spec) { s.Limits.MemoryBytes = 0 },
		"no disk":                func(s *sandbox.Spec) { s.Limits.DiskBytes = 0 },
		"relative work dir":      func(s *sandbox.Spec) { s.WorkDir = "a" },
		"environment without =":  func(s *sandbox.Spec) { s.Env = []string{"A"} },
		"environment with NUL":   func(s *sandbox.Spec) { s.Env = []string{"A=b\x00c"} },
		"file path with dots":    func(s *sandbox.Spec) { s.Files = []sandbox.File{{Path: "/a/../b"}} },
		"file without a name":    func(s *sandbox.Spec) { s.Files = []sandbox.File{{Path: "/"}} },
		"unknown network policy": func(s *sandbox.Spec) { s.Network = eval.NetworkPolicy("all") },
		"no image":               func(s *sandbox.Spec) { s.ImageDigest = "" },
	} {
		s := e.spec()
		change(&s)
		b, err := e.rt.Create(t.Context(), s)
		if err == nil {
			end(t, b)
		}
		if !errors.Is(err, sandbox.ErrInvalidSpec) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func testListAndRemove(t *testing.T, e *env) {
	ctx := t.Context()
	var ids []string
	for _, owner := range []string{"one", "two", "two"} {
		s := e.spec()
		s.Owner, s.Trial = owner, "trial-of-"+owner
		e.create(t, func(x *sandbox.Spec) { *x = s })
		ids = append(ids, s.ID)
	}
	list, err := e.rt.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(ids) {
		t.Fatalf("%d sandboxes are listed, want %d", len(list), len(ids))
	}
	for _, s := range list {
		if s.Owner == "" || s.Trial != "trial-of-"+s.Owner || s.ImageDigest != e.digest || s.CreatedAt.IsZero() || s.LeaseExpires.Before(time.Now()) || s.Orphan {
			t.Errorf("status %+v", s)
		}
	}
	for _, c := range []struct {
		name string
		m    sandbox.Match
		want int
	}{
		{"no such id", sandbox.Match{ID: "none"}, 0},
		{"fields must all agree", sandbox.Match{ID: ids[0], Owner: "two"}, 0},
		{"none is expired", sandbox.Match{Expired: true}, 0},
		{"none is an orphan", sandbox.Match{Orphan: true}, 0},
		{"by id", sandbox.Match{ID: ids[0]}, 1},
		{"by id again", sandbox.Match{ID: ids[0]}, 0},
		{"by trial", sandbox.Match{Trial: "trial-of-two"}, 2},
		{"everything that is left", sandbox.Match{}, 0},
	} {
		if n, err := e.rt.Remove(ctx, c.m); err != nil || n != c.want {
			t.Errorf("remove %s: %d, %v; want %d", c.name, n, err, c.want)
		}
	}
}

func testLeases(t *testing.T, e *env) {
	ctx := t.Context()
	b := e.create(t, func(s *sandbox.Spec) { s.Lease = 3 * time.Second })
	if n, err := e.rt.Remove(ctx, sandbox.Match{Expired: true}); err != nil || n != 0 {
		t.Fatalf("removed %d before the lease ended, %v", n, err)
	}
	for range 2 {
		if err := b.Renew(ctx, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	list, err := e.rt.List(ctx)
	if err != nil || len(list) != 1 || time.Until(list[0].LeaseExpires) < 50*time.Minute {
		t.Fatalf("after renewal: %+v, %v", list, err)
	}
	if err := b.Renew(ctx, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
	if n, err := e.rt.Remove(ctx, sandbox.Match{Expired: true}); err != nil || n != 1 {
		t.Fatalf("removed %d after the lease ended, %v", n, err)
	}
	// Its user finds out.
	if x, err := b.Exec(ctx, sandbox.Process{Args: []string{"true"}}); err == nil && !x.Died {
		t.Errorf("exec in a removed sandbox: %+v", x)
	}
}
