package workflows

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"harness/activities"
	"harness/eval"
)

// RunInput is a whole evaluation: one dataset, one candidate.
type RunInput struct {
	RunID  string   `json:"run_id"`
	Spec   eval.Ref `json:"spec"`
	Window int      `json:"window"` // trials in flight
	Class  string   `json:"class"`  // of the workers that run its sandboxes
}

// Validate refuses an input that could never run.
func (in RunInput) Validate() error {
	switch {
	case in.Window < 1:
		return fmt.Errorf("run %s: window %d: at least 1 trial must be in flight", in.RunID, in.Window)
	case in.Class == "":
		return fmt.Errorf("run %s: no worker class", in.RunID)
	}
	return eval.ValidateRunID(in.RunID)
}

// RunResult is what a finished run returns.
type RunResult struct {
	Tally  Tally    `json:"tally"`
	Report eval.Ref `json:"report"`
}

// RunProgress answers the progress query of a run. Tally covers finished shards
// only; active shards answer for themselves.
type RunProgress struct {
	Total  int    `json:"total"`
	Shards int    `json:"shards"`
	Active []int  `json:"active"`
	Window int    `json:"window"`
	Paused bool   `json:"paused"`
	Phase  string `json:"phase"` // planning, running, reporting
	Tally  Tally  `json:"tally"`
}

// CancelTask asks for one task x attempt to be cancelled.
type CancelTask struct {
	InstanceID string `json:"instance_id"`
	Attempt    int    `json:"attempt"`
}

// Run starts the shards of a run one after the other, each as places of the
// window become free, and writes the report at the end.
func Run(ctx workflow.Context, in RunInput) (RunResult, error) {
	if err := in.Validate(); err != nil {
		return RunResult{}, activities.NewError(activities.ErrInvalidSpec, err)
	}
	r := &run{in: in, window: in.Window, phase: "planning", done: map[int]Tally{}, active: map[int]*activeShard{}}
	return r.run(ctx)
}

type run struct {
	in     RunInput
	plan   activities.Plan
	window int
	paused bool
	again  bool // infra errors are to be tried once more
	phase  string
	done   map[int]Tally
	active map[int]*activeShard
	a      *activities.Activities
}

type activeShard struct {
	child   workflow.ChildWorkflowFuture
	control Control
	tail    int // trials still running after all were started; -1 before
}

func (r *run) run(ctx workflow.Context) (RunResult, error) {
	if err := r.register(ctx); err != nil {
		return RunResult{}, err
	}
	in := activities.PlanInput{RunID: r.in.RunID, Spec: r.in.Spec}
	if err := workflow.ExecuteLocalActivity(step(ctx, "plan"), r.a.PlanRun, in).Get(ctx, &r.plan); err != nil {
		return RunResult{}, err
	}
	r.phase = "running"
	err := r.shards(ctx, func(int) bool { return true })
	for err == nil && r.again {
		r.again = false
		err = r.shards(ctx, func(i int) bool { return r.done[i][eval.InfraError] > 0 })
	}
	if err != nil && !temporal.IsCanceledError(err) {
		return RunResult{}, err
	}
	r.phase = "reporting"
	res, reportErr := r.report(ctx)
	return res, errors.Join(err, reportErr)
}

// report runs also for a cancelled run: what was finished is worth a table.
func (r *run) report(ctx workflow.Context) (RunResult, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx = onHarness(ctx, "write report")
	var out activities.Reported
	err := workflow.ExecuteActivity(ctx, r.a.Report, activities.ReportInput{RunID: r.in.RunID, Spec: r.in.Spec}).Get(ctx, &out)
	return RunResult{Tally: r.tally(), Report: out.Report}, err
}

func (r *run) shards(ctx workflow.Context, wanted func(int) bool) error {
	var failure error
	for i := range r.plan.Shards {
		if !wanted(i) {
			continue
		}
		if err := workflow.Await(ctx, func() bool { return r.free() > 0 }); err != nil {
			break
		}
		r.start(ctx, i, &failure)
	}
	quiet, _ := workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(quiet, func() bool { return len(r.active) == 0 }); err != nil {
		return err
	}
	return errors.Join(ctx.Err(), failure)
}

// free is how much of the window a further shard may use now.
func (r *run) free() int {
	used := 0
	for _, s := range r.inOrder() {
		if s.tail < 0 {
			return 0 // it uses all that is there
		}
		used += s.tail
	}
	return r.window - used
}

func (r *run) start(ctx workflow.Context, i int, failure *error) {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:          eval.ShardWorkflowID(r.in.RunID, i),
		TaskQueue:           QueueHarness,
		ParentClosePolicy:   enumspb.PARENT_CLOSE_POLICY_TERMINATE,
		WaitForCancellation: true,
		StaticSummary:       fmt.Sprintf("shard %d of %d", i+1, len(r.plan.Shards)),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			SearchRunID.ValueSet(r.in.RunID), SearchDataset.ValueSet(r.plan.Dataset), SearchAgent.ValueSet(r.plan.Agent)),
	})
	plan := r.plan
	plan.Shards = nil
	s := &activeShard{control: Control{Window: r.free(), Paused: r.paused}, tail: -1}
	s.child = workflow.ExecuteChildWorkflow(ctx, Shard, ShardInput{
		RunID: r.in.RunID, Spec: r.in.Spec, Shard: r.plan.Shards[i], Index: i,
		Plan: plan, Class: r.in.Class, Control: s.control, Last: i == len(r.plan.Shards)-1,
	})
	r.active[i] = s
	workflow.Go(ctx, func(ctx workflow.Context) {
		var res ShardResult
		err := s.child.Get(ctx, &res)
		delete(r.active, i)
		if err != nil && !temporal.IsCanceledError(err) {
			*failure = errors.Join(*failure, fmt.Errorf("shard %d: %w", i, err))
		}
		r.done[i] = res.Tally
		r.steer(ctx)
	})
}

// steer hands the window and the pause to the shards that still start tasks.
func (r *run) steer(ctx workflow.Context) {
	used := 0
	var starting []*activeShard
	for _, s := range r.inOrder() {
		if s.tail >= 0 {
			used += s.tail
		} else {
			starting = append(starting, s)
		}
	}
	for _, s := range starting { // one at most, see free
		c := Control{Window: max(1, r.window-used), Paused: r.paused}
		if c != s.control {
			s.control = c
			s.child.SignalChildWorkflow(ctx, signalControl, c)
		}
	}
}

func (r *run) inOrder() []*activeShard {
	var out []*activeShard
	for i := range r.plan.Shards {
		if s := r.active[i]; s != nil {
			out = append(out, s)
		}
	}
	return out
}

func (r *run) tally() Tally {
	t := Tally{}
	for i := range r.plan.Shards {
		t.Add(r.done[i])
	}
	return t
}

func (r *run) progress() (RunProgress, error) {
	p := RunProgress{Total: r.plan.Tasks, Shards: len(r.plan.Shards), Window: r.window, Paused: r.paused, Phase: r.phase, Tally: r.tally()}
	for i := range r.plan.Shards {
		if r.active[i] != nil {
			p.Active = append(p.Active, i)
		}
	}
	return p, nil
}
