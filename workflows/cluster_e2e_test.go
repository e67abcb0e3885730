//go:build e2e

package workflows_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"harness/activities"
	"harness/artifacts"
	"harness/artifacts/dir"
	"harness/eval"
	"harness/internal/runs"
	"harness/internal/runs/runstest"
	"harness/internal/temporalx"
	"harness/reports"
	"harness/sandbox"
	"harness/sandbox/fake"
	"harness/workflows"
)

// cluster is a server, an artifact store, and workers as they come and go.
type cluster struct {
	t       *testing.T
	address string
	client  client.Client
	folder  string
	store   artifacts.Store
}

func newCluster(t *testing.T, address string) *cluster {
	t.Helper()
	c := &cluster{t: t, address: address, folder: t.TempDir()}
	c.store = openStore(t, c.folder)
	c.client = c.dial()
	return c
}

func openStore(t *testing.T, folder string) *dir.Store {
	t.Helper()
	s, err := dir.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (c *cluster) dial() client.Client {
	c.t.Helper()
	cl, err := temporalx.Dial(c.t.Context(), c.address, "", "tests", discard)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// class is the queue of the test's own sandboxes: tests share a server.
func (c *cluster) class() string { return c.t.Name() }

// work starts a worker in this process and returns what ends it in good order.
func (c *cluster) work(rt sandbox.Runtime) (stop func()) {
	c.t.Helper()
	stop, err := startWorker(c.client, c.class(), c.store, rt, c.t.TempDir())
	if err != nil {
		c.t.Fatal(err)
	}
	stop = sync.OnceFunc(stop)
	c.t.Cleanup(stop)
	return stop
}

func startWorker(cl client.Client, class string, store artifacts.Store, rt sandbox.Runtime, spool string) (func(), error) {
	stopping := make(chan struct{})
	acts, err := activities.New(activities.Config{
		Store: store, Runtimes: map[string]sandbox.Runtime{runstest.Runtime: rt}, Worker: "tests",
		SpoolDir: spool, Stopping: stopping, Logger: discard,
	})
	if err != nil {
		return nil, err
	}
	flows := sdkworker.New(cl, workflows.QueueHarness, sdkworker.Options{Identity: "tests"})
	workflows.Register(flows)
	flows.RegisterActivity(acts)
	boxes := sdkworker.New(cl, workflows.SandboxQueue(class), sdkworker.Options{
		Identity: "tests", DisableWorkflowWorker: true, MaxHeartbeatThrottleInterval: time.Second,
		MaxConcurrentActivityExecutionSize: 20, WorkerStopTimeout: 5 * time.Second,
	})
	boxes.RegisterActivity(acts)
	for _, w := range []sdkworker.Worker{flows, boxes} {
		if err := w.Start(); err != nil {
			return nil, err
		}
	}
	return func() {
		close(stopping)
		boxes.Stop()
		flows.Stop()
	}, nil
}

// Environment of a worker in a process of its own.
const (
	envAddress = "HARNESS_TEST_WORKER_ADDRESS"
	envClass   = "HARNESS_TEST_WORKER_CLASS"
	envStore   = "HARNESS_TEST_WORKER_STORE"
)

// TestWorkerProcess is no test: it is the worker that other tests start and kill.
func TestWorkerProcess(t *testing.T) {
	address := os.Getenv(envAddress)
	if address == "" {
		t.Skip("started by other tests")
	}
	c := &cluster{t: t, address: address}
	rt := runstest.Sandboxes(func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result {
		return fake.Result{Stdout: runstest.Log(true), Delay: 100 * time.Millisecond}
	})
	stop, err := startWorker(c.dial(), os.Getenv(envClass), openStore(t, os.Getenv(envStore)), rt, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	_, _ = io.Copy(io.Discard, os.Stdin) // until whoever started it is gone
}

// workApart starts a worker in a process of its own and returns what kills it.
func (c *cluster) workApart() (kill func()) {
	c.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), exe, "-test.run=^TestWorkerProcess$")
	cmd.Env = append(os.Environ(), envAddress+"="+c.address, envClass+"="+c.class(), envStore+"="+c.folder)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = stdin.Close()
	})
	c.t.Cleanup(kill)
	return kill
}

func (c *cluster) plan(run string, tasks int, change func(*runs.Request)) runs.Planned {
	c.t.Helper()
	req := runstest.Request(c.t, run, runstest.Tasks(tasks))
	if change != nil {
		change(&req)
	}
	return runstest.Plan(c.t, c.store, req)
}

func (c *cluster) start(p runs.Planned, window int) client.WorkflowRun {
	c.t.Helper()
	wf, err := runs.Start(c.t.Context(), c.client, p, window, c.class())
	if err != nil {
		c.t.Fatal(err)
	}
	return wf
}

// finish waits for a run and returns what it and its report say.
func (c *cluster) finish(wf client.WorkflowRun) (workflows.RunResult, reports.Summary) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Minute)
	defer cancel()
	var res workflows.RunResult
	if err := wf.Get(ctx, &res); err != nil {
		p, askErr := runs.Ask(c.t.Context(), c.client, wf.GetID())
		c.t.Fatalf("%v; it stands at %+v (%v)", err, p, askErr)
	}
	return res, c.summary(wf.GetID())
}

func (c *cluster) summary(run string) reports.Summary {
	c.t.Helper()
	sum, err := reports.ReadSummary(c.t.Context(), c.store, run)
	if err != nil {
		c.t.Fatal(err)
	}
	return sum
}

func (c *cluster) wantOutcomes(run string, want map[string]int) {
	c.t.Helper()
	for name, n := range c.summary(run).Harness.Outcomes {
		if n != want[name] {
			c.t.Errorf("report of %s: %d %s, want %d", run, n, name, want[name])
		}
	}
}

func (c *cluster) describe(id string) *workflowpb.WorkflowExecutionInfo {
	c.t.Helper()
	d, err := c.client.DescribeWorkflow(c.t.Context(), id, "")
	if err != nil {
		c.t.Fatal(err)
	}
	return d.RawResponse.GetWorkflowExecutionInfo()
}

func (c *cluster) status(id string) enumspb.WorkflowExecutionStatus {
	c.t.Helper()
	return c.describe(id).GetStatus()
}

// until waits for something to become true.
func (c *cluster) until(what string, ok func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("waited a minute: %s", what)
		}
	}
}

// results counts the stored results of a run and its tries.
func (c *cluster) results(run string) (results, tries int) {
	c.t.Helper()
	seen := map[string]bool{}
	for info, err := range c.store.List(c.t.Context(), eval.RunKey(run, "tasks/")) {
		if err != nil {
			c.t.Fatal(err)
		}
		switch name := base(info.Key); name {
		case "result.json":
			results++
		default:
			seen[info.Key[:len(info.Key)-len(name)]] = true
		}
	}
	return results, len(seen)
}
