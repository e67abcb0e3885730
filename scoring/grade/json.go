package grade

import (
	"harness/eval"
	"harness/scoring/logparse"
)

// Document is what `harness grade --json` prints. Scripts rely on its names.
type Document struct {
	InstanceID   string              `json:"instance_id"`
	Profile      string              `json:"profile"`
	Resolved     bool                `json:"resolved"`
	PatchApplied bool                `json:"patch_successfully_applied"` // the log was gradable
	StatusMap    *logparse.StatusMap `json:"status_map"`
	TestsStatus  *eval.TestsStatus   `json:"tests_status"`
	Flags        []string            `json:"flags"`
	Outcome      eval.Outcome        `json:"outcome"`
	InfraFailure *bool               `json:"infra_failure,omitempty"`
	InfraReason  string              `json:"infra_failure_reason,omitempty"`
	Coverage     *eval.LogCoverage   `json:"coverage,omitempty"`
}

// JSON returns the document of a result. Lists are never null: an ungradable
// log has empty ones.
func JSON(r Result) Document {
	d := Document{
		InstanceID: r.InstanceID, Profile: r.Profile, Resolved: r.Verdict.Resolved,
		StatusMap: r.StatusMap, TestsStatus: emptyStatus(), Flags: r.Verdict.Flags, Outcome: r.Verdict.Outcome, Coverage: r.Coverage,
	}
	if d.Flags == nil {
		d.Flags = []string{}
	}
	if d.StatusMap == nil {
		d.StatusMap = new(logparse.StatusMap)
	}
	if off := r.Verdict.Official; off != nil {
		d.PatchApplied, d.InfraFailure, d.InfraReason = off.PatchApplied, off.InfraFailure, off.InfraReason
		if off.TestsStatus != nil {
			d.TestsStatus = off.TestsStatus
		}
	}
	return d
}

// emptyStatus has lists that are empty rather than null.
func emptyStatus() *eval.TestsStatus {
	st := new(eval.TestsStatus)
	for _, sf := range []*eval.SuccessFailure{&st.FailToPass, &st.PassToPass, &st.FailToFail, &st.PassToFail} {
		sf.Success, sf.Failure = []string{}, []string{}
	}
	return st
}
