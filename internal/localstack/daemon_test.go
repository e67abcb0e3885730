package localstack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func shell(t *testing.T, script string) DaemonConfig {
	t.Helper()
	dir := t.TempDir()
	return DaemonConfig{
		Name: "test", Path: "/bin/sh", Args: []string{"-c", script},
		LogFile: filepath.Join(dir, "log"), PidFile: filepath.Join(dir, "pid"),
		StopTimeout: 300 * time.Millisecond,
	}
}

func TestDaemonLife(t *testing.T) {
	cfg := shell(t, "echo up; exec sleep 100")
	cfg.Ready = func(context.Context) error {
		if b, _ := os.ReadFile(cfg.LogFile); strings.Contains(string(b), "up") {
			return nil
		}
		return errors.New("not up")
	}
	d, err := StartDaemon(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Alive() {
		t.Fatal("not alive after start")
	}
	found, err := FindDaemon(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if found.Pid() != d.Pid() {
		t.Errorf("found pid %d, started %d", found.Pid(), d.Pid())
	}
	for range 2 { // idempotent
		if err := d.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if d.Alive() {
		t.Error("alive after stop")
	}
	if _, err := FindDaemon(cfg); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("FindDaemon after stop: %v", err)
	}
}

func TestDaemonThatIgnoresTERMIsKilled(t *testing.T) {
	cfg := shell(t, "trap '' TERM; echo up; while :; do sleep 0.05; done")
	cfg.Ready = func(context.Context) error {
		_, err := os.Stat(cfg.LogFile)
		return err
	}
	d, err := StartDaemon(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Stop works with a cancelled context
	if err := d.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if d.Alive() {
		t.Error("alive after stop")
	}
}

func TestDaemonThatEndsAtOnceShowsItsLog(t *testing.T) {
	cfg := shell(t, "echo address in use >&2; exit 3")
	cfg.Ready = func(context.Context) error { return errors.New("no answer") }
	_, err := StartDaemon(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "address in use") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
}

func TestDaemonNeverReadyIsEnded(t *testing.T) {
	cfg := shell(t, "exec sleep 100")
	cfg.ReadyTimeout = 50 * time.Millisecond
	cfg.Ready = func(context.Context) error { return errors.New("no answer") }
	if _, err := StartDaemon(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(cfg.PidFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("pid file is left: %v", err)
	}
}

func TestRecycledPidIsNotFound(t *testing.T) {
	cfg := shell(t, "")
	// Our own pid, with a start time that is not ours.
	if err := os.WriteFile(cfg.PidFile, []byte(`{"pid":1,"start":1,"boot":"another"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := FindDaemon(cfg); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
