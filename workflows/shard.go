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
	// Cancelled are the entries that a person stopped.
	Cancelled []int `json:"cancelled,omitempty"`
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
	if err := s.pin(ctx); err != nil {
		return s.giveUp(ctx, err)
	}
	full := func() bool { return workflow.GetInfo(ctx).GetContinueAsNewSuggested() }
	for i, e := range s.entries {
		if s.known(i, e) {
			continue
		}
		if err := workflow.Await(ctx, func() bool { return full() || s.mayStart() }); err != nil {
			break // cancelled: what runs is told by its own context
		}
		if full() {
			return s.continueAsNew(ctx)
		}
		s.start(ctx, i)
	}
	s.started = true
	s.tellTail(ctx)
	if err := s.settle(ctx); err != nil {
		return ShardResult{}, err
	}
	return s.result(), ctx.Err()
}

func (s *shard) input() activities.ShardInput {
	return activities.ShardInput{RunID: s.in.RunID, Spec: s.in.Spec, Shard: s.in.Shard, Index: s.in.Index}
}

func (s *shard) open(ctx workflow.Context) error {
	var plan activities.ShardPlan
	err := workflow.ExecuteLocalActivity(step(ctx, "list what is done"), s.a.OpenShard, s.input()).Get(ctx, &plan)
	s.entries = plan.Entries
	return err
}

// pin fixes the images of a shard that has anything to run.
func (s *shard) pin(ctx workflow.Context) error {
	for i, e := range s.entries {
		if e.Done == nil && s.in.Unstored[i] == eval.OutcomeInvalid {
			ctx := onSandbox(ctx, s.in.Class, "fix image digests", 10*time.Minute, s.in.Plan.MaxInfraTries)
			return workflow.ExecuteActivity(ctx, s.a.PinImages, s.input()).Get(ctx, nil)
		}
	}
	return nil
}

// giveUp ends a shard that can't be run at all: its entries are missing data,
// which a resumed run tries again, and the run goes on to its table.
func (s *shard) giveUp(ctx workflow.Context, cause error) (ShardResult, error) {
	if ctx.Err() != nil {
		return ShardResult{}, ctx.Err()
	}
	in := activities.ShardFailureInput{Shard: s.input()}
	in.Class, in.Message = activities.ErrorClass(cause)
	if err := workflow.ExecuteLocalActivity(step(ctx, "record failure"), s.a.RecordShardFailure, in).Get(ctx, nil); err != nil {
		return ShardResult{}, err
	}
	for i, e := range s.entries {
		if !s.known(i, e) {
			s.tally[eval.InfraError]++
		}
	}
	return s.result(), nil
}

func (s *shard) result() ShardResult {
	res := ShardResult{Tally: s.tally}
	for i := range s.entries {
		if s.unstored[i] == eval.Cancelled {
			res.Cancelled = append(res.Cancelled, i)
		}
	}
	return res
}

// settle waits for the tasks under way; they end by themselves, cancelled or not.
func (s *shard) settle(ctx workflow.Context) error {
	quiet, _ := workflow.NewDisconnectedContext(ctx)
	return workflow.Await(quiet, func() bool { return len(s.running) == 0 })
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

func (s *shard) mayStart() bool { return !s.control.Paused && len(s.running) < s.control.Window }

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
	child, err := startChild(ctx, func() workflow.ChildWorkflowFuture { return workflow.ExecuteChildWorkflow(ctx, Task, in) })
	if err == nil {
		err = child.Get(ctx, &res)
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
	if err := s.settle(ctx); err != nil {
		return ShardResult{}, err
	}
	if err := othersFirst(ctx); err != nil {
		return ShardResult{}, err
	}
	if ctx.Err() != nil { // cancelled meanwhile
		return s.result(), ctx.Err()
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
