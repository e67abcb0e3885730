package workflows

import (
	"errors"
	"fmt"

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
	// Carry is set by a run that continues as new, for its continuation.
	Carry *RunCarry `json:"carry,omitempty"`
}

// RunCarry is what a run has come to when its history grew too long.
type RunCarry struct {
	Todo   []int             `json:"todo"` // shards that have not been started
	Done   map[int]ShardDone `json:"done"`
	Window int               `json:"window"`
	Paused bool              `json:"paused"`
	Again  bool              `json:"again"`
}

// ShardDone is how a shard ended. Class and Error are set if it failed as a whole
// and could not even record that.
type ShardDone struct {
	ShardResult
	Class string `json:"error_class,omitempty"`
	Error string `json:"error,omitempty"`
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
// window become free, and writes the report at the end, whatever became of them.
func Run(ctx workflow.Context, in RunInput) (RunResult, error) {
	if err := in.Validate(); err != nil {
		return RunResult{}, activities.NewError(activities.ErrInvalidSpec, err)
	}
	r := &run{in: in, window: in.Window, phase: phasePlanning, done: map[int]ShardDone{}, active: map[int]*activeShard{}}
	return r.run(ctx)
}

const (
	phasePlanning  = "planning"
	phaseRunning   = "running"
	phaseReporting = "reporting"
)

type run struct {
	in     RunInput
	plan   activities.Plan
	window int
	paused bool
	again  bool // infra errors are to be tried once more
	phase  string
	todo   []int // shards to start, in this order
	done   map[int]ShardDone
	active map[int]*activeShard
	a      *activities.Activities
}

func (r *run) run(ctx workflow.Context) (RunResult, error) {
	if err := r.register(ctx); err != nil {
		return RunResult{}, err
	}
	in := activities.PlanInput{RunID: r.in.RunID, Spec: r.in.Spec}
	if err := workflow.ExecuteLocalActivity(step(ctx, "plan"), r.a.PlanRun, in).Get(ctx, &r.plan); err != nil {
		return RunResult{}, err
	}
	r.begin()
	for r.more(ctx) {
		r.shards(ctx)
		if err := errors.Join(r.settle(ctx), othersFirst(ctx), r.settle(ctx)); err != nil {
			return RunResult{}, err
		}
		if len(r.todo) > 0 && ctx.Err() == nil {
			return RunResult{}, r.continueAsNew(ctx)
		}
	}
	r.phase = phaseReporting
	res, err := r.report(ctx)
	if err == nil {
		err = r.settle(ctx)
	}
	switch {
	case err != nil:
		return res, err
	case ctx.Err() != nil: // cancelled: shown as such, and still there is a table
		return res, ctx.Err()
	}
	return res, r.failure()
}

// begin takes over from a run that continued as new, or starts with all shards.
func (r *run) begin() {
	r.phase = phaseRunning
	if c := r.in.Carry; c != nil {
		r.todo, r.window, r.paused, r.again = c.Todo, c.Window, c.Paused, c.Again
		if c.Done != nil {
			r.done = c.Done
		}
		return
	}
	for i := range r.plan.Shards {
		r.todo = append(r.todo, i)
	}
}

// more reports whether shards are to be started, after a wish for another go at
// infra errors was turned into a list of them.
func (r *run) more(ctx workflow.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	if len(r.todo) == 0 && r.again {
		r.again = false
		for i := range r.plan.Shards {
			if d := r.done[i]; d.Tally[eval.InfraError] > 0 || d.Error != "" {
				r.todo = append(r.todo, i)
			}
		}
	}
	return len(r.todo) > 0
}

// shards starts what is to be done as the window allows and waits for its end.
// What is left in todo after that is for a continuation.
func (r *run) shards(ctx workflow.Context) {
	full := func() bool { return workflow.GetInfo(ctx).GetContinueAsNewSuggested() }
	for len(r.todo) > 0 {
		if err := workflow.Await(ctx, func() bool { return full() || r.free() > 0 }); err != nil || full() {
			break
		}
		i := r.todo[0]
		r.todo = r.todo[1:]
		r.start(ctx, i)
	}
}

// settle waits for shards and update handlers that are under way.
func (r *run) settle(ctx workflow.Context) error {
	quiet, _ := workflow.NewDisconnectedContext(ctx)
	return workflow.Await(quiet, func() bool { return len(r.active) == 0 && workflow.AllHandlersFinished(ctx) })
}

func (r *run) continueAsNew(ctx workflow.Context) error {
	next := r.in
	next.Carry = &RunCarry{Todo: r.todo, Done: r.done, Window: r.window, Paused: r.paused, Again: r.again}
	return workflow.NewContinueAsNewError(ctx, Run, next)
}

// report runs also for a cancelled run: what was finished is worth a table.
func (r *run) report(ctx workflow.Context) (RunResult, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx = onHarness(ctx, "write report")
	var out activities.Reported
	err := workflow.ExecuteActivity(ctx, r.a.Report, activities.ReportInput{RunID: r.in.RunID, Spec: r.in.Spec}).Get(ctx, &out)
	return RunResult{Tally: r.tally(), Report: out.Report}, err
}

// failure names the shards that failed as a whole.
func (r *run) failure() error {
	var errs []error
	class := ""
	for i := range r.plan.Shards {
		if d := r.done[i]; d.Error != "" {
			class = d.Class
			errs = append(errs, fmt.Errorf("shard %d: %s", i, d.Error))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return activities.NewError(class, errors.Join(errs...))
}

func (r *run) tally() Tally {
	t := Tally{}
	for i := range r.plan.Shards {
		t.Add(r.done[i].Tally)
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
