package workflows

import (
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"harness/activities"
	"harness/eval"
)

// activeShard is a shard under way, as its run sees it.
type activeShard struct {
	want, sent Control
	child      workflow.ChildWorkflowFuture // nil until it has started
	tail       int                          // trials still running after all were started; -1 before
	over       bool
}

func (r *run) start(ctx workflow.Context, i int) {
	s := &activeShard{want: Control{Window: r.free(), Paused: r.paused}, tail: -1}
	plan := r.plan
	plan.Shards = nil
	in := ShardInput{
		RunID: r.in.RunID, Spec: r.in.Spec, Shard: r.plan.Shards[i], Index: i,
		Plan: plan, Class: r.in.Class, Last: i == len(r.plan.Shards)-1,
	}
	for _, e := range r.done[i].Cancelled { // what a person stopped stays stopped
		if in.Unstored == nil {
			in.Unstored = map[int]eval.Outcome{}
		}
		in.Unstored[e] = eval.Cancelled
	}
	delete(r.done, i)
	r.active[i] = s
	workflow.Go(ctx, func(ctx workflow.Context) {
		done := r.shard(ctx, s, in)
		s.over = true
		delete(r.active, i)
		r.done[i] = done
		r.steer()
	})
	workflow.Go(ctx, func(ctx workflow.Context) { s.tell(ctx) })
}

// shard carries one shard out.
func (r *run) shard(ctx workflow.Context, s *activeShard, in ShardInput) (done ShardDone) {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:          eval.ShardWorkflowID(r.in.RunID, in.Index),
		TaskQueue:           QueueHarness,
		ParentClosePolicy:   enumspb.PARENT_CLOSE_POLICY_TERMINATE,
		WaitForCancellation: true,
		StaticSummary:       fmt.Sprintf("shard %d of %d", in.Index+1, len(r.plan.Shards)),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			SearchRunID.ValueSet(r.in.RunID), SearchDataset.ValueSet(r.plan.Dataset), SearchAgent.ValueSet(r.plan.Agent)),
	})
	child, err := startChild(ctx, func() workflow.ChildWorkflowFuture {
		s.sent = s.want
		in.Control = s.want
		return workflow.ExecuteChildWorkflow(ctx, Shard, in)
	})
	if err == nil {
		s.child = child
		err = child.Get(ctx, &done.ShardResult)
	}
	if err != nil && !temporal.IsCanceledError(err) {
		done.Class, done.Error = activities.ErrorClass(err)
	}
	return done
}

// tell keeps the shard informed: always of the latest, in order.
func (s *activeShard) tell(ctx workflow.Context) {
	quiet, _ := workflow.NewDisconnectedContext(ctx)
	for {
		err := workflow.Await(quiet, func() bool { return s.over || s.child != nil && s.sent != s.want })
		if err != nil || s.over {
			return
		}
		s.sent = s.want
		// Waited for, since two signals under way may overtake each other. That it
		// fails is no matter: a shard that is gone needs no telling.
		_ = s.child.SignalChildWorkflow(ctx, signalControl, s.sent).Get(quiet, nil)
	}
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

// steer hands the window and the pause to the shards that still start tasks.
func (r *run) steer() {
	used := 0
	for _, s := range r.inOrder() {
		used += max(0, s.tail)
	}
	for _, s := range r.inOrder() {
		if s.tail < 0 { // one at most, see free
			s.want = Control{Window: max(1, r.window-used), Paused: r.paused}
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

// listen follows how the last trials of a shard end.
func (r *run) listen(ctx workflow.Context) {
	ch := workflow.GetSignalChannel(ctx, signalTail)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var t Tail
			if !ch.Receive(ctx, &t) {
				return
			}
			// The least counts, since signals may overtake each other.
			if s := r.active[t.Index]; s != nil && (s.tail < 0 || t.Running < s.tail) {
				s.tail = t.Running
				r.steer()
			}
		}
	})
}
