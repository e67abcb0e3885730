package workflows

import (
	"fmt"
	"math/bits"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"harness/activities"
	"harness/eval"
)

// Control is what a run tells its active shards.
type Control struct {
	Window int  `json:"window"` // tasks in flight, at least 1
	Paused bool `json:"paused"` // start nothing new
}

// Tail is what a shard tells its run once all its tasks have been started: how
// many of them still run. It is sent when that number halves.
type Tail struct {
	Index   int `json:"index"`
	Running int `json:"running"`
}

// ShardInput is one shard of a run.
type ShardInput struct {
	RunID   string          `json:"run_id"`
	Spec    eval.Ref        `json:"spec"`
	Shard   eval.Ref        `json:"shard"`
	Index   int             `json:"index"`
	Plan    activities.Plan `json:"plan"` // without the list of shards
	Class   string          `json:"class"`
	Control Control         `json:"control"`
	Last    bool            `json:"last"` // no further shard waits for its window
	// Unstored carries, over continue-as-new, how entries ended that have no stored result.
	Unstored map[int]eval.Outcome `json:"unstored,omitempty"`
}

// Tally counts finished tasks by outcome.
type Tally map[eval.Outcome]int

// Total is the number of finished tasks.
func (t Tally) Total() int {
	n := 0
	for _, o := range eval.Outcomes() {
		n += t[o]
	}
	return n
}

// Add counts the tasks of other, too.
func (t Tally) Add(other Tally) {
	for _, o := range eval.Outcomes() {
		if other[o] > 0 {
			t[o] += other[o]
		}
	}
}

// ShardProgress answers the progress query of a shard.
type ShardProgress struct {
	Index   int     `json:"index"`
	Total   int     `json:"total"`
	Running []int   `json:"running"` // entries
	Control Control `json:"control"`
	Tally   Tally   `json:"tally"`
}

// ShardResult is what a finished shard returns.
type ShardResult struct {
	Tally Tally `json:"tally"`
}

// Shard keeps a window of tasks in flight until each entry has ended.
func Shard(ctx workflow.Context, in ShardInput) (ShardResult, error) {
	return (&shard{in: in, control: in.Control, tally: Tally{}, running: map[int]bool{}, unstored: map[int]eval.Outcome{}}).run(ctx)
}

type shard struct {
	in       ShardInput
	control  Control
	entries  []activities.EntryPlan
	running  map[int]bool
	started  bool // all entries have been
	tally    Tally
	unstored map[int]eval.Outcome
	a        *activities.Activities
}

func (s *shard) run(ctx workflow.Context) (ShardResult, error) {
	if err := workflow.SetQueryHandler(ctx, QueryProgress, s.progress); err != nil {
		return ShardResult{}, err
	}
	s.listen(ctx)
	if err := s.open(ctx); err != nil {
		return ShardResult{}, err
	}
	for i, e := range s.entries {
		if s.known(i, e) {
			continue
		}
		if err := workflow.Await(ctx, s.mayStart(ctx)); err != nil {
			break // cancelled: what runs is told by its own context
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return s.continueAsNew(ctx)
		}
		s.start(ctx, i)
	}
	s.started = true
	s.tellTail(ctx)
	// The children end by themselves, cancelled or not.
	quiet, _ := workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(quiet, s.idle); err != nil {
		return ShardResult{}, err
	}
	return ShardResult{Tally: s.tally}, ctx.Err()
}

func (s *shard) open(ctx workflow.Context) error {
	in := activities.ShardInput{RunID: s.in.RunID, Spec: s.in.Spec, Shard: s.in.Shard, Index: s.in.Index}
	var plan activities.ShardPlan
	if err := workflow.ExecuteLocalActivity(step(ctx, "list what is done"), s.a.OpenShard, in).Get(ctx, &plan); err != nil {
		return err
	}
	s.entries = plan.Entries
	for i, e := range s.entries {
		if e.Done == nil && s.in.Unstored[i] == eval.OutcomeInvalid {
			ctx := onSandbox(ctx, s.in.Class, "fix image digests", 10*time.Minute, s.in.Plan.MaxInfraTries)
			return workflow.ExecuteActivity(ctx, s.a.PinImages, in).Get(ctx, nil)
		}
	}
	return nil // nothing to run: no image is needed
}

// known counts an entry that needs no running.
func (s *shard) known(i int, e activities.EntryPlan) bool {
	o := s.in.Unstored[i]
	if e.Done != nil {
		o = e.Done.Outcome
	} else if o != eval.OutcomeInvalid {
		s.unstored[i] = o
	}
	if o == eval.OutcomeInvalid {
		return false
	}
	s.tally[o]++
	return true
}

func (s *shard) mayStart(ctx workflow.Context) func() bool {
	return func() bool {
		return workflow.GetInfo(ctx).GetContinueAsNewSuggested() ||
			!s.control.Paused && len(s.running) < s.control.Window
	}
}

func (s *shard) idle() bool { return len(s.running) == 0 }

func (s *shard) start(ctx workflow.Context, i int) {
	s.running[i] = true
	workflow.Go(ctx, func(ctx workflow.Context) {
		o, stored := s.task(ctx, i)
		s.tally[o]++
		if !stored {
			s.unstored[i] = o
		}
		delete(s.running, i)
		if n := len(s.running); s.started && bits.OnesCount(uint(n)) == 1 {
			s.tellTail(ctx)
		}
	})
}

// A child whose id is still taken belongs to an interrupted run of the same id
// that is just being ended.
const (
	takenWait  = 2 * time.Second
	takenTries = 60
)

func (s *shard) task(ctx workflow.Context, i int) (o eval.Outcome, stored bool) {
	e := s.entries[i]
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:          eval.TaskWorkflowID(s.in.RunID, e.InstanceID, e.Attempt),
		TaskQueue:           QueueHarness,
		ParentClosePolicy:   enumspb.PARENT_CLOSE_POLICY_TERMINATE,
		WaitForCancellation: true,
		StaticSummary:       fmt.Sprintf("%s, attempt %d", e.InstanceID, e.Attempt),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			SearchRunID.ValueSet(s.in.RunID), SearchDataset.ValueSet(s.in.Plan.Dataset),
			SearchInstanceID.ValueSet(e.InstanceID), SearchAgent.ValueSet(s.in.Plan.Agent)),
	})
	in := TaskInput{
		RunID: s.in.RunID, Spec: s.in.Spec, Shard: s.in.Shard, Entry: i,
		InstanceID: e.InstanceID, Attempt: e.Attempt, Rounds: s.in.Plan.Rounds,
		BudgetSeconds: e.BudgetSeconds, MaxInfraTries: s.in.Plan.MaxInfraTries, Class: s.in.Class,
	}
	var res TaskResult
	err := workflow.ExecuteChildWorkflow(ctx, Task, in).Get(ctx, &res)
	for n := 0; temporal.IsWorkflowExecutionAlreadyStartedError(err) && n < takenTries; n++ {
		if err = workflow.Sleep(ctx, takenWait); err == nil {
			err = workflow.ExecuteChildWorkflow(ctx, Task, in).Get(ctx, &res)
		}
	}
	switch {
	case err == nil:
		return res.Outcome, res.Stored
	case temporal.IsCanceledError(err):
		return eval.Cancelled, false
	}
	workflow.GetLogger(ctx).Error("task workflow failed", "instance_id", e.InstanceID, "error", err)
	return eval.InfraError, false
}

// listen follows what the run says about window and pause.
func (s *shard) listen(ctx workflow.Context) {
	ch := workflow.GetSignalChannel(ctx, signalControl)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var c Control
			if !ch.Receive(ctx, &c) {
				return
			}
			s.control = c
		}
	})
}

// tellTail hands free places of the window to the next shard: once when all have
// been started, then at each halving of what still runs, so that a shard costs
// its run a handful of signals at most.
func (s *shard) tellTail(ctx workflow.Context) {
	n := len(s.running)
	parent := workflow.GetInfo(ctx).ParentWorkflowExecution
	if parent == nil || n == 0 || s.in.Last {
		return
	}
	// Not waited for: a run that is gone needs no telling.
	workflow.SignalExternalWorkflow(ctx, parent.ID, parent.RunID, signalTail, Tail{Index: s.in.Index, Running: n})
}

func (s *shard) continueAsNew(ctx workflow.Context) (ShardResult, error) {
	if err := workflow.Await(ctx, s.idle); err != nil {
		return ShardResult{}, err
	}
	next := s.in
	next.Control, next.Unstored = s.control, s.unstored
	return ShardResult{}, workflow.NewContinueAsNewError(ctx, Shard, next)
}

func (s *shard) progress() (ShardProgress, error) {
	p := ShardProgress{Index: s.in.Index, Total: len(s.entries), Control: s.control, Tally: s.tally}
	for i := range s.entries {
		if s.running[i] {
			p.Running = append(p.Running, i)
		}
	}
	return p, nil
}
