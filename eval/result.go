package eval

import (
	"fmt"
	"time"
)

// TrialResult is the record of one finished trial (result.json). Pointers and
// empty strings mean "not known"; they become null in the tables.
type TrialResult struct {
	Schema int `json:"schema"` // 1
	TrialID

	Repo       string `json:"repo"`
	Language   string `json:"language,omitempty"`
	Difficulty string `json:"difficulty,omitempty"`

	Outcome Outcome `json:"outcome"`
	Blame   Blame   `json:"blame,omitempty"`
	Reason  string  `json:"reason,omitempty"` // one sentence for people; never decides anything

	Verdicts []Verdict    `json:"verdicts"`
	Tests    []TestResult `json:"tests,omitempty"`
	Scores   Scores       `json:"scores"`
	Counts   TestCounts   `json:"counts"`
	// Coverage is of the run's own rules; nil when there was nothing to read, or the parser can't tell.
	Coverage *LogCoverage `json:"coverage,omitempty"`

	Patch  PatchFacts `json:"patch"`
	Exec   ExecFacts  `json:"exec"`
	Phases []Phase    `json:"phases"`
	Events []Event    `json:"events,omitempty"`
	Usage  Usage      `json:"usage"`
	Limits Limits     `json:"limits"`
	Tries  int        `json:"tries"` // physical executions so far, this one included

	Agent      AgentUsage `json:"agent_usage,omitzero"`
	Calibrated *bool      `json:"calibrated,omitempty"` // the gold patch passes and a no-op fails here; nil when nobody looked

	Artifacts map[string]Ref `json:"artifacts"` // "patch.diff", "test.log.zst", ... of the winning try
	StartedAt time.Time      `json:"started_at"`
	EndedAt   time.Time      `json:"ended_at"`
	Cached    bool           `json:"cached,omitempty"`

	ErrorClass   string `json:"error_class,omitempty"` // Temporal error type, for infra_error
	ErrorMessage string `json:"error_message,omitempty"`
}

// Verdict is what one set of rules says of one recipe's log.
type Verdict struct {
	Recipe   string   `json:"recipe"`
	Rules    string   `json:"rules"`
	Outcome  Outcome  `json:"outcome"`
	Resolved bool     `json:"resolved"`
	Flags    []string `json:"flags,omitempty"` // sorted words, e.g. "exit_code_mismatch"
	// Reward is what the task's own tests gave, 0 to 1, under rules that go by it.
	Reward *float64 `json:"reward,omitempty"`
	// Official is the inner object of the official report.json, null when the
	// official harness would have written none.
	Official *OfficialReport `json:"official,omitempty"`
}

// OfficialReport is the value under the instance id in the official report.json.
type OfficialReport struct {
	PatchIsNone  bool         `json:"patch_is_None"`
	PatchExists  bool         `json:"patch_exists"`
	PatchApplied bool         `json:"patch_successfully_applied"`
	Resolved     bool         `json:"resolved"`
	InfraFailure *bool        `json:"infra_failure,omitempty"`
	InfraReason  string       `json:"infra_failure_reason,omitempty"`
	TestsStatus  *TestsStatus `json:"tests_status,omitempty"`
}

// TestsStatus lists expected tests by group and by whether they behaved.
type TestsStatus struct {
	FailToPass SuccessFailure `json:"FAIL_TO_PASS"`
	PassToPass SuccessFailure `json:"PASS_TO_PASS"`
	FailToFail SuccessFailure `json:"FAIL_TO_FAIL"`
	PassToFail SuccessFailure `json:"PASS_TO_FAIL"`
}

// SuccessFailure keeps dataset order. Both lists are written as [] when empty.
type SuccessFailure struct {
	Success []string `json:"success"`
	Failure []string `json:"failure"`
}

// Test groups of the tests table.
const (
	GroupF2P   = "F2P"
	GroupP2P   = "P2P"
	GroupF2F   = "F2F"
	GroupP2F   = "P2F"
	GroupOther = "other"
)

// TestResult is one test of a trial. Status is PASSED, FAILED, SKIPPED, ERROR,
// XFAIL, or MISSING for an expected test that the log does not have; RawStatus
// is the word of the log.
type TestResult struct {
	Name      string   `json:"test"`
	Group     string   `json:"group"`
	Status    string   `json:"status"`
	RawStatus string   `json:"raw_status,omitempty"`
	Seconds   *float64 `json:"seconds,omitempty"`
}

// TestCounts are over the expected tests. All nil when nothing was graded.
type TestCounts struct {
	F2PPassed *int `json:"f2p_passed,omitempty"`
	F2PTotal  *int `json:"f2p_total,omitempty"`
	P2PPassed *int `json:"p2p_passed,omitempty"`
	P2PTotal  *int `json:"p2p_total,omitempty"`
}

// LogCoverage tells how much of the test output a log parser could place: what
// gave a result, or is known to belong to the format. Blank lines count as placed.
type LogCoverage struct {
	Lines         int64 `json:"lines"`
	Bytes         int64 `json:"bytes"`
	UnplacedLines int64 `json:"unplaced_lines"`
	UnplacedBytes int64 `json:"unplaced_bytes"`
}

// String says it for people.
func (c LogCoverage) String() string {
	return fmt.Sprintf("%d of %d lines (%d of %d bytes) of the test output were not placed", c.UnplacedLines, c.Lines, c.UnplacedBytes, c.Bytes)
}

// Scores is the score vector, each in [0,1], nil when unknown.
type Scores struct {
	Functional      *float64 `json:"functional"`
	Resource        *float64 `json:"resource"`
	Security        *float64 `json:"security"`
	Maintainability *float64 `json:"maintainability"`
	Performance     *float64 `json:"performance"`
}

// PatchFacts describe the candidate patch as sent.
type PatchFacts struct {
	SHA256       string   `json:"sha256,omitempty"`
	Bytes        *int64   `json:"bytes,omitempty"`
	FilesChanged *int     `json:"files_changed,omitempty"`
	LinesAdded   *int     `json:"lines_added,omitempty"`
	LinesRemoved *int     `json:"lines_removed,omitempty"`
	TamperFlags  []string `json:"tamper_flags,omitempty"` // sorted words of the path policy
	ApplyMethod  string   `json:"apply_method,omitempty"`
}

// ExecFacts are what the host saw of the execution; nothing in it was printed
// by the code inside.
type ExecFacts struct {
	Runtime        string   `json:"runtime,omitempty"`
	RuntimeVersion string   `json:"runtime_version,omitempty"`
	ImageDigest    string   `json:"image_digest,omitempty"`
	Worker         string   `json:"worker,omitempty"`
	Network        string   `json:"network,omitempty"`
	ExitCode       *int     `json:"exit_code,omitempty"` // of the test command's shell
	TimedOut       bool     `json:"timed_out,omitempty"`
	OOMKilled      bool     `json:"oom_killed,omitempty"`
	DiskFull       bool     `json:"disk_full,omitempty"`
	Died           bool     `json:"died,omitempty"`            // the sandbox ended although nobody asked it to
	Truncated      int64    `json:"truncated_bytes,omitempty"` // cut from the middle of the log
	LimitsHit      []string `json:"limits_hit,omitempty"`      // sorted Limit* names
}

// Usage is measured from the host. Nil means the host could not tell.
type Usage struct {
	WallSeconds     *float64 `json:"wall_s,omitempty"`
	CPUSeconds      *float64 `json:"cpu_s,omitempty"`
	QueueSeconds    *float64 `json:"queue_s,omitempty"`
	PeakMemoryBytes *int64   `json:"peak_memory_bytes,omitempty"`
	DiskBytes       *int64   `json:"disk_bytes,omitempty"`
	IOReadBytes     *int64   `json:"io_read_bytes,omitempty"`
	IOWriteBytes    *int64   `json:"io_write_bytes,omitempty"`
	NetBytes        *int64   `json:"net_bytes,omitempty"`
	ThrottledSecs   *float64 `json:"throttled_s,omitempty"`
}

// AgentUsage is what making the patch took, as its maker reported. Nil means
// it did not say.
type AgentUsage struct {
	TokensIn  *int64   `json:"tokens_in,omitempty"`
	TokensOut *int64   `json:"tokens_out,omitempty"`
	CostUSD   *float64 `json:"cost_usd,omitempty"`
}

// Phase names.
const (
	PhaseQueue      = "queue"
	PhasePreprocess = "preprocess"
	PhaseCreate     = "create"
	PhaseApply      = "apply"
	PhaseTests      = "tests"
	PhaseCollect    = "collect"
	PhaseEvaluate   = "evaluate"
)

// Phase is one timed part of a trial.
type Phase struct {
	Name      string    `json:"phase"`
	StartedAt time.Time `json:"started_at"`
	Seconds   float64   `json:"seconds"`
}

// Event is one observation kept with a trial.
type Event struct {
	Time     time.Time `json:"time"`
	Source   string    `json:"source"` // sandbox, egress, host, preprocess
	Kind     string    `json:"kind"`
	Severity string    `json:"severity"` // info, low, medium, high
	Detail   string    `json:"detail"`
	Dropped  int64     `json:"dropped,omitempty"`
}
