package reports

import (
	"time"

	"harness/eval"
)

// Summary is report.json: the official run report of schema version 2, key by
// key and in its order, followed by "harness" with what only we know.
//
// Official lists speak of one attempt a task, the first; its last round counts.
type Summary struct {
	TotalInstances            int               `json:"total_instances"`
	SubmittedInstances        int               `json:"submitted_instances"`
	CompletedInstances        int               `json:"completed_instances"`
	ResolvedInstances         int               `json:"resolved_instances"`
	UnresolvedInstances       int               `json:"unresolved_instances"`
	InfraFailureInstances     int               `json:"infra_failure_instances"`
	AmbiguousFailureInstances int               `json:"ambiguous_failure_instances"`
	EmptyPatchInstances       int               `json:"empty_patch_instances"`
	ErrorInstances            int               `json:"error_instances"`
	CompletedIDs              []string          `json:"completed_ids"`
	IncompleteIDs             []string          `json:"incomplete_ids"`
	EmptyPatchIDs             []string          `json:"empty_patch_ids"`
	SubmittedIDs              []string          `json:"submitted_ids"`
	ResolvedIDs               []string          `json:"resolved_ids"`
	UnresolvedIDs             []string          `json:"unresolved_ids"`
	InfraFailureIDs           []string          `json:"infra_failure_ids"`
	AmbiguousFailureIDs       []string          `json:"ambiguous_failure_ids"`
	FailureReasons            map[string]string `json:"failure_reasons"`
	ErrorIDs                  []string          `json:"error_ids"`
	SchemaVersion             int               `json:"schema_version"`

	Harness Harness `json:"harness"`
}

// Harness is our own part of report.json.
type Harness struct {
	Schema int      `json:"schema"` // 1
	Run    RunFacts `json:"run"`

	Tasks    int            `json:"tasks"`    // selected tasks
	Attempts int            `json:"attempts"` // task x attempt pairs with a result
	Trials   int            `json:"trials"`   // all rounds of them
	Outcomes map[string]int `json:"outcomes"` // attempts by outcome, every outcome named
	// NoResult counts the attempts that the run should have and has no record of.
	NoResult int `json:"no_result"`

	Rates    Rates         `json:"rates"`
	Coverage eval.Coverage `json:"coverage"`

	// Calibration is how the run meets its calibration; nil when it has none.
	Calibration *CalibrationSummary `json:"calibration,omitempty"`

	InfraErrors []InfraFault `json:"infra_errors"`
	Tampered    []Tampered   `json:"tampered"`

	Totals Totals      `json:"totals"`
	Phases []PhaseTime `json:"phases"`
	Files  []File      `json:"files"` // report.json itself left out
}

// RunFacts repeat the input of the run. Empty and nil mean "not known".
type RunFacts struct {
	RunID          string     `json:"run_id"`
	Dataset        string     `json:"dataset"`
	DatasetDigest  string     `json:"dataset_digest"`
	Split          string     `json:"split,omitempty"`
	Candidate      string     `json:"candidate"`
	Agent          string     `json:"agent"`
	AgentVersion   string     `json:"agent_version,omitempty"`
	Model          string     `json:"model,omitempty"`
	Profile        string     `json:"profile"`
	Runtime        string     `json:"runtime"`
	Network        string     `json:"network"`
	Attempts       int        `json:"attempts"`
	Rounds         int        `json:"rounds"`
	Disclosure     string     `json:"disclosure,omitempty"`
	SpecDigest     string     `json:"spec_digest"`
	HarnessVersion string     `json:"harness_version"`
	StartedAt      *time.Time `json:"started_at"`
	EndedAt        *time.Time `json:"ended_at"`
	WallSeconds    *float64   `json:"wall_s"`
}

// Rates are the resolved rate over different denominators, always given together.
type Rates struct {
	All                Rate `json:"all"`                  // every attempt but cancelled ones
	WithoutInfraErrors Rate `json:"without_infra_errors"` // our own faults left out too
	AllTasks           Rate `json:"all_tasks"`            // first attempts over all selected tasks, with or without a result
	AnyAttempt         Rate `json:"any_attempt"`          // tasks that at least one attempt resolved, over tasks with a result
}

// CalibrationSummary sets the run against its calibration. None of it changes an
// outcome.
type CalibrationSummary struct {
	CalibrationFacts
	SHA256         string `json:"sha256"` // of the calibration file
	Runtime        string `json:"runtime"`
	RuntimeVersion string `json:"runtime_version,omitempty"`
	Tasks          int    `json:"tasks"` // calibrated tasks of the run
	// Resolved and ResolvedAll count the same attempts, once on calibrated tasks
	// only and once on all; both leave cancelled ones out.
	Resolved    Rate         `json:"resolved"`
	ResolvedAll Rate         `json:"resolved_all"`
	LeftOut     []LeftOut    `json:"left_out"`    // tasks of the run that are not calibrated
	Quarantined []Quarantine `json:"quarantined"` // tests of the run's tasks, those of tasks left out included
	// OnlyQuarantined are attempts that are not resolved, where each test that
	// stands against them is quarantined.
	OnlyQuarantined []OnlyQuarantined `json:"only_quarantined"`
}

// LeftOut is a task that is not calibrated, and why: reasons of the calibration,
// ReasonChanged or ReasonAbsent.
type LeftOut struct {
	InstanceID string   `json:"instance_id"`
	Reasons    []string `json:"reasons"`
}

// Why a task is left out although its calibration does not say so.
const (
	ReasonAbsent  = "not_in_calibration"
	ReasonChanged = "changed_since_calibration" // the task, or its image
)

// Quarantine is a test that decides its task and should not be believed.
type Quarantine struct {
	InstanceID string   `json:"instance_id"`
	Test       string   `json:"test"`
	Group      string   `json:"group"`
	Reasons    []string `json:"reasons"`
	// FlakeRate is the higher one of the gold and the unpatched repeats.
	FlakeRate *float64 `json:"flake_rate"`
}

// OnlyQuarantined is an attempt that failed by quarantined tests alone.
type OnlyQuarantined struct {
	InstanceID string   `json:"instance_id"`
	Attempt    int      `json:"attempt"`
	Tests      []string `json:"tests"`
}

// InfraFault names an attempt that has no result for a reason of ours.
type InfraFault struct {
	InstanceID string `json:"instance_id"`
	Attempt    int    `json:"attempt"`
	Class      string `json:"error_class"`
	Message    string `json:"error_message"`
}

// Tampered names an attempt whose patch the path policy flagged.
type Tampered struct {
	InstanceID string       `json:"instance_id"`
	Attempt    int          `json:"attempt"`
	Outcome    eval.Outcome `json:"outcome"`
	Flags      []string     `json:"flags"`
}

// Totals are sums over the trials that were executed, cached ones left out; nil
// when no trial knows.
type Totals struct {
	Tries        int      `json:"tries"`
	Cached       int      `json:"cached"`
	WallSeconds  *float64 `json:"wall_s"`
	CPUSeconds   *float64 `json:"cpu_s"`
	QueueSeconds *float64 `json:"queue_s"`
	TokensIn     *int64   `json:"tokens_in"`
	TokensOut    *int64   `json:"tokens_out"`
	CostUSD      *float64 `json:"cost_usd"`
}

// PhaseTime sums one phase over the trials that have it, cached ones left out.
type PhaseTime struct {
	Phase   string  `json:"phase"`
	Trials  int     `json:"trials"`
	Seconds float64 `json:"seconds"`
}

// File is one of the report's files.
type File struct {
	Name   string `json:"name"`
	Key    string `json:"key"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Rows   *int64 `json:"rows"` // of a table
}
