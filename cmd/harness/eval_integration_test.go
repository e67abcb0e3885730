//go:build integration

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/reports"
)

const three = "mini__slug-1,mini__csvsplit-1,mini__kvconf-1"

// TestOnMachine uses the command on this machine, first with stacks that end with
// each command, then with one that stays up.
func TestOnMachine(t *testing.T) {
	h := newHome(t)
	t.Run("stand-alone", h.standAlone)
	t.Run("up and down", h.upAndDown)
	t.Run("steering", h.steering)
	t.Run("versions", h.versions)
	t.Run("killed", h.killed)
	t.Run("s3", h.s3)
}

func (h *home) standAlone(t *testing.T) {
	eval := func(run, ids string, more ...string) []string {
		return append([]string{"eval", "-d", "examples/mini", "--gold", "-i", ids, "--run-id", run}, more...)
	}

	t.Run("gold", func(t *testing.T) {
		h := h.in(t)
		out, notes := h.want(0, eval("gold", "mini__slug-1,mini__kvconf-1", "-o", filepath.Join(h.dir, "out"))...)
		h.says(out, "resolved      2  100.0 %", h.dir+"/out/summary.md", h.dir+"/out/trials.parquet")
		h.says(notes, "started Temporal (web UI http://", "run gold: 2 trials of mini, candidate gold", "/namespaces/default/workflows?query=RunID", "2 of 2 done")
		h.clean()
	})

	t.Run("a run id again", func(t *testing.T) {
		h := h.in(t)
		_, notes := h.want(2, eval("gold", "mini__slug-1")...)
		h.says(notes, "run gold exists and is a different one (", "entries", "choose another --run-id")
		if strings.Contains(notes, "started Temporal") {
			t.Errorf("a stack was started to find that out:\n%s", notes)
		}
		_, notes = h.want(2, eval("gold", "mini__slug-1,mini__kvconf-1", "--memory", "1GiB")...)
		h.says(notes, "(limits differ)")
		out, notes := h.want(0, eval("gold", "mini__slug-1,mini__kvconf-1", "--json")...)
		h.says(notes, "going on with run gold")
		var sum reports.Summary
		if err := json.Unmarshal([]byte(out), &sum); err != nil || sum.ResolvedInstances != 2 || sum.Harness.Run.RunID != "gold" {
			t.Errorf("report.json on standard output: %v\n%s", err, out)
		}
	})

	t.Run("a missing image", func(t *testing.T) {
		h := h.in(t)
		out, notes := h.want(4, eval("image", "mini__slug-1,mini__lru-1")...)
		h.says(notes, "1 of 2 images are not on this machine (", "mini-lru", "`harness image build examples/mini/images`",
			"1 result missing (1 infra error), 0 allowed; `harness resume image` tries them again")
		h.says(out, "infra_error      1", "resolved         1")
		var sum reports.Summary
		report, err := os.ReadFile(filepath.Join(h.dir, "artifacts/runs/image/report/report.json"))
		if err == nil {
			err = json.Unmarshal(report, &sum)
		}
		if err != nil || len(sum.Harness.InfraErrors) != 1 || sum.Harness.InfraErrors[0].Class != "ImageNotFound" {
			t.Errorf("%v: %+v", err, sum.Harness.InfraErrors)
		}
		h.want(0, "resume", "image", "--max-missing", "1")
		h.want(0, "image", "build", "examples/mini/images/lru.yaml")
		out, notes = h.want(0, "resume", "image")
		h.says(notes, "going on with run image")
		h.says(out, "resolved      2  100.0 %")
	})

	t.Run("interrupted", func(t *testing.T) {
		h := h.in(t)
		h.want(0, eval("whole", three, "--attempts", "2")...)
		c := h.start(eval("cut", three, "--attempts", "2")...)
		h.until(time.Minute, "two results and a sandbox", func() bool { return h.results("cut") >= 2 && len(h.sandboxes()) > 0 })
		if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		told := time.Now()
		h.until(5*time.Second, "sandboxes are gone", func() bool { return len(h.sandboxes()) == 0 })
		t.Logf("sandboxes were gone after %s", time.Since(told).Round(time.Millisecond))
		c.wait(130)
		h.says(c.err.String(), "stopping the sandboxes of run cut", "finished trials are kept; `harness resume cut` goes on")
		h.clean()

		kept := h.results("cut")
		if kept >= 6 {
			t.Fatal("all trials had been finished; the test interrupts too late")
		}
		out, _ := h.want(0, "runs", "list")
		h.says(out, "cut", "unfinished")
		out, notes := h.want(0, "runs", "show", "cut")
		h.says(notes, "run cut: ", "unfinished")
		h.says(out, "resolved")
		_, notes = h.want(0, "resume", "cut")
		h.says(notes, "going on with run cut: 6 trials")
		diff, err := reports.DiffNonVolatile(h.table("whole"), h.table("cut"))
		if err != nil || len(diff) > 0 {
			t.Errorf("the resumed run gives another table: %v %v", diff, err)
		}
		h.clean()
	})

	t.Run("two at once", func(t *testing.T) {
		h := h.in(t)
		first := h.start(eval("first", "mini__slug-1", "--attempts", "2")...)
		h.until(time.Minute, "the first one has a stack", func() bool { return strings.Contains(first.err.String(), "run first:") })
		second := h.start(eval("second", "mini__slug-1")...)
		h.until(10*time.Second, "the second one waits", func() bool {
			return strings.Contains(second.err.String(), "waiting for process") && strings.Contains(second.err.String(), "a run with a stack of its own")
		})
		// Looking does not wait, and ending is refused.
		out, _ := h.want(0, "status", "--json")
		h.says(out, `"mode": "embedded"`)
		_, notes := h.want(1, "down")
		h.says(notes, "has one for itself", "kill -INT")
		_, notes = h.want(1, "up")
		h.says(notes, "run `harness up` when it has ended")
		h.want(0, "image", "list")
		first.wait(0)
		second.wait(0)
		h.clean()

		// One that waits can be interrupted, too.
		first = h.start(eval("third", "mini__slug-1")...)
		h.until(time.Minute, "the first one has a stack", func() bool { return strings.Contains(first.err.String(), "run third:") })
		second = h.start("image", "build", "examples/mini/images/slug.yaml")
		h.until(10*time.Second, "the second one waits", func() bool { return strings.Contains(second.err.String(), "waiting for process") })
		if err := second.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		second.wait(130)
		first.wait(0)
	})
}

func (h *home) table(run string) string {
	return filepath.Join(h.dir, "artifacts/runs", run, "report/trials.parquet")
}

// in is the home for a subtest.
func (h *home) in(t *testing.T) *home { return &home{t: t, dir: h.dir, bin: h.bin} }
