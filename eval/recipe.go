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
	// AcceptReverse counts a patch that is already in the tree as applied.
	AcceptReverse bool `json:"accept_reverse"`
	// RecordExitCode adds the test command's exit code to the log, after the end marker.
	RecordExitCode bool `json:"record_exit_code"`
	// RejectByPolicy turns findings of the path policy into PatchRejected;
	// otherwise they are only flags.
	RejectByPolicy bool `json:"reject_by_policy"`
}

// ApplyStep is one way of applying a patch: a name for the record and the
// command, whose last argument is the patch file.
type ApplyStep struct {
	Name    string   `json:"name"` // e.g. "git-apply"; becomes apply_method
	Command []string `json:"command"`
}
