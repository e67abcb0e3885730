package eval

// Recipe says how a task is executed. It is a value: a grading profile names
// one, and the execute activity follows it without knowing profiles.
type Recipe struct {
	Name string `json:"name"`

	// Apply lists the ways of applying the patch, tried in order inside the
	// sandbox until one exits 0.
	Apply []ApplyStep `json:"apply"`
	// ResetBetween restores the work tree before each further way.
	ResetBetween bool `json:"reset_between"`
	// KeepPartial counts the last way as applied even if it fails: what fitted
	// stays in the tree, and the tests run.
	KeepPartial bool `json:"keep_partial,omitempty"`
	// DropBinary takes files with binary content out of the patch beforehand.
	DropBinary bool `json:"drop_binary,omitempty"`
	// AcceptReverse counts a patch that is already in the tree as applied.
	AcceptReverse bool `json:"accept_reverse"`
	// RecordExitCode adds the test command's exit code to the log, after the end marker.
	RecordExitCode bool `json:"record_exit_code"`
	// OlderScripts: a task whose row brings no script is run by one of the form of
	// SWE-bench 2 to 4; otherwise by one of the form of release 5.
	OlderScripts bool `json:"older_scripts,omitempty"`
	// RejectByPolicy turns findings of the path policy into PatchRejected;
	// otherwise they are only flags.
	RejectByPolicy bool `json:"reject_by_policy"`
}

// PatchFile is where the candidate's patch is, inside the sandbox.
const PatchFile = "/tmp/patch.diff"

// ApplyStep is one way of applying a patch: a name for the record and the whole
// command, with PatchFile among its arguments.
type ApplyStep struct {
	Name    string   `json:"name"` // e.g. "git-apply"; becomes apply_method
	Command []string `json:"command"`
}
