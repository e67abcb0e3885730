package activities

import "harness/eval"

// Payloads carry references and counts, never logs or patches.

// PlanInput names a run by its stored spec.
type PlanInput struct {
	RunID string   `json:"run_id"`
	Spec  eval.Ref `json:"spec"`
}

// Plan is what the run's workflow needs to know of its spec.
type Plan struct {
	Shards        []eval.Ref `json:"shards"`
	Tasks         int        `json:"tasks"` // task x attempt
	Rounds        int        `json:"rounds"`
	MaxInfraTries int        `json:"max_infra_tries"`
	Dataset       string     `json:"dataset"`
	Agent         string     `json:"agent"`
}

// ShardInput names one shard of a run.
type ShardInput struct {
	RunID string   `json:"run_id"`
	Spec  eval.Ref `json:"spec"`
	Shard eval.Ref `json:"shard"`
	Index int      `json:"index"`
}

// ShardPlan lists a shard's entries in order, and what is known of those that
// were finished before.
type ShardPlan struct {
	Entries []EntryPlan `json:"entries"`
}

// EntryPlan is one task x attempt. Done is set when its final result is stored.
type EntryPlan struct {
	InstanceID    string        `json:"i"`
	Attempt       int           `json:"a"`
	BudgetSeconds int64         `json:"s"`
	Done          *TrialSummary `json:"d,omitempty"`
}

// TrialInput names one trial by its place in a stored shard.
type TrialInput struct {
	RunID string   `json:"run_id"`
	Spec  eval.Ref `json:"spec"`
	Shard eval.Ref `json:"shard"`
	Entry int      `json:"entry"` // index in the shard
	Round int      `json:"round"` // from 1
}

// Prepared is the outcome of parse and preprocess: a trial that is finished
// already, one that ends without a sandbox, or (both nil) one to execute.
type Prepared struct {
	Done  *TrialSummary `json:"done,omitempty"`
	Final eval.Outcome  `json:"final,omitzero"`
}

// Executed points at what a try left.
type Executed struct {
	Report eval.Ref `json:"report"` // usage.json
	Died   bool     `json:"died"`   // the sandbox ended although nobody asked it to
}

// EvaluateInput asks for the verdict on a try; Report is nil for a trial that
// ended without a sandbox (Final says how).
type EvaluateInput struct {
	Trial  TrialInput   `json:"trial"`
	Report *eval.Ref    `json:"report,omitempty"`
	Final  eval.Outcome `json:"final,omitzero"`
}

// FailureInput records a try that ended in a fault of ours, or was cancelled.
type FailureInput struct {
	Trial   TrialInput   `json:"trial"`
	Outcome eval.Outcome `json:"outcome"` // InfraError or Cancelled
	Class   string       `json:"class"`
	Message string       `json:"message"`
}

// ShardFailureInput records a fault of ours that kept a whole shard from being run.
type ShardFailureInput struct {
	Shard   ShardInput `json:"shard"`
	Class   string     `json:"class"`
	Message string     `json:"message"`
}

// TrialSummary is what a finished trial tells its parents. Its zero value can be
// written, since Temporal encodes results also of activities that fail.
type TrialSummary struct {
	Outcome  eval.Outcome `json:"outcome,omitzero"`
	Resolved bool         `json:"resolved"`
	Round    int          `json:"round"`
	Tries    int          `json:"tries"`
}

// ReportInput asks for the run's report files.
type ReportInput struct {
	RunID string   `json:"run_id"`
	Spec  eval.Ref `json:"spec"`
}

// Reported says where the report is.
type Reported struct {
	Report eval.Ref `json:"report"` // report.json
}
