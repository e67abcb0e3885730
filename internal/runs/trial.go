package runs

import (
	"context"
	"errors"
	"fmt"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
)

// ErrNoTrial: the run has no such task, attempt or round.
var ErrNoTrial = errors.New("no such trial")

// Trial returns the record of the last round of an attempt that was played, or of
// the given round if it is not 0. A trial without a result comes with what is
// known of why there is none: an infra error, or that it was not finished.
func Trial(ctx context.Context, store artifacts.Store, run, instance string, attempt, round int) (eval.TrialResult, error) {
	var res eval.TrialResult
	p, err := Load(ctx, store, run)
	if err != nil {
		return res, err
	}
	if err := eval.ValidateInstanceID(instance); err != nil {
		return res, err
	}
	e, err := findEntry(ctx, store, p.Spec, instance, attempt)
	if err != nil {
		return res, err
	}
	if round < 0 || round > p.Spec.Rounds {
		return res, fmt.Errorf("%w: run %s plays %d rounds, round %d was asked for", ErrNoTrial, run, p.Spec.Rounds, round)
	}
	if round != 0 {
		return activities.ReadTrial(ctx, store, p.Spec, e, round)
	}
	for round = p.Spec.Rounds; ; round-- {
		res, err = activities.ReadTrial(ctx, store, p.Spec, e, round)
		if err != nil || round == 1 || res.ErrorClass != activities.ClassNotFinished {
			return res, err
		}
	}
}

func findEntry(ctx context.Context, store artifacts.Store, spec eval.RunSpec, instance string, attempt int) (eval.ShardEntry, error) {
	for _, ref := range spec.Shards {
		shard, err := activities.LoadShard(ctx, store, ref)
		if err != nil {
			return eval.ShardEntry{}, fmt.Errorf("look for %s in run %s: %w", instance, spec.RunID, err)
		}
		for _, e := range shard.Entries {
			if e.InstanceID == instance && e.Attempt == attempt {
				return e, nil
			}
		}
	}
	return eval.ShardEntry{}, fmt.Errorf("%w: run %s has no task %s with an attempt %d; `harness runs show %s` has its tasks", ErrNoTrial, spec.RunID, instance, attempt, spec.RunID)
}
