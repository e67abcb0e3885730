//go:build integration

package evidence_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"harness/sandbox/evidence"
)

// Every point that PodInit names exists in the pinned gVisor: without this a
// sandbox would not start at all.
func TestPointsExist(t *testing.T) {
	b := newBox(t)
	out, err := exec.Command(b.runsc, "trace", "metadata").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := evidence.PodInit(evidence.Config{Socket: "/run/s", Watch: evidence.DefaultWatch()})
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Session struct {
			Points []struct{ Name string }
		} `json:"trace_session"`
	}
	if err := json.Unmarshal(data, &config); err != nil || len(config.Session.Points) < 50 {
		t.Fatalf("%d points, %v", len(config.Session.Points), err)
	}
	for _, p := range config.Session.Points {
		if !bytes.Contains(out, []byte("Name: "+p.Name+",")) {
			t.Errorf("no point %s", p.Name)
		}
	}
}

// The pinned gVisor reports what a program did.
func TestRunsc(t *testing.T) {
	b := newBox(t)
	tr := newTrace(t, evidence.Config{Watch: evidence.DefaultWatch(), Digests: true})
	_, stderr := b.run(t, tr.config, "work")
	sum, events := tr.close(t)
	if !sum.Complete || sum.Dropped != 0 {
		t.Errorf("gaps: %q", sum.Gaps)
	}
	t.Logf("counts %v, %d bytes", sum.Counts, sum.Bytes)
	for name, c := range map[string]struct {
		match func(evidence.Event) bool
		times int
	}{
		"start": {func(e evidence.Event) bool {
			return e.Kind == evidence.KindStart && e.PID == 1 && e.Path == "/inside" && e.Args[1] == "work"
		}, 1},
		"20 execs with digest": {func(e evidence.Event) bool {
			return e.Kind == evidence.KindExec && e.Path == "/inside" && len(e.SHA256) == 64 && strings.Join(e.Args, " ") == "/inside true" && *e.UID == 0
		}, 20},
		"exec of a copy": {func(e evidence.Event) bool { return e.Kind == evidence.KindExec && e.Path == "/tmp/copy" }, 1},
		"exec from another thread": {func(e evidence.Event) bool {
			return e.Kind == evidence.KindExec && len(e.Args) == 3 && e.Args[2] == "late"
		}, 1},
		"hidden exec": {func(e evidence.Event) bool { return e.Kind == evidence.KindExecHidden }, 1},
		"exec with an odd environment": {func(e evidence.Event) bool {
			return e.Kind == evidence.KindExecAttempt && e.Path == "/inside" && len(e.Args) == 2
		}, 1},
		"ptrace":     {func(e evidence.Event) bool { return e.Kind == "ptrace" && e.Values[0] == 16 && e.Errno != "" }, 1},
		"mount":      {func(e evidence.Event) bool { return e.Kind == "mount" && e.Errno == "EPERM" && *e.UID == 0 }, 1},
		"raw socket": {func(e evidence.Event) bool { return e.Kind == evidence.KindSocket && e.Values[1] == 3 }, 1},
		"bind": {func(e evidence.Event) bool {
			return e.Kind == evidence.KindBind && e.Addr == "0.0.0.0:8080" && e.Errno == ""
		}, 1},
		"listen": {func(e evidence.Event) bool { return e.Kind == "listen" && e.Errno == "" }, 1},
		"connect inside": {func(e evidence.Event) bool {
			return e.Kind == evidence.KindConnect && e.Addr == "127.0.0.1:8080"
		}, 1},
		"connect outside": {func(e evidence.Event) bool {
			return e.Kind == evidence.KindConnect && e.Addr == "192.0.2.1:53" && e.Exe == "/inside" && e.Errno == "ENETUNREACH"
		}, 1},
		"setuid": {func(e evidence.Event) bool { return e.Kind == "setuid" && e.Values[0] == 65534 && e.Errno == "EPERM" }, 1},
		"read of a watched file": {func(e evidence.Event) bool {
			return e.Kind == evidence.KindOpen && e.Path == "/etc/shadow" && !e.Write
		}, 1},
		"write of a watched file": {func(e evidence.Event) bool {
			return e.Kind == evidence.KindOpen && e.Path == "/work/conftest.py" && e.Write && e.Errno == ""
		}, 1},
	} {
		n := 0
		for _, e := range events {
			if c.match(e) {
				n++
			}
		}
		if n != c.times {
			t.Errorf("%s: seen %d times, want %d", name, n, c.times)
		}
	}
	// Go's own start of a process makes one more, once, to see what the kernel can.
	if c := sum.Counts; c[evidence.KindClone] < 25 || c[evidence.KindExit] != c[evidence.KindClone]+1 {
		t.Errorf("%d processes made, %d ended", c[evidence.KindClone], c[evidence.KindExit])
	}
	if c := sum.Counts; c[evidence.KindExecAttempt] != 1 || c[evidence.KindExecHidden] != 1 {
		t.Errorf("starts of programs that failed: %v", c)
	}
	if t.Failed() {
		for _, e := range events {
			line, _ := json.Marshal(e)
			t.Logf("%s", line)
		}
		t.Log(stderr)
	}
	for _, e := range sum.Events() {
		t.Logf("%-6s %-14s %s", e.Severity, e.Kind, e.Detail)
	}
}

// A program that the runtime starts in a running sandbox is not reported itself; its
// end and what it does are. That the sandbox was killed is no gap.
func TestRuntimeExec(t *testing.T) {
	b := newBox(t)
	tr := newTrace(t, evidence.Config{})
	id := b.prepare(t, "sleep")
	b.command(t, tr.config, "run", "--detach", "--bundle", b.bundle, id)
	t.Cleanup(func() { b.command(t, "", "delete", "--force", id) })
	b.command(t, "", "exec", id, "/inside", "parent")
	b.command(t, "", "kill", id, "KILL")
	b.command(t, "", "delete", "--force", id)
	sum, events := tr.close(t)
	if !sum.Complete {
		t.Errorf("gaps: %q", sum.Gaps)
	}
	execs, ends := map[string]int{}, map[string]int{}
	for _, e := range events {
		switch e.Kind {
		case evidence.KindExec:
			execs[strings.Join(e.Args, " ")]++
		case evidence.KindExit:
			ends[e.Exe+" "+e.Status]++
		}
	}
	if execs["/inside true"] != 1 || execs["/inside parent"] != 0 || ends[" 0"] == 0 {
		t.Errorf("programs started %v, ended %v", execs, ends)
	}
}
