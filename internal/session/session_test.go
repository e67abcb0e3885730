package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"harness/internal/localstack"
)

func TestSameStore(t *testing.T) {
	t.Chdir(t.TempDir())
	here := Config{Store: "x"}
	for _, c := range []struct {
		asked, url string
		want       bool
	}{
		{"s3://b/p", "s3://b/p", true}, {"s3://b/p/", "s3://b/p", true}, {"s3://b/p", "s3://b/q", false},
		{"/a/b", "/a/b", true}, {"/a/b/", "/a/b", true}, {"/a/../a/b", "/a/b", true}, {"/a", "s3://a", false},
	} {
		if got := (Config{Store: c.asked}).SameStore(c.url); got != c.want {
			t.Errorf("%q against %q: %v", c.asked, c.url, got)
		}
	}
	if here.SameStore("x") {
		t.Error("a relative path is compared as it is")
	}
}

func TestCheckShared(t *testing.T) {
	for _, c := range []struct {
		cfg Config
		ok  bool
	}{
		{Config{Temporal: "t:1"}, false}, {Config{Temporal: "t:1", Store: "/nfs"}, false},
		{Config{Temporal: "t:1", Store: "/nfs", SharedStore: true}, true}, {Config{Temporal: "t:1", Store: "s3://b/p"}, true},
	} {
		err := Check(c.cfg, nil)
		var mismatch *MismatchError
		if (err == nil) != c.ok || err != nil && !errors.As(err, &mismatch) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
}

// TestTurn holds a home's stack as another process would and sees who may use it.
func TestTurn(t *testing.T) {
	cfg := Config{Home: t.TempDir()}
	cfg.Defaults(func(string) string { return "" })
	var notes []string
	cfg.Note = func(s string) { notes = append(notes, s) }
	never := func(localstack.State) bool { return false }
	joined := func(localstack.State) error { return errors.New("joined") }

	err := turn(t.Context(), cfg, never, joined, func() error { return errors.New("started") })
	if err == nil || err.Error() != "started" || len(notes) > 0 {
		t.Errorf("without a stack: %v, notes %q", err, notes)
	}

	// Whoever loses the race for the lock looks again.
	tries := 0
	err = turn(t.Context(), cfg, never, joined, func() error {
		if tries++; tries == 1 {
			return &localstack.RunningError{}
		}
		return nil
	})
	if err != nil || tries != 2 {
		t.Errorf("after a lost race: %v after %d tries", err, tries)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = turn(ctx, cfg, never, joined, func() error { return &localstack.RunningError{} })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the time is up: %v", err)
	}
}

func TestHolder(t *testing.T) {
	st := localstack.State{Mode: localstack.ModeEmbedded}
	st.Owner.Pid = 7
	if got := holder(st); got != "process 7 (a run with a stack of its own)" {
		t.Errorf("got %q", got)
	}
	if got := holder(localstack.State{}); !strings.Contains(got, "just starting") {
		t.Errorf("got %q", got)
	}
}
