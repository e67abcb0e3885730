package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
	"harness/internal/runs"
	"harness/internal/runs/runstest"
	"harness/sandbox"
	"harness/sandbox/fake"
)

// fixture is a planned run with a worker's activities over it.
type fixture struct {
	t     *testing.T
	store *faulty
	rt    *fake.Runtime
	run   runs.Planned
	acts  *activities.Activities
	// heartbeat is what the try before left; beats are those of this one.
	heartbeat *activities.Heartbeat
	beats     *beats
	base      context.Context // of activities; nil: none
}

type beats struct {
	mu  sync.Mutex
	all []activities.Heartbeat
}

func (b *beats) stages() (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.all {
		out = append(out, h.Stage)
	}
	return slices.Compact(out)
}

type option func(*activities.Config, *runs.Request)

func newFixture(t *testing.T, tasks int, tests func(context.Context, *fake.Sandbox, sandbox.Process) fake.Result, opts ...option) *fixture {
	t.Helper()
	f := &fixture{t: t, store: &faulty{Store: runstest.Store(t)}, rt: runstest.Sandboxes(tests), beats: &beats{}}
	cfg := activities.Config{
		Store: f.store, Worker: "w1", SpoolDir: t.TempDir(),
		Runtimes: map[string]sandbox.Runtime{runstest.Runtime: f.rt},
	}
	req := runstest.Request(t, "run", runstest.Tasks(tasks))
	for _, o := range opts {
		o(&cfg, &req)
	}
	f.run = runstest.Plan(t, f.store, req)
	f.acts = f.newActivities(cfg)
	return f
}

func (f *fixture) newActivities(cfg activities.Config) *activities.Activities {
	f.t.Helper()
	a, err := activities.New(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

// call runs an activity as Temporal does.
func call[T any](f *fixture, method, in any) (T, error) {
	f.t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(f.acts)
	if f.heartbeat != nil {
		env.SetHeartbeatDetails(*f.heartbeat)
	}
	if f.base != nil {
		env.SetWorkerOptions(worker.Options{BackgroundActivityContext: f.base})
	}
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var h activities.Heartbeat
		if err := details.Get(&h); err != nil {
			f.t.Error(err)
		}
		f.beats.mu.Lock()
		defer f.beats.mu.Unlock()
		f.beats.all = append(f.beats.all, h)
	})
	var out T
	v, err := env.ExecuteActivity(method, in)
	if err != nil {
		return out, err
	}
	if v.HasValue() {
		if err := v.Get(&out); err != nil {
			f.t.Fatal(err)
		}
	}
	return out, nil
}

func must[T any](f *fixture, method, in any) T {
	f.t.Helper()
	out, err := call[T](f, method, in)
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

func (f *fixture) wantClass(err error, class string) {
	f.t.Helper()
	if err == nil {
		f.t.Fatalf("no error, want one of class %s", class)
	}
	if got, msg := activities.ErrorClass(err); got != class {
		f.t.Fatalf("error of class %s (%s), want %s", got, msg, class)
	}
}

func (f *fixture) trial(entry int) activities.TrialInput {
	size := f.run.Spec.ShardSize
	return activities.TrialInput{RunID: f.run.Spec.RunID, Spec: f.run.Ref, Shard: f.run.Spec.Shards[entry/size], Entry: entry % size, Round: 1}
}

func (f *fixture) shard(i int) activities.ShardInput {
	return activities.ShardInput{RunID: f.run.Spec.RunID, Spec: f.run.Ref, Shard: f.run.Spec.Shards[i], Index: i}
}

func (f *fixture) id(instance string) eval.TrialID {
	return eval.TrialID{RunID: f.run.Spec.RunID, InstanceID: instance, Attempt: 1, Round: 1}
}

func (f *fixture) pin(shard int) {
	f.t.Helper()
	must[struct{}](f, f.acts.PinImages, f.shard(shard))
}

// keys lists what is stored under a prefix, with the tokens of tries left out.
func (f *fixture) keys(prefix string) (out []string) {
	f.t.Helper()
	for info, err := range f.store.List(f.t.Context(), prefix) {
		if err != nil {
			f.t.Fatal(err)
		}
		parts := strings.Split(strings.TrimPrefix(info.Key, prefix), "/")
		for i, p := range parts {
			if w := strings.Split(p, "-"); w[0] == "try" {
				parts[i] = w[0] + "-" + w[1]
			}
		}
		out = append(out, strings.Join(parts, "/"))
	}
	slices.Sort(out)
	return out
}

func (f *fixture) result(instance string) (res eval.TrialResult) {
	f.t.Helper()
	data, err := artifacts.GetBytes(f.t.Context(), f.store, eval.ResultKey(f.id(instance)), 1<<20)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &res); err != nil {
		f.t.Fatal(err)
	}
	return res
}

// errAway is what an artifact store that does not answer says.
var errAway = errors.New("connection refused")

// faulty is a store whose calls can be made to fail.
type faulty struct {
	artifacts.Store
	mu   sync.Mutex
	fail func(op, key string) error
}

func (s *faulty) breakIt(fail func(op, key string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

func (s *faulty) check(op, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		return nil
	}
	return s.fail(op, key)
}

func (s *faulty) Put(ctx context.Context, key string, r io.Reader, opts artifacts.PutOptions) (artifacts.Info, error) {
	if err := s.check("put", key); err != nil {
		return artifacts.Info{}, err
	}
	return s.Store.Put(ctx, key, r, opts)
}

func (s *faulty) Get(ctx context.Context, key string) (io.ReadCloser, artifacts.Info, error) {
	if err := s.check("get", key); err != nil {
		return nil, artifacts.Info{}, err
	}
	return s.Store.Get(ctx, key)
}
