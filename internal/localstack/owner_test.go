package localstack

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"harness/internal/proc"
)

// hold owns the stack of a home as another process would, recording who it is.
func hold(t *testing.T, cfg Config, st State) *os.File {
	t.Helper()
	if err := os.MkdirAll(cfg.dir(), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := ownerLock(cfg, unix.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	b, err := json.Marshal(st)
	if err == nil {
		err = writeWhole(cfg.stateFile(), b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func TestFind(t *testing.T) {
	cfg := Config{Home: t.TempDir()}
	if _, err := Find(cfg); !errors.Is(err, ErrNotRunning) {
		t.Errorf("in an empty home: %v", err)
	}

	lock := hold(t, cfg, State{Owner: proc.Self(), Mode: ModeUp, Temporal: "127.0.0.1:1"})
	st, err := Find(cfg)
	if err != nil || st.Temporal != "127.0.0.1:1" {
		t.Errorf("a living owner: %+v, %v", st, err)
	}
	var running *RunningError
	if _, err := takeOwnership(cfg); !errors.As(err, &running) || running.State.Owner != proc.Self() {
		t.Errorf("its ownership was taken: %v", err)
	}

	// The state of a killed owner is not believed, whoever holds the lock.
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	dead := proc.ID{Pid: 1 << 22, Start: 1, Boot: proc.Boot()}
	lock = hold(t, cfg, State{Owner: dead, Mode: ModeUp, Ready: true, Temporal: "127.0.0.1:1"})
	if st, err := Find(cfg); err != nil || st.Ready || st.Temporal != "" {
		t.Errorf("a lock with the state of a dead owner: %+v, %v", st, err)
	}

	// A lock that a dying process still holds goes soon.
	time.AfterFunc(50*time.Millisecond, func() { _ = lock.Close() })
	if _, err := Find(cfg); !errors.Is(err, ErrNotRunning) {
		t.Errorf("a killed owner: %v", err)
	}
	if !Left(cfg) {
		t.Error("nothing is said to be left of it")
	}
	taken, err := takeOwnership(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
}
