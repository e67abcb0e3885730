package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"harness/activities"
	"harness/eval"
	"harness/workflows"
)

// stub stands for all activities: its methods have their names. By default each
// trial resolves its task at once.
type stub struct {
	entries, shardSize int
	maxTries           int
	done               map[int]eval.Outcome // by entry of the run: results stored before

	id func(entry int) string

	// Hooks; nil does the default. n is how often the trial was executed, from 1.
	prepare    func(in activities.TrialInput) (activities.Prepared, error)
	execute    func(ctx context.Context, entry, n int) (activities.Executed, error)
	outcome    func(entry int) eval.Outcome
	pin        func(shard int) error
	onReport   func()
	failRecord error
	reportErr  error

	mu            sync.Mutex
	running, peak int
	executed      map[int]int // by entry of the run
	order         []int
	failures      []activities.FailureInput
	shardFailures []activities.ShardFailureInput
	opened        []int
	reports       int
}

func newStub(entries, shardSize int) *stub {
	return &stub{entries: entries, shardSize: shardSize, maxTries: 3, executed: map[int]int{}}
}

func (s *stub) shards() int { return (s.entries + s.shardSize - 1) / s.shardSize }

func (s *stub) PlanRun(context.Context, activities.PlanInput) (activities.Plan, error) {
	p := activities.Plan{Tasks: s.entries, Rounds: 1, MaxInfraTries: s.maxTries, Dataset: "d", Agent: "gold"}
	for i := range s.shards() {
		p.Shards = append(p.Shards, eval.Ref{Key: fmt.Sprint(i), SHA256: "x", Size: 1})
	}
	return p, nil
}

func (s *stub) OpenShard(_ context.Context, in activities.ShardInput) (p activities.ShardPlan, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, in.Index)
	for i := in.Index * s.shardSize; i < min(s.entries, (in.Index+1)*s.shardSize); i++ {
		id := fmt.Sprintf("task-%04d", i)
		if s.id != nil {
			id = s.id(i)
		}
		e := activities.EntryPlan{InstanceID: id, Attempt: 1, BudgetSeconds: 60}
		if o := s.done[i]; o != eval.OutcomeInvalid {
			e.Done = &activities.TrialSummary{Outcome: o, Resolved: o == eval.Resolved, Round: 1, Tries: 1}
		}
		p.Entries = append(p.Entries, e)
	}
	return p, nil
}

func (s *stub) PinImages(_ context.Context, in activities.ShardInput) error {
	if s.pin == nil {
		return nil
	}
	return s.pin(in.Index)
}

// entry is the place of a trial among all of the run.
func (s *stub) entry(in activities.TrialInput) int {
	shard := 0
	_, _ = fmt.Sscan(in.Shard.Key, &shard)
	return shard*s.shardSize + in.Entry
}

func (s *stub) Prepare(_ context.Context, in activities.TrialInput) (activities.Prepared, error) {
	if s.prepare == nil {
		return activities.Prepared{}, nil
	}
	return s.prepare(in)
}

func (s *stub) Execute(ctx context.Context, in activities.TrialInput) (activities.Executed, error) {
	i := s.entry(in)
	s.mu.Lock()
	s.running++
	s.peak = max(s.peak, s.running)
	s.executed[i]++
	n := s.executed[i]
	s.order = append(s.order, i)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.running--
		s.mu.Unlock()
	}()
	if s.execute == nil {
		return activities.Executed{}, nil
	}
	return s.execute(ctx, i, n)
}

func (s *stub) Evaluate(_ context.Context, in activities.EvaluateInput) (activities.TrialSummary, error) {
	o := eval.Resolved
	if s.outcome != nil {
		o = s.outcome(s.entry(in.Trial))
	}
	if in.Final != eval.OutcomeInvalid {
		o = in.Final
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		s.done = map[int]eval.Outcome{}
	}
	s.done[s.entry(in.Trial)] = o
	return activities.TrialSummary{Outcome: o, Resolved: o == eval.Resolved, Round: in.Trial.Round, Tries: 1}, nil
}

func (s *stub) RecordFailure(_ context.Context, in activities.FailureInput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, in)
	return s.failRecord
}

func (s *stub) RecordShardFailure(_ context.Context, in activities.ShardFailureInput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shardFailures = append(s.shardFailures, in)
	return s.failRecord
}

func (s *stub) Report(context.Context, activities.ReportInput) (activities.Reported, error) {
	if s.onReport != nil {
		s.onReport()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports++
	return activities.Reported{Report: eval.Ref{Key: "report.json", SHA256: "y", Size: 2}}, s.reportErr
}

// total is how many executions there were; the maps are safe to read after the run.
func (s *stub) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.order)
}

// reached reports whether ever so many were executed at once.
func (s *stub) reached(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak >= n
}

const runID = "run"

var discard = slog.New(slog.DiscardHandler)

func newEnv(t *testing.T, s *stub) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(discard))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(60 * time.Second)
	workflows.Register(env)
	env.RegisterActivity(s)
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: runID, TaskQueue: workflows.QueueHarness})
	// The environment knows children only; what a shard tells its run is passed on.
	env.OnSignalExternalWorkflow(mock.Anything, runID, mock.Anything, mock.Anything, mock.Anything).
		Return(func(_, _, _, name string, arg any) error {
			env.SignalWorkflow(name, arg)
			return nil
		}).Maybe()
	return env
}

func runInput(window int) workflows.RunInput {
	return workflows.RunInput{RunID: runID, Spec: eval.Ref{Key: "spec", SHA256: "z", Size: 3}, Window: window, Class: "default"}
}

// run carries out a whole run and returns its result.
func run(t *testing.T, env *testsuite.TestWorkflowEnvironment, in workflows.RunInput) (res workflows.RunResult, err error) {
	t.Helper()
	env.ExecuteWorkflow("Run", in)
	if !env.IsWorkflowCompleted() {
		t.Fatal("the run has not ended")
	}
	if err := env.GetWorkflowError(); err != nil {
		return res, err
	}
	return res, env.GetWorkflowResult(&res)
}

func wantTally(t *testing.T, got, want workflows.Tally) {
	t.Helper()
	for _, o := range eval.Outcomes() {
		if got[o] != want[o] {
			t.Errorf("tally %v, want %v", got, want)
			return
		}
	}
}

// continued returns the input with which a workflow continues as new.
func continued[T any](t *testing.T, err error) (in T) {
	t.Helper()
	var next *workflow.ContinueAsNewError
	if !errors.As(err, &next) {
		t.Fatalf("error %v, want a continuation", err)
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
		t.Fatal(err)
	}
	return in
}

// callbacks of an update.
type callbacks struct {
	done func(err error)
}

func (c callbacks) Accept()                   {}
func (c callbacks) Reject(err error)          { c.done(err) }
func (c callbacks) Complete(_ any, err error) { c.done(err) }
