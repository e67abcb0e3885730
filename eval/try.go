package eval

import "time"

// TryReport is what one physical execution found out, stored beside its log as
// usage.json. It holds facts only; what they mean is decided when it is graded.
type TryReport struct {
	Schema int `json:"schema"` // 1
	TrialID
	Try   int    `json:"try"`
	Token string `json:"token"`

	Applied     bool   `json:"applied"` // the patch is in the tree (true for a no-op)
	ApplyMethod string `json:"apply_method,omitempty"`

	Exec   ExecFacts `json:"exec"`
	Usage  Usage     `json:"usage"`
	Phases []Phase   `json:"phases"`
	Events []Event   `json:"events,omitempty"`

	Artifacts map[string]Ref `json:"artifacts"`
	StartedAt time.Time      `json:"started_at"`
	EndedAt   time.Time      `json:"ended_at"`
}

// TryError is what a try that ended in a fault of ours leaves behind (error.json).
type TryError struct {
	Schema int `json:"schema"` // 1
	TrialID
	Try     int       `json:"try"`     // physical executions so far, as far as they left a trace
	Outcome Outcome   `json:"outcome"` // InfraError or Cancelled
	Class   string    `json:"error_class"`
	Message string    `json:"error_message"`
	At      time.Time `json:"at"`
	// Final: the trial was given up with it. Otherwise another try followed.
	Final bool `json:"final"`
}

// Names of the files of a try.
const (
	FilePatch    = "patch.diff"
	FileLog      = "test.log.zst"
	FileApplyLog = "apply.log"
	FileUsage    = "usage.json"
	FileError    = "error.json"
)
