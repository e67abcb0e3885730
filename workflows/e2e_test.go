//go:build e2e

package workflows_test

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"harness/artifacts"
	"harness/eval"
	"harness/internal/runs"
	"harness/internal/runs/runstest"
	"harness/internal/testenv"
	"harness/sandbox"
	"harness/sandbox/fake"
	"harness/workflows"
)

func base(key string) string { return path.Base(key) }

// id is the task of a sandbox.
func id(b *fake.Sandbox) string { return strings.Split(b.Spec().Trial, "/")[1] }

func resolves(delay time.Duration) fake.Result {
	return fake.Result{Stdout: runstest.Log(true), Delay: delay}
}

// TestEndToEnd runs all of it against one server.
func TestEndToEnd(t *testing.T) {
	address := testenv.Temporal(t, workflows.SearchAttributes())
	for _, c := range []struct {
		name string
		run  func(c *cluster)
	}{
		{"happy", happyPath},
		{"throughput", throughput},
		{"retry", retry},
		{"infra", infraFailure},
		{"steer", steer},
		{"cancel", cancelled},
		{"outage", outage},
		{"resume", resumed},
		{"kill", killed},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(newCluster(t, address)) })
	}
}

func happyPath(c *cluster) {
	c.work(runstest.Sandboxes(func(_ context.Context, b *fake.Sandbox, _ sandbox.Process) fake.Result {
		return fake.Result{Stdout: runstest.Log(id(b) != "task-0003")}
	}))
	p := c.plan("happy", 40, func(r *runs.Request) { r.Spec.ShardSize = 20 })
	res, sum := c.finish(c.start(p, 5))
	wantTally(c.t, res.Tally, workflows.Tally{eval.Resolved: 39, eval.Unresolved: 1})
	c.wantOutcomes("happy", map[string]int{"resolved": 39, "unresolved": 1})
	if res.Report.Key != eval.ReportKey("happy", "report.json") || sum.ResolvedInstances != 39 {
		c.t.Errorf("result %+v", res)
	}
	attrs := c.describe(eval.TaskWorkflowID("happy", "task-0003", 1)).GetSearchAttributes().GetIndexedFields()
	for name, want := range map[string]string{"RunID": `"happy"`, "InstanceID": `"task-0003"`, "Outcome": `"unresolved"`, "Dataset": `"tests"`, "Agent": `"gold"`} {
		if got := string(attrs[name].GetData()); got != want {
			c.t.Errorf("search attribute %s = %s, want %s", name, got, want)
		}
	}
	c.record("happy", "happy", "happy/0", "happy/task-0000/1")
}

// throughput is a run of two full shards' length of history, and what a trial costs.
func throughput(c *cluster) {
	const n = 200
	c.work(runstest.Sandboxes(nil))
	p := c.plan("many", n, func(r *runs.Request) { r.Spec.ShardSize = 120 })
	start := time.Now()
	res, _ := c.finish(c.start(p, 40))
	took := time.Since(start)
	wantTally(c.t, res.Tally, workflows.Tally{eval.Resolved: n})
	events := len(c.history("many", "").Events)
	for shard := range 2 {
		events += len(c.history(eval.ShardWorkflowID("many", shard), "").Events)
	}
	child := len(c.history("many/task-0000/1", "").Events)
	each := float64(events)/n + float64(child)
	c.t.Logf("%d trials in %.1fs, %.1f a second; %.1f events a trial, %d of them its own", n, took.Seconds(), n/took.Seconds(), each, child)
	if each > 25 {
		c.t.Errorf("%.1f events a trial, at most 25 are planned for", each)
	}
	if got, tries := c.results("many"); got != n || tries != n {
		c.t.Errorf("%d results of %d tries, want %d of each", got, tries, n)
	}
}

// retry: a sandbox that dies once, one that dies always, one that is not created at first.
func retry(c *cluster) {
	var died, refused atomic.Int64
	rt := runstest.Sandboxes(func(_ context.Context, b *fake.Sandbox, _ sandbox.Process) fake.Result {
		switch {
		case id(b) == "task-0000" && died.Add(1) == 1, id(b) == "task-0001":
			return fake.Result{Died: true}
		}
		return resolves(0)
	})
	rt.OnCreate = func(_ context.Context, s sandbox.Spec) error {
		if strings.Contains(s.Trial, "task-0002") && refused.Add(1) == 1 {
			return sandbox.ErrCreate
		}
		return nil
	}
	c.work(rt)
	res, _ := c.finish(c.start(c.plan("retry", 3, nil), 1))
	wantTally(c.t, res.Tally, workflows.Tally{eval.Resolved: 2, eval.SandboxDied: 1})
	for instance, want := range map[string]int{"task-0000": 2, "task-0001": 2, "task-0002": 2} {
		got, err := runs.Trial(c.t.Context(), c.store, "retry", instance, 1, 1)
		if err != nil || got.Tries != want {
			c.t.Errorf("%s: %d tries (%v), want %d", instance, got.Tries, err, want)
		}
	}
	if n := len(rt.Living()); n != 0 {
		c.t.Errorf("%d sandboxes are left", n)
	}
	c.record("retry", "retry/task-0000/1", "retry/task-0001/1", "retry/task-0002/1")
}

// infraFailure: faults of ours end as missing data, and are done by a resumed run.
func infraFailure(c *cluster) {
	var broken atomic.Bool
	broken.Store(true)
	rt := runstest.Sandboxes(nil)
	rt.OnCreate = func(_ context.Context, s sandbox.Spec) error {
		if strings.Contains(s.Trial, "task-0001") && broken.Load() {
			return sandbox.ErrCreate
		}
		return nil
	}
	c.work(rt)
	p := c.plan("infra", 4, func(r *runs.Request) { r.Spec.MaxInfraTries, r.Tasks[2].Image = 2, "gone:1" })
	res, _ := c.finish(c.start(p, 4))
	wantTally(c.t, res.Tally, workflows.Tally{eval.Resolved: 2, eval.InfraError: 2})
	c.wantOutcomes("infra", map[string]int{"resolved": 2, "infra_error": 2})
	c.record("infra", "infra", "infra/0", "infra/task-0001/1", "infra/task-0002/1")

	broken.Store(false)
	rt.AddImage("gone:1", nil)
	res, _ = c.finish(c.start(p, 4))
	wantTally(c.t, res.Tally, workflows.Tally{eval.Resolved: 4})
	c.wantOutcomes("infra", map[string]int{"resolved": 4})
	if n := len(rt.Created()); n != 4 {
		c.t.Errorf("%d sandboxes for 4 trials: finished ones were done again", n)
	}
}

// steer: pause, another window, resume, one task cancelled, infra errors retried.
func steer(c *cluster) {
	var hold atomic.Bool
	hold.Store(true)
	release := make(chan struct{})
	var faults atomic.Int64
	rt := runstest.Sandboxes(func(ctx context.Context, b *fake.Sandbox, _ sandbox.Process) fake.Result {
		if id(b) == "task-0001" {
			return fake.Result{Hang: true}
		}
		if hold.Load() {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		if id(b) == "task-0002" && faults.Add(1) == 1 {
			return fake.Result{Err: sandbox.ErrUnhealthy}
		}
		return resolves(0)
	})
	c.work(rt)
	wf := c.start(c.plan("steer", 12, func(r *runs.Request) { r.Spec.ShardSize, r.Spec.MaxInfraTries = 6, 1 }), 3)
	update := func(name string, args ...any) {
		c.t.Helper()
		if err := runs.Update(c.t.Context(), c.client, "steer", name, args...); err != nil {
			c.t.Fatal(err)
		}
	}
	c.until("three trials run", func() bool { return len(rt.Created()) == 3 })
	update(workflows.UpdatePause)
	if err := runs.Update(c.t.Context(), c.client, "steer", workflows.UpdatePause); err == nil || !strings.Contains(err.Error(), "paused already") {
		c.t.Errorf("paused twice: %v", err)
	}
	time.Sleep(500 * time.Millisecond) // the shard hears of it
	hold.Store(false)
	close(release)
	c.until("the trials under way end", func() bool { return len(rt.Living()) == 1 })
	time.Sleep(500 * time.Millisecond)
	if n := len(rt.Created()); n != 3 {
		c.t.Errorf("%d trials were started, 3 of them before the pause", n)
	}
	p, err := runs.Ask(c.t.Context(), c.client, "steer")
	if err != nil || !p.Paused || p.Running != 1 || p.Tally.Total() != 2 {
		c.t.Errorf("progress %+v, error %v", p, err)
	}
	update(workflows.UpdateCancelTask, workflows.CancelTask{InstanceID: "task-0001", Attempt: 1})
	if err := runs.Update(c.t.Context(), c.client, "steer", workflows.UpdateCancelTask, workflows.CancelTask{InstanceID: "task-0011", Attempt: 1}); err == nil {
		c.t.Error("a task that has not been started was cancelled")
	}
	update(workflows.UpdateSetConcurrency, 4)
	update(workflows.UpdateRetryInfra)
	update(workflows.UpdateResume)
	res, _ := c.finish(wf)
	wantTally(c.t, res.Tally, workflows.Tally{eval.Resolved: 11, eval.Cancelled: 1})
	c.wantOutcomes("steer", map[string]int{"resolved": 11, "cancelled": 1})
	c.record("steer", "steer", "steer/1", "steer/task-0001/1")
	c.recordChain("steer", "steer/0", c.runsOf("steer", "steer/0"))
}

// cancelled: a run that a person ends is shown as cancelled and still has its table.
func cancelled(c *cluster) {
	rt := runstest.Sandboxes(func(_ context.Context, b *fake.Sandbox, _ sandbox.Process) fake.Result {
		if id(b) >= "task-0002" {
			return fake.Result{Hang: true}
		}
		return resolves(0)
	})
	c.work(rt)
	wf := c.start(c.plan("cancel", 8, func(r *runs.Request) { r.Spec.ShardSize = 6 }), 3)
	c.until("two are done, three run", func() bool { n, _ := c.results("cancel"); return n == 2 && len(rt.Living()) == 3 })
	start := time.Now()
	if err := runs.Cancel(c.t.Context(), c.client, "cancel"); err != nil {
		c.t.Fatal(err)
	}
	err := wf.Get(c.t.Context(), nil)
	if !temporal.IsCanceledError(err) {
		c.t.Errorf("error %v, want a cancellation", err)
	}
	c.t.Logf("cancelled in %.1fs", time.Since(start).Seconds())
	if got := c.status("cancel"); got != enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED {
		c.t.Errorf("the run is shown as %s", got)
	}
	if n := len(rt.Living()); n != 0 {
		c.t.Errorf("%d sandboxes are left", n)
	}
	c.wantOutcomes("cancel", map[string]int{"resolved": 2, "cancelled": 6})
	c.record("cancel", "cancel", "cancel/0", "cancel/task-0002/1")
}

// outage: the artifact store goes away between execution and grading, for longer
// than a workflow task lasts.
func outage(c *cluster) {
	s := &brittle{Store: c.store, after: eval.FileUsage}
	c.store = s
	rt := runstest.Sandboxes(nil)
	c.work(rt)
	p := c.plan("outage", 3, nil)
	start := time.Now()
	res, _ := c.finish(c.start(p, 1))
	wantTally(c.t, res.Tally, workflows.Tally{eval.Resolved: 3})
	if got, tries := c.results("outage"); got != 3 || tries != 3 || len(rt.Created()) != 3 {
		c.t.Errorf("%d results of %d tries, want 3 of each", got, tries)
	}
	if took := time.Since(start); took < outageLasts {
		c.t.Errorf("the run took %v, the outage was not noticed", took)
	}
	c.record("outage", "outage/task-0000/1")
}

// resumed: a run that was ended from outside is started anew at once, while the
// workflows of the old one are still being ended.
func resumed(c *cluster) {
	rt := runstest.Sandboxes(func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result {
		return resolves(300 * time.Millisecond)
	})
	c.work(rt)
	p := c.plan("resume", 40, func(r *runs.Request) { r.Spec.ShardSize = 25 })
	c.start(p, 10)
	c.until("some are done", func() bool { n, _ := c.results("resume"); return n >= 5 })
	if err := runs.Terminate(c.t.Context(), c.client, "resume", "a test"); err != nil {
		c.t.Fatal(err)
	}
	before, _ := c.results("resume")
	res, _ := c.finish(c.start(p, 10))
	wantTally(c.t, res.Tally, workflows.Tally{eval.Resolved: 40})
	c.wantOutcomes("resume", map[string]int{"resolved": 40})
	got, tries := c.results("resume")
	if got != 40 || tries > 40+10 {
		c.t.Errorf("%d results of %d tries; want 40, and at most the 10 that were in flight twice", got, tries)
	}
	c.t.Logf("%d were done before, %d tries in all", before, tries)
	// Ending one that has ended is no error, and the same request joins a run.
	if err := runs.Terminate(c.t.Context(), c.client, "resume", "again"); err != nil {
		c.t.Error(err)
	}
	if _, err := runs.Ask(c.t.Context(), c.client, "never-was"); !errors.Is(err, runs.ErrNotActive) {
		c.t.Errorf("progress of a run that never was: %v", err)
	}
}

// killed: a worker process is killed in mid-run and another takes over.
func killed(c *cluster) {
	kill := c.workApart()
	p := c.plan("kill", 200, func(r *runs.Request) { r.Spec.ShardSize = 120 })
	wf := c.start(p, 20)
	c.until("some are done", func() bool { n, _ := c.results("kill"); return n >= 40 })
	kill()
	before, _ := c.results("kill")
	time.Sleep(time.Second)
	if now, _ := c.results("kill"); now != before {
		c.t.Errorf("%d results, %d when the worker was killed", now, before)
	}
	start := time.Now()
	c.workApart()
	res, _ := c.finish(wf)
	wantTally(c.t, res.Tally, workflows.Tally{eval.Resolved: 200})
	c.wantOutcomes("kill", map[string]int{"resolved": 200})
	got, tries := c.results("kill")
	c.t.Logf("killed after %d results, the rest took %.1fs, %d tries left traces", before, time.Since(start).Seconds(), tries)
	if got != 200 || tries > 220 {
		c.t.Errorf("%d results of %d tries; want 200, and at most the 20 that were in flight twice", got, tries)
	}
}

// TestContinueAsNew lets histories be short, so that run and shards go on in new ones.
func TestContinueAsNew(t *testing.T) {
	address := testenv.Temporal(t, workflows.SearchAttributes(), "limit.historyCount.suggestContinueAsNew=60")
	c := newCluster(t, address)
	rt := runstest.Sandboxes(func(_ context.Context, b *fake.Sandbox, _ sandbox.Process) fake.Result {
		if id(b) == "task-0001" {
			return fake.Result{Err: sandbox.ErrLost}
		}
		return resolves(20 * time.Millisecond)
	})
	c.work(rt)
	p := c.plan("long", 120, func(r *runs.Request) { r.Spec.ShardSize, r.Spec.MaxInfraTries = 20, 1 })
	wf := c.start(p, 4)
	c.until("some are done", func() bool { n, _ := c.results("long"); return n >= 10 })
	for i, name := range []string{workflows.UpdatePause, workflows.UpdateResume, workflows.UpdatePause, workflows.UpdateResume} {
		if err := runs.Update(t.Context(), c.client, "long", name); err != nil {
			t.Errorf("update %d: %v", i, err)
		}
	}
	res, _ := c.finish(wf)
	wantTally(t, res.Tally, workflows.Tally{eval.Resolved: 119, eval.InfraError: 1})
	c.wantOutcomes("long", map[string]int{"resolved": 119, "infra_error": 1})
	if n := len(rt.Created()); n != 120 {
		t.Errorf("%d sandboxes for 120 trials", n)
	}
	runChain, shardChain := c.chain("long"), c.chain("long/0")
	t.Logf("the run took %d histories, its first shard %d", len(runChain), len(shardChain))
	if len(runChain) < 2 || len(shardChain) < 2 {
		t.Error("nothing continued as new")
	}
	c.recordChain("continue", "long", runChain[:2])
	c.recordChain("continue", "long/0", shardChain[:2])
}

const outageLasts = 20 * time.Second

// brittle is a store that goes away once, after a file of that name was written.
type brittle struct {
	artifacts.Store
	after string
	once  sync.Once
	away  atomic.Bool
}

func (s *brittle) check() error {
	if s.away.Load() {
		return errors.New("connection refused")
	}
	return nil
}

func (s *brittle) Put(ctx context.Context, key string, r io.Reader, opts artifacts.PutOptions) (artifacts.Info, error) {
	if err := s.check(); err != nil {
		return artifacts.Info{}, err
	}
	info, err := s.Store.Put(ctx, key, r, opts)
	if base(key) == s.after {
		s.once.Do(func() {
			s.away.Store(true)
			time.AfterFunc(outageLasts, func() { s.away.Store(false) })
		})
	}
	return info, err
}

func (s *brittle) Get(ctx context.Context, key string) (io.ReadCloser, artifacts.Info, error) {
	if err := s.check(); err != nil {
		return nil, artifacts.Info{}, err
	}
	return s.Store.Get(ctx, key)
}
