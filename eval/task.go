package eval

import "strings"

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

	WorkDir string      `json:"workdir,omitempty"` // the repository inside the image; "" means /testbed, ImageWorkDir the image's own
	Limits  *LimitsSpec `json:"limits,omitempty"`  // the task's own needs; nil fields fall back to the run's
	Frozen  *Frozen     `json:"frozen,omitempty"`  // set when the test lists were observed, not published

	Family      string       `json:"family,omitempty"`       // a Family* constant; "" is SWE-bench
	ImageAssets *ImageAssets `json:"image_assets,omitempty"` // pictures that belong to the issue and the patches
	Files       []TaskFile   `json:"files,omitempty"`        // put into the sandbox before the eval script runs
	Solution    *Solution    `json:"solution,omitempty"`     // what solves a task that has no gold patch
	Baseline    *Baseline    `json:"baseline,omitempty"`     // what the publisher's own executions gave
}

// Dataset families: whose row schema a task came in, and so which grader is its
// own. SWE-bench itself, with Lite, Verified, Multimodal and Multilingual, is "".
const (
	FamilyMultiSWEBench = "multi-swe-bench"
	FamilyLive          = "swe-bench-live"
	FamilyRebench       = "swe-rebench"
	FamilyRebench2      = "swe-rebench-v2"
	FamilyPro           = "swe-bench-pro"
	FamilyGym           = "swe-gym"
	FamilyHarbor        = "harbor" // also Terminal-Bench
)

// ImageAssets are the pictures of a multimodal task, by what they belong to.
type ImageAssets struct {
	ProblemStatement []Asset `json:"problem_statement,omitempty"`
	Patch            []Asset `json:"patch,omitempty"`
	TestPatch        []Asset `json:"test_patch,omitempty"`
}

// Asset is one picture: where it is published, and where it belongs in the
// repository. One of them may be "".
type Asset struct {
	URL  string `json:"url,omitempty"`
	Path string `json:"path,omitempty"`
}

// Solution is the dataset's own solution of a task whose result is the state of
// the sandbox rather than a patch. It is run for gold candidates only.
type Solution struct {
	Script string     `json:"script"`          // whole bash file, run as root in the task's folder
	Files  []TaskFile `json:"files,omitempty"` // put into the sandbox before it
	// TimeoutSeconds bounds it; zero means as long as the tests may take.
	TimeoutSeconds int64 `json:"timeout_seconds,omitempty"`
}

// Seconds is how long the solution may take under the trial's limits. It is zero
// for a nil solution.
func (s *Solution) Seconds(l Limits) int64 {
	switch {
	case s == nil:
		return 0
	case s.TimeoutSeconds > 0:
		return s.TimeoutSeconds
	}
	return l.WallSeconds
}

// AssetsDir is where pictures of the patches wait inside the sandbox.
const AssetsDir = "/image_assets"

// Staged is where the picture waits inside the sandbox until the tests' patch is
// applied; "" for one that has no place in the repository.
func (a Asset) Staged() string {
	if a.Path == "" {
		return ""
	}
	return AssetsDir + "/" + strings.ReplaceAll(a.Path, "/", "__")
}

// OfPatches are the pictures that belong to the tests' patch and to the gold
// patch, in the order in which they are put in place. Text patches can't carry
// them.
func (a *ImageAssets) OfPatches() []Asset {
	if a == nil {
		return nil
	}
	var out []Asset
	for _, list := range [][]Asset{a.TestPatch, a.Patch} {
		for _, one := range list {
			if one.Path != "" {
				out = append(out, one)
			}
		}
	}
	return out
}

// TaskFile is a file that a task brings into the sandbox.
type TaskFile struct {
	Path string `json:"path"` // clean and absolute
	Mode uint32 `json:"mode"` // permission bits
	Data []byte `json:"data"`
}

// Baseline is what a publisher's own executions of a task gave, for graders
// that judge by the change of a test's state.
type Baseline struct {
	Run  *TestStates `json:"run,omitempty"`  // neither patch
	Test *TestStates `json:"test,omitempty"` // the test patch only
	Gold *TestStates `json:"gold,omitempty"` // both patches
	// Tests that were skipped, or not there, before the gold patch and pass with it.
	SkipToPass []string `json:"s2p,omitempty"`
	NoneToPass []string `json:"n2p,omitempty"`
}

// TestStates are the tests that one execution reported, by state.
type TestStates struct {
	Passed  []string `json:"passed"`
	Failed  []string `json:"failed"`
	Skipped []string `json:"skipped"`
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

// ImageWorkDir stands for the working folder that the image itself names.
const ImageWorkDir = "."

// Dir returns the repository's folder inside the image, "" for the image's own
// working folder.
func (t *Task) Dir() string {
	switch t.WorkDir {
	case "":
		return DefaultWorkDir
	case ImageWorkDir:
		return ""
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
