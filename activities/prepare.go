package activities

import (
	"context"
	"fmt"

	"harness/eval"
	"harness/preprocess"
)

// Prepare is parse and preprocess: it loads the trial, looks at the patch before
// anything runs it, and says whether there is anything to execute.
func (a *Activities) Prepare(ctx context.Context, in TrialInput) (_ Prepared, err error) {
	defer a.guard("prepare", &err)
	e, err := a.entry(ctx, in)
	if err != nil {
		return Prepared{}, err
	}
	done, err := a.result(ctx, e.id)
	if err != nil || done != nil {
		return Prepared{Done: done}, err
	}
	switch report := e.inspect(); {
	case e.Noop || e.solution() != nil:
		return Prepared{}, nil
	case e.Patch == nil:
		return Prepared{Final: eval.EmptyPatch}, nil
	case report.Reject:
		return Prepared{Final: eval.PatchRejected}, nil
	}
	return Prepared{}, nil
}

// inspect looks at the patch under the recipe's policy. It is pure, so Prepare
// and Evaluate each do it rather than pass its findings through history.
func (e *entry) inspect() preprocess.Report {
	if e.Patch == nil {
		return preprocess.Report{}
	}
	if e.patch == nil { // over the cap: it was never read
		return tooLarge(*e.Patch, e.spec.Limits.PatchBytes)
	}
	report := preprocess.Inspect([]byte(*e.patch), preprocess.Options{
		TestPatch: []byte(e.task.TestPatch),
		MaxBytes:  e.spec.Limits.PatchBytes,
	})
	report.Reject = report.Reject && e.spec.Recipe.RejectByPolicy
	return report
}

func tooLarge(patch eval.Ref, limit int64) preprocess.Report {
	reason := fmt.Sprintf("the patch has %d bytes, at most %d are allowed", patch.Size, limit)
	return preprocess.Report{
		Facts:    eval.PatchFacts{SHA256: patch.SHA256, Bytes: &patch.Size},
		Findings: preprocess.Findings{{Rule: "patch_too_large", Severity: preprocess.High, Reject: true, Detail: reason}},
		Reject:   true, Reason: reason,
	}
}
