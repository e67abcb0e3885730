package runs

import (
	"context"
	"fmt"
	"io"

	"harness/activities"
	"harness/artifacts"
	"harness/datasets"
	"harness/eval"
	"harness/scoring/grade"
)

const maxTaskBytes = 64 << 20

// Regrade grades the stored logs of a run under a profile whose rules fit the
// recipe that was executed, and gives each trial with its new result to each;
// nil for a trial that has no log to grade. Nothing stored changes.
func Regrade(ctx context.Context, store artifacts.Store, spec eval.RunSpec, p grade.Profile, each func(eval.TrialResult, *grade.Result) error) error {
	tasks := map[string]eval.Ref{}
	for _, ref := range spec.Shards {
		shard, err := activities.LoadShard(ctx, store, ref)
		if err != nil {
			return fmt.Errorf("re-grade run %s: %w", spec.RunID, err)
		}
		for _, e := range shard.Entries {
			tasks[e.InstanceID] = e.Task
		}
	}
	for old, err := range activities.Results(ctx, store, spec) {
		if err != nil {
			return fmt.Errorf("re-grade run %s: %w", spec.RunID, err)
		}
		now, err := regradeTrial(ctx, store, spec, p, old, tasks[old.InstanceID])
		if err != nil {
			return fmt.Errorf("re-grade %s: %w", old.TrialID, err)
		}
		if err := each(old, now); err != nil {
			return err
		}
	}
	return nil
}

func regradeTrial(ctx context.Context, store artifacts.Store, spec eval.RunSpec, p grade.Profile, old eval.TrialResult, task eval.Ref) (*grade.Result, error) {
	log, ok := old.Artifacts[eval.FileLog]
	if !ok {
		return nil, nil
	}
	data, err := artifacts.GetRef(ctx, store, task, maxTaskBytes)
	if err != nil {
		return nil, err
	}
	t, err := datasets.ParseTask(data)
	if err != nil {
		return nil, err
	}
	if err := p.Fits(&t); err != nil {
		return nil, err
	}
	res, err := p.Grade(grade.Input{
		Task: &t, PatchGiven: spec.Candidate != eval.CandidateNoop,
		Applied: old.Outcome != eval.PatchNotApplied, Exec: old.Exec,
		Log: func() (io.ReadCloser, error) { return activities.OpenLog(ctx, store, log) },
	})
	return &res, err
}

// TestChange is a test whose status differs from the stored one; "" where there
// was none.
type TestChange struct {
	Test   string `json:"test"`
	Group  string `json:"group"`
	Stored string `json:"stored"`
	Now    string `json:"now"`
}

// maxTestChanges bounds what TestChanges returns.
const maxTestChanges = 1000

// TestChanges compares the expected tests of a stored trial with those of a new
// grading, in the order of the new one. It is never nil.
func TestChanges(stored, now []eval.TestResult) []TestChange {
	type key struct{ name, group string }
	was := make(map[key]string)
	for _, t := range stored {
		if t.Group != eval.GroupOther {
			was[key{t.Name, t.Group}] = t.Status
		}
	}
	out := []TestChange{}
	for _, t := range now {
		old := was[key{t.Name, t.Group}]
		if t.Group == eval.GroupOther || old == t.Status {
			continue
		}
		if len(out) == maxTestChanges {
			break
		}
		out = append(out, TestChange{Test: t.Name, Group: t.Group, Stored: old, Now: t.Status})
	}
	return out
}
