package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestParseStat(t *testing.T) {
	tail := " S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 10"
	for _, c := range []struct{ name, in, comm string }{
		{"plain", "12 (cat)" + tail, "cat"},
		{"hostile name", "12 (a) R 1 (b)" + tail, "a) R 1 (b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, err := parseStat([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if want := (Stat{Pid: 12, Comm: c.comm, State: 'S', Parent: 7, Start: 4242}); st != want {
				t.Errorf("got %+v, want %+v", st, want)
			}
		})
	}
	for _, bad := range []string{"", "12", "12 (x", "x (y)" + tail, "12 (cat) S 1"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("parseStat(%q) has no error", bad)
		}
	}
}

func TestIdentity(t *testing.T) {
	self := Self()
	if !self.Alive() || self.Pid != os.Getpid() || self.Start == 0 {
		t.Fatalf("self is not alive: %+v", self)
	}
	recycled := self
	recycled.Start--
	if recycled.Alive() {
		t.Error("another start time counts as the same process")
	}
	if err := recycled.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to a recycled pid: %v", err)
	}
	elsewhere := self
	elsewhere.Boot = "other"
	if elsewhere.Alive() || elsewhere.Local() {
		t.Error("another boot counts as this one")
	}

	cmd := exec.CommandContext(t.Context(), "sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range Descendants(all, os.Getpid()) {
		found = found || s.Pid == id.Pid
	}
	if !found {
		t.Error("the child is not among our descendants")
	}
	if err := id.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if id.Alive() || !id.Ending() || self.Ending() {
		t.Error("alive after kill and wait")
	}
}
