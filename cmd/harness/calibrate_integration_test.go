//go:build integration

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/datasets"
	"harness/eval"
	"harness/internal/calibrate"
	"harness/internal/checkout"
	"harness/reports"
	"harness/scoring/calibration"
)

// coins is how many tests of the flaky task are thrown anew each time. That two
// executions agree in all of them does not happen.
const coins = 64

// calibrationTasks are two of the examples and two made for the purpose, all in
// images that are there: one whose tests are chance, one whose test passes on the
// host's own kernel only.
func calibrationTasks(t *testing.T) []eval.Task {
	t.Helper()
	ds, err := datasets.Load(t.Context(), filepath.Join(checkout.Root(t), "examples/mini/dataset.jsonl"), datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := ds.Select([]string{"mini__slug-1", "mini__kvconf-1"}, "")
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	made := func(id, script string, tests ...string) eval.Task {
		task := tasks[slices.IndexFunc(tasks, func(t eval.Task) bool { return t.InstanceID == "mini__kvconf-1" })]
		task.InstanceID, task.FailToPass, task.PassToPass = id, []string{"patched"}, tests
		task.EvalScript = "#!/bin/bash\nset -x\ncd /testbed\n: '>>>>> Start Test Output'\n(\nset +x\n" +
			"git diff --quiet HEAD && echo 'FAIL: patched' || echo 'PASS: patched'\n" + script +
			") 2>/dev/null | cat\n: '>>>>> End Test Output'\n"
		return task
	}
	var names []string
	for i := range coins {
		names = append(names, "coin "+string(rune('a'+i/26))+string(rune('a'+i%26)))
	}
	flaky := made("mini__flaky-1", "for n in "+strings.ReplaceAll(strings.Join(names, " "), "coin ", "")+"; do ((RANDOM & 64)) && echo \"PASS: coin $n\" || echo \"FAIL: coin $n\"; done\n", names...)
	kernels := made("mini__kernel-1", "[ \"$(uname -r)\" = '"+strings.TrimSpace(string(kernel))+"' ] && echo 'PASS: kernel' || echo 'FAIL: kernel'\n", "kernel")
	noGold := tasks[0]
	noGold.InstanceID, noGold.Patch = "mini__nogold-1", ""
	return append(tasks, flaky, kernels, noGold)
}

func TestCalibrate(t *testing.T) {
	h := newHome(t)
	dir := t.TempDir()
	tasks := calibrationTasks(t)
	write := func() {
		t.Helper()
		if err := datasets.WriteFile(t.Context(), filepath.Join(dir, "dataset.jsonl"), &datasets.Dataset{Name: "cal", Tasks: tasks}); err != nil {
			t.Fatal(err)
		}
	}
	write()
	file := filepath.Join(dir, "calibration.parquet")
	args := []string{"dataset", "calibrate", "-d", dir, "-n", "2"}

	// Interrupted in its first run, it goes on where it stopped.
	cut := h.start(args...)
	h.until(time.Minute, "a result", func() bool { return h.results("calibrate-runsc-gold-*") >= 1 })
	if err := cut.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	cut.wait(130)
	h.says(cut.err.String(), "the same `harness dataset calibrate` goes on with the calibration", "1 task without a gold patch or solution: mini__nogold-1")
	if _, err := os.Stat(file); err == nil {
		t.Error("an interrupted calibration left a table")
	}
	out, notes := h.want(0, append(args, "--json")...)
	h.says(notes, "going on with run calibrate-runsc-gold-", "[4/4] unpatched under runc, 2 repeats")
	h.clean()
	var sum calibrate.Summary
	if err := json.Unmarshal([]byte(out), &sum); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if sum.File != file || sum.Tasks != len(tasks) || len(sum.Runtimes) != 2 || !slices.Equal(sum.Differing, []string{"mini__kernel-1"}) {
		t.Errorf("summary %s", out)
	}
	checkCalibration(t, file)

	out, notes = h.want(0, args...)
	h.says(notes, "all 4 runs of this calibration are finished and stored; nothing is executed again")
	h.says(out, "tasks that end otherwise under another runtime: 1: mini__kernel-1")
	if strings.Contains(notes, "started Temporal") {
		t.Errorf("a stack was started for nothing:\n%s", notes)
	}

	out, notes = h.want(0, "eval", "-d", dir, "--gold", "--run-id", "against")
	h.says(notes, "calibration "+file+": of 5 of 5 tasks")
	h.says(out, "calibrated tasks only", "2 of 2", "calibration: 2 of 5 tasks calibrated under runsc", "mini__kernel-1 (gold_fails)", "mini__nogold-1 (no_gold_patch)",
		"quarantined tests (shown only, they change no verdict)", "not resolved through quarantined tests alone: ")
	before := h.calibrated("against")
	// Of the coins it is chance whether one fails that never did before.
	if _, alone, _ := strings.Cut(before, `"only_quarantined"`); !strings.Contains(alone, `"mini__kernel-1"`) {
		t.Errorf("a task whose one failing test is quarantined is not named:\n%s", before)
	}

	// The run has frozen what it was shown against.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	h.want(0, "report", "against")
	if after := h.calibrated("against"); after != before {
		t.Errorf("the report made anew says\n%s\nbefore it was\n%s", after, before)
	}

	// A calibration of tasks that have changed since is named and not used.
	h.want(0, args...)
	for i := range tasks {
		if tasks[i].InstanceID == "mini__slug-1" {
			tasks[i].ProblemStatement += " (another text)"
		}
	}
	write()
	out, notes = h.want(0, "eval", "-d", dir, "--gold", "-i", "mini__slug-1,mini__kvconf-1", "--run-id", "changed")
	h.says(notes, "calibration: 1 task changed since, so what it says of them is not used: mini__slug-1")
	h.says(out, "1 of 1", "mini__slug-1 (changed_since_calibration)")
	_, notes = h.want(0, "eval", "-d", dir, "--gold", "-i", "mini__slug-1", "--run-id", "stale")
	h.says(notes, "calibration ignored: ", "fits no task of this run")
	_, notes = h.want(2, "eval", "-d", dir, "--gold", "-i", "mini__slug-1", "--run-id", "asked", "--calibration", file)
	h.says(notes, "fits no task of this run", "`harness dataset calibrate` makes one that does")
	h.clean()
}

// calibrated is what report.json of a run says of its calibration.
func (h *home) calibrated(run string) string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, "artifacts/runs", run, "report/report.json"))
	var sum reports.Summary
	if err == nil {
		err = json.Unmarshal(data, &sum)
	}
	if err != nil || sum.Harness.Calibration == nil {
		h.t.Fatalf("no calibration in the report of %s: %v", run, err)
	}
	out, err := json.MarshalIndent(sum.Harness.Calibration, "", " ")
	if err != nil {
		h.t.Fatal(err)
	}
	return string(out)
}

func checkCalibration(t *testing.T, file string) {
	t.Helper()
	calibrated := map[string]string{}
	_, err := reports.EachCalibrated(t.Context(), file, func(task calibration.Task) error {
		word := "unknown"
		if task.Calibrated != nil {
			word = map[bool]string{true: "yes", false: "no"}[*task.Calibrated]
		}
		calibrated[task.InstanceID+" "+task.Runtime] = word
		flaky := 0
		for _, test := range task.Tests {
			disagree := test.Gold.Seen[0] != test.Gold.Seen[1] || test.Noop.Seen[0] != test.Noop.Seen[1]
			if got := slices.Contains(test.Reasons, calibration.Flaky); got != disagree {
				t.Errorf("%s %s: seen %q and %q, flaky is %v", task.Runtime, test.Name, test.Gold.Seen, test.Noop.Seen, got)
			}
			if disagree {
				flaky++
			}
			if test.Name == "kernel" && !slices.Contains(test.Reasons, calibration.Differs) {
				t.Errorf("%s: a test of the kernel does not differ between runtimes: %+v", task.Runtime, test)
			}
		}
		if (flaky > 0) != (task.InstanceID == "mini__flaky-1") {
			t.Errorf("%s under %s has %d flaky tests", task.InstanceID, task.Runtime, flaky)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"mini__slug-1 runsc": "yes", "mini__slug-1 runc": "yes", "mini__kvconf-1 runsc": "yes", "mini__kvconf-1 runc": "yes",
		"mini__flaky-1 runsc": "no", "mini__flaky-1 runc": "no", "mini__kernel-1 runsc": "no", "mini__kernel-1 runc": "yes",
		"mini__nogold-1 runsc": "unknown", "mini__nogold-1 runc": "unknown",
	} {
		if calibrated[key] != want {
			t.Errorf("%s: calibrated %q, want %s", key, calibrated[key], want)
		}
	}
}
