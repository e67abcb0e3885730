//go:build integration

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/localstack"
	"harness/internal/proc"
)

func (h *home) status(t *testing.T) (st localstack.State) {
	t.Helper()
	out, _ := h.in(t).want(0, "status", "--json")
	if err := json.Unmarshal([]byte(out), &st); err != nil {
		t.Fatalf("status --json: %v\n%s", err, out)
	}
	return st
}

func (h *home) upAndDown(t *testing.T) {
	h = h.in(t)
	out, _ := h.want(0, "up")
	h.says(out, "web UI", "http://127.0.0.1:", h.dir+"/artifacts")
	st := h.status(t)
	if st.Mode != "up" || !st.Ready || st.TemporalUI == "" || st.Slots < 1 || st.Version != "test" {
		t.Errorf("state %+v", st)
	}
	again, notes := h.want(0, "up")
	h.says(notes, "the local stack is up already")
	if again != out {
		t.Errorf("a second up shows another stack:\n%s\n%s", again, out)
	}
	_, notes = h.want(2, "up", "--s3")
	h.says(notes, "has no S3 server; `harness down` first")

	_, notes = h.want(2, "eval", "-d", "examples/mini", "--gold", "-i", "mini__slug-1", "--store", filepath.Join(h.dir, "elsewhere"))
	h.says(notes, "keeps its artifacts in "+h.dir+"/artifacts, not in", "leave --store out")
	_, notes = h.want(2, "eval", "-d", "examples/mini", "--gold", "-i", "mini__slug-1", "--runtime", "io.containerd.other.v1")
	h.says(notes, "offers the runtimes runsc and runc")
	out, notes = h.want(0, "eval", "-d", "examples/mini", "--gold", "-i", "mini__slug-1", "--run-id", "onup", "--runtime", "runc")
	h.says(out, "resolved      1  100.0 %")
	if strings.Contains(notes, "started Temporal") {
		t.Errorf("the run started a stack of its own:\n%s", notes)
	}
	out, _ = h.want(0, "sandbox", "ps")
	if strings.Count(out, "\n") != 1 {
		t.Errorf("sandboxes are left:\n%s", out)
	}
	_, notes = h.want(0, "down")
	h.says(notes, "the local stack is down")
	h.clean()
	_, notes = h.want(0, "down")
	h.says(notes, "the local stack is not up")

	// A port that somebody else took is replaced, others stay.
	var ui int
	if _, err := fmt.Sscanf(st.TemporalUI, "http://127.0.0.1:%d", &ui); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(ui)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h.want(0, "up")
	if got := h.status(t); got.TemporalUI == st.TemporalUI || got.Temporal != st.Temporal {
		t.Errorf("ports: %s and %s, before %s and %s", got.TemporalUI, got.Temporal, st.TemporalUI, st.Temporal)
	}
	h.want(0, "down")
}

func (h *home) steering(t *testing.T) {
	h = h.in(t)
	h.want(0, "up")
	defer h.want(0, "down")
	run := func(id string, more ...string) *call {
		c := h.start(append([]string{"eval", "-d", "examples/mini", "--gold", "-i", three, "--run-id", id}, more...)...)
		h.until(time.Minute, "the run goes on", func() bool { return strings.Contains(c.err.String(), " done, ") })
		return c
	}

	c := run("steered", "--attempts", "4", "-j", "1")
	_, notes := h.want(0, "runs", "pause", "steered")
	h.says(notes, "run steered is paused")
	_, notes = h.want(2, "runs", "pause", "steered")
	h.says(notes, "run steered: the run is paused already")
	h.until(time.Minute, "the command shows the pause", func() bool { return strings.Contains(c.err.String(), "paused") })
	out, _ := h.want(0, "runs", "list")
	h.says(out, "steered", "running")
	_, notes = h.want(0, "runs", "show", "steered")
	h.says(notes, "run steered goes on")
	_, notes = h.want(2, "runs", "rm", "steered")
	h.says(notes, "`harness runs cancel steered`")
	_, notes = h.want(2, "runs", "concurrency", "steered", "-j", "0")
	h.says(notes, "concurrency 0: between 1 and")
	h.want(0, "runs", "concurrency", "steered", "-j", "2")
	watcher := h.start("runs", "watch", "steered")
	h.want(0, "runs", "unpause", "steered")
	h.want(2, "runs", "unpause", "steered")

	// A command that only looks may go; the run does not.
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	c.wait(130)
	h.says(c.err.String(), "no longer watching; run steered goes on", "`harness runs cancel steered` ends it")
	h.until(time.Minute, "two results", func() bool { return h.results("steered") >= 2 })
	_, notes = h.want(0, "runs", "cancel", "steered")
	h.says(notes, "is being cancelled")
	watcher.wait(0)
	h.says(watcher.err.String(), "run steered was cancelled", "run steered has ended")
	h.until(10*time.Second, "sandboxes are gone", func() bool { return len(h.sandboxes()) == 0 })
	for _, verb := range []string{"cancel", "pause", "watch"} {
		_, notes = h.want(2, "runs", verb, "steered")
		h.says(notes, "run steered is not going on; `harness runs show steered` shows what it has")
	}
}

func (h *home) versions(t *testing.T) {
	h = h.in(t)
	other := filepath.Join(h.dir, "harness-newer")
	h.build(other, "newer")
	h.want(0, "up")
	defer h.want(0, "down")
	c := h.startBinary(other, "eval", "-d", "examples/mini", "--gold", "-i", "mini__slug-1")
	c.wait(0)
	h.says(c.err.String(), "is of version test, this command of newer")
	c = h.startBinary(other, "up")
	h.says(c.wait(0), "newer")
	h.says(c.err.String(), "replacing it by one of newer")
	if st := h.status(t); st.Version != "newer" {
		t.Errorf("the stack is of version %s", st.Version)
	}
}

func (h *home) killed(t *testing.T) {
	h = h.in(t)
	kill := func() {
		t.Helper()
		h.want(0, "up")
		owner := h.status(t).Owner
		if err := owner.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		h.until(5*time.Second, "the owner is dead", func() bool { return !owner.Alive() })
		out, _ := h.want(0, "status", "--json")
		h.says(out, `"up": false`, `"left_behind": true`)
		_, notes := h.want(0, "status")
		h.says(notes, "its process was killed", "`harness up` takes over", "`harness down` ends")
	}
	kill()
	_, notes := h.want(0, "up")
	h.says(notes, "a former stack was killed; taking over what it left")
	h.want(0, "eval", "-d", "examples/mini", "--gold", "-i", "mini__slug-1")
	h.want(0, "down")
	h.clean()

	kill()
	_, notes = h.want(0, "down")
	h.says(notes, "the local stack is down")
	h.clean()

	kill()
	h.want(0, "eval", "-d", "examples/mini", "--gold", "-i", "mini__slug-1")
	h.clean()

	// Found by its lock, not by a pid that may be another's by now.
	state := filepath.Join(h.dir, "stack", "state.json")
	stale, err := json.Marshal(localstack.State{Owner: proc.Self(), Mode: "up", Ready: true})
	if err == nil {
		err = os.WriteFile(state, stale, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, _ := h.want(0, "status", "--json")
	h.says(out, `"up": false`)
	h.want(0, "down")
	h.clean()
}

func (h *home) s3(t *testing.T) {
	h = h.in(t)
	out, _ := h.want(0, "up", "--s3")
	h.says(out, "s3", "s3://harness")
	out, _ = h.want(0, "eval", "-d", "examples/mini", "--gold", "-i", "mini__slug-1,mini__kvconf-1", "--run-id", "ons3", "-o", filepath.Join(h.dir, "s3out"))
	h.says(out, "resolved      2  100.0 %")
	if _, err := os.Stat(filepath.Join(h.dir, "s3out", "trials.parquet")); err != nil {
		t.Error(err)
	}
	if h.results("ons3") != 0 {
		t.Error("results are in the folder store")
	}
	out, _ = h.want(0, "runs", "list")
	h.says(out, "ons3", "finished")
	out, _ = h.want(0, "runs", "show", "ons3")
	h.says(out, "s3://harness/runs/ons3/report/summary.md")
	out, _ = h.want(0, "task", "logs", "ons3", "mini__slug-1")
	h.says(out, ">>>>> End Test Output")
	h.want(0, "down")
	h.clean()
}
