package eval

import "time"

// Candidate kinds.
const (
	CandidatePredictions = "predictions"
	CandidateGold        = "gold"
	CandidateNoop        = "noop"
)

// RunSpec is the frozen input of a run, stored as spec.json before anything
// starts. Two specs are the same run iff Digest (of the canonical JSON without
// the Created fields) is equal.
type RunSpec struct {
	Schema int    `json:"schema"` // 1
	RunID  string `json:"run_id"`

	Dataset       string `json:"dataset"`                  // name for people
	DatasetDigest string `json:"dataset_digest"`           // sha256 over the canonical tasks, in order
	DatasetSource string `json:"dataset_source,omitempty"` // address it was fetched from, its revision fixed; not part of Digest
	Split         string `json:"split,omitempty"`

	Candidate    string `json:"candidate"` // Candidate* constant
	Agent        string `json:"agent"`     // who made the patches: predictions, gold, noop, or an agent's name
	AgentVersion string `json:"agent_version,omitempty"`
	Model        string `json:"model,omitempty"`

	Profile       string        `json:"profile"`
	Recipe        Recipe        `json:"recipe"`
	Limits        Limits        `json:"limits"`
	Network       NetworkPolicy `json:"network"`
	Runtime       string        `json:"runtime"` // handler: runsc, runc
	Attempts      int           `json:"attempts"`
	Rounds        int           `json:"rounds"`
	Disclosure    string        `json:"disclosure"`
	MaxInfraTries int           `json:"max_infra_tries"`

	ShardSize int      `json:"shard_size"`
	Entries   int      `json:"entries"`  // task x attempt, over all shards
	Shards    []Ref    `json:"shards"`   // Shard documents, in order
	Coverage  Coverage `json:"coverage"` // how the predictions met the dataset

	// Calibration is the calibration table that the report sets resolved tasks
	// against; nil when there is none that fits.
	Calibration *Ref `json:"calibration,omitempty"`

	HarnessVersion string    `json:"harness_version"`
	CreatedAt      time.Time `json:"created_at"`
}

// Coverage accounts for every record of a predictions file and every task of
// the selection. Lists are sorted ids; Malformed are positions with reasons.
type Coverage struct {
	Tasks      int      `json:"tasks"`      // selected tasks
	Records    int      `json:"records"`    // records in the predictions file
	Missing    []string `json:"missing"`    // selected tasks without a prediction
	Duplicate  []string `json:"duplicate"`  // ids given more than once; the last one counts
	Unknown    []string `json:"unknown"`    // ids that are in no task of the dataset
	Unselected []string `json:"unselected"` // in the dataset, but not in the selection
	Empty      []string `json:"empty"`      // "" patches
	Null       []string `json:"null"`       // null patches
	Malformed  []string `json:"malformed"`  // "file:line: reason"
}

// Shard is a stored list of at most ShardSize entries.
type Shard struct {
	Index   int          `json:"index"` // from 0
	Entries []ShardEntry `json:"entries"`
}

// ShardEntry is one task x attempt: where its task and its patch are stored.
// A nil Patch with Noop false is an empty prediction.
type ShardEntry struct {
	InstanceID string `json:"instance_id"`
	Attempt    int    `json:"attempt"`
	Task       Ref    `json:"task"`
	Patch      *Ref   `json:"patch,omitempty"`
	Noop       bool   `json:"noop,omitempty"`
	// BudgetSeconds bounds one physical execution: set-up, tests and clean-up
	// under the task's own limits.
	BudgetSeconds int64 `json:"budget_seconds"`
	// Calibration is what the run's calibration says of the task; nil when it says
	// nothing, or speaks of another form of the task.
	Calibration *TaskCalibration `json:"calibration,omitempty"`
}

// TaskCalibration is the judgement on a task under the run's runtime.
type TaskCalibration struct {
	Calibrated bool `json:"calibrated"`
	// ImageDigest is the image that was calibrated, "" when not known.
	ImageDigest string `json:"image_digest,omitempty"`
}

// In returns whether the task is calibrated in the image; nil when nobody looked
// there. An image that is not known is taken to be the calibrated one.
func (c *TaskCalibration) In(image string) *bool {
	if c == nil || image != "" && c.ImageDigest != "" && image != c.ImageDigest {
		return nil
	}
	known := c.Calibrated
	return &known
}

// Ref names stored bytes: a key of the artifact store, their SHA-256 (hex) and
// their size in bytes as stored.
type Ref struct {
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}
