package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"harness/eval"
)

// QueueHarness is the task queue of workflows, grading and reports.
const QueueHarness = "harness"

// DefaultClass is the class of workers that need nothing special.
const DefaultClass = "default"

// SandboxQueue is the task queue of the workers that run sandboxes of a class.
func SandboxQueue(class string) string { return "sandbox-" + class }

// Names of queries, updates and signals.
const (
	QueryProgress        = "progress"
	UpdatePause          = "pause"
	UpdateResume         = "resume"
	UpdateSetConcurrency = "set_concurrency"
	UpdateCancelTask     = "cancel_task"
	UpdateRetryInfra     = "retry_infra"

	signalControl = "control" // run -> shard: Control
	signalTail    = "tail"    // shard -> run: Tail
)

// Register gives a worker the three workflow types under their names.
func Register(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: "Run"})
	w.RegisterWorkflowWithOptions(Shard, workflow.RegisterOptions{Name: "Shard"})
	w.RegisterWorkflowWithOptions(Task, workflow.RegisterOptions{Name: "Task"})
}

// Search attributes of all three workflow types, all keywords.
var (
	SearchRunID      = temporal.NewSearchAttributeKeyKeyword("RunID")
	SearchDataset    = temporal.NewSearchAttributeKeyKeyword("Dataset")
	SearchInstanceID = temporal.NewSearchAttributeKeyKeyword("InstanceID")
	SearchAgent      = temporal.NewSearchAttributeKeyKeyword("Agent")
	SearchOutcome    = temporal.NewSearchAttributeKeyKeyword("Outcome")
)

// SearchAttributes lists the names that a server must know before a run starts.
func SearchAttributes() []string {
	return []string{
		SearchRunID.GetName(), SearchDataset.GetName(), SearchInstanceID.GetName(),
		SearchAgent.GetName(), SearchOutcome.GetName(),
	}
}

// RunAttributes are the search attributes of a run's own workflow.
func RunAttributes(s eval.RunSpec) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(
		SearchRunID.ValueSet(s.RunID), SearchDataset.ValueSet(s.Dataset), SearchAgent.ValueSet(s.Agent))
}
