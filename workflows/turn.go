package workflows

import "go.temporal.io/sdk/workflow"

// othersFirst lets all other coroutines run until they wait. A signal that came
// with the workflow task at hand may have been given to one that has not had its
// turn yet: a workflow that ended now would lose it.
func othersFirst(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	turn := false
	workflow.Go(ctx, func(workflow.Context) { turn = true }) // the youngest comes last
	return workflow.Await(ctx, func() bool { return turn })
}
