package evalscript

import (
	"strings"

	"harness/eval"
)

// Complete gives a task what rows of the form before release 5 lack in order to
// be executed, from the spec table, and returns the names of the fields that it
// filled. Fields that the row has are left alone. An eval_type comes with a
// generated script only; a task that has everything is never looked up.
//
// The error is an *UnknownSpecError when the table does not know the task's
// repository or version, and ErrNewerOnly when there is no script of the form; the
// task is unchanged after any error.
func Complete(t *eval.Task, form Form) (filled []string, err error) {
	if t.Image != "" && t.EvalScript != "" && t.LogParser != "" {
		return nil, nil
	}
	r, _, err := find(t)
	if err != nil {
		return nil, err
	}
	if t.EvalScript == "" {
		script, err := Official(t, form)
		if err != nil {
			return nil, err
		}
		t.EvalScript, t.EvalType = script, r.EvalType
		filled = append(filled, "eval_script", "eval_type")
	}
	if t.Image == "" {
		t.Image = ImageName(t.InstanceID)
		filled = append(filled, "image")
	}
	if t.LogParser == "" {
		t.LogParser = r.Parser
		filled = append(filled, "log_parser")
	}
	return filled, nil
}

// ImageName is the name under which SWE-bench publishes a task's image.
func ImageName(instanceID string) string {
	return "swebench/sweb.eval.x86_64." + strings.ReplaceAll(strings.ToLower(instanceID), "__", "_1776_") + ":latest"
}
