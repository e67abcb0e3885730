package eval

// Kinds of test lists that the official graders tell apart.
const (
	EvalPassAndFail = "pass_and_fail" // a test counts when it is seen to pass
	EvalFailOnly    = "fail_only"     // a test counts unless it is seen to fail
)

// Task is a dataset row ready to run: the repository state, the evaluation
// baseline and how its tests are run and read. All text is data; nothing in a
// task is ever executed or interpreted on the host.
type Task struct {
	InstanceID string `json:"instance_id"`
	Repo       string `json:"repo"`        // "owner/name"
	BaseCommit string `json:"base_commit"` // 40 hex digits where the dataset has one
	Version    string `json:"version,omitempty"`
	Language   string `json:"language,omitempty"` // lower case: python, go, javascript, ...
	Difficulty string `json:"difficulty,omitempty"`
	CreatedAt  string `json:"created_at,omitempty"`

	ProblemStatement string `json:"problem_statement,omitempty"`
	HintsText        string `json:"hints_text,omitempty"`

	Patch     string `json:"patch"`      // gold patch, unified diff
	TestPatch string `json:"test_patch"` // brings the hidden tests

	FailToPass []string `json:"FAIL_TO_PASS"`
	PassToPass []string `json:"PASS_TO_PASS"`

	Image      string `json:"image"`       // reference in the image store
	EvalScript string `json:"eval_script"` // whole bash file, run as root in the sandbox
	LogParser  string `json:"log_parser"`  // name in scoring/logparse
	EvalType   string `json:"eval_type"`   // EvalPassAndFail or EvalFailOnly

	WorkDir string      `json:"workdir,omitempty"` // the repository inside the image; "" means /testbed
	Limits  *LimitsSpec `json:"limits,omitempty"`  // the task's own needs; nil fields fall back to the run's
	Frozen  *Frozen     `json:"frozen,omitempty"`  // set when the test lists were observed, not published
}

// Frozen records that FAIL_TO_PASS and PASS_TO_PASS were observed in gold and
// no-op executions rather than taken from the publisher.
type Frozen struct {
	Runtime      string   `json:"runtime"`
	ImageDigest  string   `json:"image_digest"`
	GoldRuns     int      `json:"gold_runs"`
	NoopRuns     int      `json:"noop_runs"`
	PublishedF2P int      `json:"published_f2p"`
	PublishedP2P int      `json:"published_p2p"`
	Missing      []string `json:"missing,omitempty"` // published ids never seen in the gold run
	Note         string   `json:"note,omitempty"`
}

// DefaultWorkDir is where SWE-bench images keep the repository.
const DefaultWorkDir = "/testbed"

// Dir returns the repository's folder inside the image.
func (t *Task) Dir() string {
	if t.WorkDir == "" {
		return DefaultWorkDir
	}
	return t.WorkDir
}

// Prediction is a model's patch for a task. A nil Patch is "no patch was given"
// (null in the file); an empty string is a patch without content.
type Prediction struct {
	InstanceID string  `json:"instance_id"`
	Model      string  `json:"model_name_or_path"`
	Patch      *string `json:"model_patch"`
}

// Empty reports whether the official rules count the prediction as empty.
func (p Prediction) Empty() bool { return p.Patch == nil || *p.Patch == "" }
