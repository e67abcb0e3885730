package activities_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/temporal"

	"harness/activities"
	"harness/activities/trial"
	"harness/artifacts"
	"harness/eval"
	"harness/internal/runs"
	"harness/internal/runs/runstest"
	"harness/sandbox"
	"harness/sandbox/fake"
)

type script = func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result

func does(r fake.Result) script {
	return func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result { return r }
}

func (f *fixture) report(ref eval.Ref) (rep eval.TryReport) {
	f.t.Helper()
	data, err := artifacts.GetRef(f.t.Context(), f.store, ref, 1<<20)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &rep); err != nil {
		f.t.Fatal(err)
	}
	return rep
}

func (f *fixture) log(rep eval.TryReport) string {
	f.t.Helper()
	rc, err := activities.OpenLog(f.t.Context(), f.store, rep.Artifacts[eval.FileLog])
	if err != nil {
		f.t.Fatal(err)
	}
	defer rc.Close()
	data, err := io.ReadAll(rc)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(data)
}

func TestExecuteStores(t *testing.T) {
	f := newFixture(t, 1, nil)
	f.pin(0)
	f.beats = &beats{}
	done := must[activities.Executed](f, f.acts.Execute, f.trial(0))
	if want := []string{"try-1/apply.log", "try-1/patch.diff", "try-1/test.log.zst", "try-1/usage.json"}; !slices.Equal(f.keys(eval.TrialPrefix(f.id("task-0000"))), want[1:]) {
		t.Errorf("stored %q, want %q (nothing was said while applying)", f.keys(eval.TrialPrefix(f.id("task-0000"))), want[1:])
	}
	rep := f.report(done.Report)
	for name, ref := range rep.Artifacts {
		data, err := artifacts.GetBytes(t.Context(), f.store, ref.Key, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if ref.SHA256 != hex.EncodeToString(sum[:]) || ref.Size != int64(len(data)) || !strings.HasSuffix(ref.Key, "/"+name) {
			t.Errorf("%s: reference %+v is not of what is stored", name, ref)
		}
	}
	if got := f.log(rep); got != runstest.Log(true) {
		t.Errorf("log %q", got)
	}
	x := rep.Exec
	if done.Died || !rep.Applied || rep.ApplyMethod != "git-apply" || rep.Try != 1 || x.Runtime != "fake" || x.RuntimeVersion != "1" ||
		x.Worker != "w1" || x.ExitCode == nil || *x.ExitCode != 0 || x.Network != "none" || x.ImageDigest == "" || len(x.LimitsHit) != 0 {
		t.Errorf("report %+v", rep)
	}
	if rep.Usage.QueueSeconds == nil || rep.Usage.WallSeconds == nil || rep.Usage.CPUSeconds != nil {
		t.Errorf("usage %+v: what the host could not tell must stay unknown", rep.Usage)
	}
	if want := []string{"create", "apply", "tests", "collect", "store"}; !subsequence(f.beats.stages(), want) {
		t.Errorf("heartbeats told of %v, want some of %v in order", f.beats.stages(), want)
	}
	if n := len(f.rt.Living()); n != 0 {
		t.Errorf("%d sandboxes are left", n)
	}
}

// subsequence: heartbeats are sent as they can be; one may be skipped.
func subsequence(got, of []string) bool {
	i := 0
	for _, s := range got {
		for ; i < len(of) && of[i] != s; i++ {
		}
		if i == len(of) {
			return false
		}
	}
	return len(got) > 0
}

func TestExecuteRunsTheRecipe(t *testing.T) {
	f := newFixture(t, 1, nil)
	f.pin(0)
	must[activities.Executed](f, f.acts.Execute, f.trial(0))
	files := map[string]string{}
	for _, file := range f.rt.Created()[0].Files {
		files[file.Path] = string(file.Data)
	}
	if files[eval.PatchFile] != f.task(0).Patch {
		t.Errorf("patch %q", files[eval.PatchFile])
	}
	if s := files["/eval.sh"]; !strings.Contains(s, ">>>>> Test Exit Code") || !strings.Contains(s, "pytest -rA") {
		t.Errorf("eval script %q is not the task's with the exit code recorded", s)
	}
}

func (f *fixture) task(i int) eval.Task { return runstest.Tasks(i + 1)[i] }

func TestExecuteFacts(t *testing.T) {
	flood := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB, the limit is 1
	for _, c := range []struct {
		name  string
		tests fake.Result
		died  bool
		facts eval.ExecFacts
	}{
		{name: "failed", tests: fake.Result{Code: 3}, facts: eval.ExecFacts{ExitCode: num(3)}},
		{name: "died", tests: fake.Result{Died: true}, died: true, facts: eval.ExecFacts{Died: true}},
		{name: "out of memory", tests: fake.Result{Died: true, OOM: true}, facts: eval.ExecFacts{Died: true, OOMKilled: true, LimitsHit: []string{"memory"}}},
		{name: "disk full", tests: fake.Result{Died: true, DiskFull: true}, facts: eval.ExecFacts{Died: true, DiskFull: true, LimitsHit: []string{"disk"}}},
		{name: "flood", tests: fake.Result{Stdout: flood, OOM: true},
			facts: eval.ExecFacts{ExitCode: num(0), OOMKilled: true, Truncated: 1 << 20, LimitsHit: []string{"memory", "output"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, 1, does(c.tests))
			f.pin(0)
			done := must[activities.Executed](f, f.acts.Execute, f.trial(0))
			rep := f.report(done.Report)
			got := rep.Exec
			got.Runtime, got.RuntimeVersion, got.Worker, got.ImageDigest, got.Network = "", "", "", "", ""
			if done.Died != c.died || !reflect.DeepEqual(got, c.facts) {
				t.Errorf("died %v, facts %+v; want %v, %+v", done.Died, got, c.died, c.facts)
			}
			if log := f.log(rep); len(log) > 1<<20+100 {
				t.Errorf("%d bytes of log are stored, the limit is 1 MiB", len(log))
			}
		})
	}
}

func num(n int) *int { return &n }

// A try after a lost one removes what that left, takes the next number and
// leaves other trials alone.
func TestExecuteAfterALostTry(t *testing.T) {
	f := newFixture(t, 2, nil)
	f.pin(0)
	box := func(id, trial string) {
		spec := sandbox.Spec{ID: id, Owner: id, Trial: trial, ImageDigest: f.pins(0)[runstest.Image].Digest, Limits: f.run.Spec.Limits, Network: eval.NetworkNone}
		if _, err := f.rt.Create(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	box("t-lost", "run/task-0000/1/1")
	box("t-other", "run/task-0001/1/1")
	f.heartbeat = &activities.Heartbeat{Stage: "tests", SandboxID: "t-lost", Try: 2}
	done := must[activities.Executed](f, f.acts.Execute, f.trial(0))
	if left := f.rt.Living(); len(left) != 1 || left[0].ID() != "t-other" {
		t.Errorf("left are %v, want the other trial's alone", left)
	}
	if rep := f.report(done.Report); rep.Try != 3 {
		t.Errorf("the try after a lost second one is number %d, want 3", rep.Try)
	}
}

// Every fault of ours has its class, leaves a note of the try and no sandbox.
func TestExecuteFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		create error
		exec   error
		class  string
	}{
		{"create", sandbox.ErrCreate, nil, activities.ErrSandboxCreate},
		{"image gone", sandbox.ErrImageNotFound, nil, activities.ErrImageNotFound},
		{"image unusable", sandbox.ErrImageUnsupported, nil, activities.ErrImageUnsupported},
		{"lost", nil, sandbox.ErrLost, activities.ErrSandboxLost},
		{"unhealthy", nil, sandbox.ErrUnhealthy, activities.ErrRuntimeUnhealthy},
		{"unknown", nil, errors.New("odd"), activities.ErrInternal},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, 1, does(fake.Result{Err: c.exec}))
			f.pin(0)
			f.rt.OnCreate = func(context.Context, sandbox.Spec) error { return c.create }
			for try := 1; try <= 2; try++ {
				_, err := call[activities.Executed](f, f.acts.Execute, f.trial(0))
				f.wantClass(err, c.class)
				if got, want := len(f.keys(eval.TrialPrefix(f.id("task-0000")))), try; got != want {
					t.Errorf("%d notes after %d failed tries", got, want)
				}
			}
			if got := f.keys(eval.TrialPrefix(f.id("task-0000"))); !slices.Equal(got, []string{"try-1/error.json", "try-2/error.json"}) {
				t.Errorf("stored %q", got)
			}
			if n := len(f.rt.Living()); n != 0 {
				t.Errorf("%d sandboxes are left", n)
			}
		})
	}
}

func TestExecuteWithoutRuntime(t *testing.T) {
	f := newFixture(t, 1, nil, func(c *activities.Config, _ *runs.Request) { c.Runtimes = nil })
	_, err := call[activities.Executed](f, f.acts.Execute, f.trial(0))
	f.wantClass(err, activities.ErrRuntimeUnhealthy)
}

// A worker that stops ends its sandboxes at once; the trial is done again elsewhere.
func TestExecuteStopping(t *testing.T) {
	stopping := make(chan struct{})
	started := make(chan struct{})
	f := newFixture(t, 1, func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result {
		close(started)
		return fake.Result{Hang: true}
	}, func(c *activities.Config, _ *runs.Request) { c.Stopping = stopping })
	f.pin(0)
	go func() { <-started; close(stopping) }()
	_, err := call[activities.Executed](f, f.acts.Execute, f.trial(0))
	f.wantClass(err, activities.ErrWorkerStopping)
	if n := len(f.rt.Living()); n != 0 {
		t.Errorf("%d sandboxes are left", n)
	}
}

func TestExecuteCancelled(t *testing.T) {
	base, cancel := context.WithCancelCause(t.Context())
	f := newFixture(t, 1, func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result {
		cancel(temporal.NewCanceledError())
		return fake.Result{Hang: true}
	})
	f.pin(0)
	f.base = base
	_, err := call[activities.Executed](f, f.acts.Execute, f.trial(0))
	if !temporal.IsCanceledError(err) {
		t.Errorf("error %v, want a cancellation", err)
	}
	if n, keys := len(f.rt.Living()), f.keys(eval.TrialPrefix(f.id("task-0000"))); n != 0 || len(keys) != 0 {
		t.Errorf("%d sandboxes and %q are left", n, keys)
	}
}

// A spool that fails is our fault: half a log must not be graded.
func TestExecuteSpoolFails(t *testing.T) {
	spool := filepath.Join(t.TempDir(), "spool")
	f := newFixture(t, 1, nil, func(c *activities.Config, _ *runs.Request) { c.SpoolDir = spool })
	f.pin(0)
	if err := os.Remove(spool); err != nil {
		t.Fatal(err)
	}
	_, err := call[activities.Executed](f, f.acts.Execute, f.trial(0))
	f.wantClass(err, activities.ErrInternal)
	if _, msg := activities.ErrorClass(err); !strings.Contains(msg, "spool") {
		t.Errorf("message %q does not name the spool", msg)
	}
	if len(f.rt.Created()) != 0 {
		t.Error("a sandbox was made although its log has no place")
	}
}

// A store that is away for minutes costs time, not the work of a sandbox.
func TestExecuteOutlastsTheStore(t *testing.T) {
	for _, part := range []string{"spec.json", "cas/", "images/", "try-1"} {
		t.Run(strings.Trim(part, "/"), func(t *testing.T) {
			f := newFixture(t, 1, nil)
			f.pin(0)
			f.acts = f.newActivities(activities.Config{Store: f.store, SpoolDir: t.TempDir(), Runtimes: map[string]sandbox.Runtime{runstest.Runtime: f.rt}})
			synctest.Test(t, func(t *testing.T) {
				f.t = t
				back := time.Now().Add(5 * time.Minute)
				f.store.breakIt(func(op, key string) error {
					if strings.Contains(key, part) && time.Now().Before(back) {
						return errAway
					}
					return nil
				})
				done := must[activities.Executed](f, f.acts.Execute, f.trial(0))
				if time.Now().Before(back) {
					t.Error("the store was not asked")
				}
				if rep := f.report(done.Report); f.log(rep) != runstest.Log(true) {
					t.Error("the log is not whole")
				}
				if n := len(f.rt.Created()); n != 1 {
					t.Errorf("%d sandboxes, want 1", n)
				}
			})
		})
	}
}

func TestExecuteGivesUpOnTheStore(t *testing.T) {
	f := newFixture(t, 1, nil, func(c *activities.Config, _ *runs.Request) { c.StorePatience = time.Nanosecond })
	f.pin(0)
	f.store.breakIt(func(op, key string) error {
		if op == "put" {
			return errAway
		}
		return nil
	})
	_, err := call[activities.Executed](f, f.acts.Execute, f.trial(0))
	f.wantClass(err, activities.ErrArtifactStore)
	if n := len(f.rt.Living()); n != 0 {
		t.Errorf("%d sandboxes are left", n)
	}
}

func TestSandboxIDsAreFresh(t *testing.T) {
	f := newFixture(t, 1, nil)
	f.pin(0)
	for range 2 {
		must[activities.Executed](f, f.acts.Execute, f.trial(0))
	}
	c := f.rt.Created()
	if c[0].ID == c[1].ID || c[0].ID != trial.SandboxID(c[0].Owner) || c[0].Trial != c[1].Trial {
		t.Errorf("sandboxes %q and %q of trials %q and %q", c[0].ID, c[1].ID, c[0].Trial, c[1].Trial)
	}
}
