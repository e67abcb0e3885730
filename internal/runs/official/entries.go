package official

import (
	"context"
	"fmt"
	"iter"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
)

// entriesOf reads where the run keeps task and patch of each instance. Attempts
// of a task share both. An id that could leave a folder is refused: the store may
// hold anything.
func entriesOf(ctx context.Context, store artifacts.Store, spec eval.RunSpec) (map[string]eval.ShardEntry, error) {
	out := make(map[string]eval.ShardEntry)
	for _, ref := range spec.Shards {
		shard, err := activities.LoadShard(ctx, store, ref)
		if err != nil {
			return nil, fmt.Errorf("read the tasks of run %s: %w", spec.RunID, err)
		}
		for _, e := range shard.Entries {
			if err := eval.ValidateInstanceID(e.InstanceID); err != nil {
				return nil, err
			}
			out[e.InstanceID] = e
		}
	}
	return out, nil
}

// lastRounds gives f the last round of each attempt, which is its result.
func lastRounds(trials iter.Seq2[eval.TrialResult, error], f func(eval.TrialResult) error) error {
	var pending *eval.TrialResult
	for t, err := range trials {
		if err != nil {
			return err
		}
		if pending != nil && (pending.InstanceID != t.InstanceID || pending.Attempt != t.Attempt) {
			if err := f(*pending); err != nil {
				return err
			}
		}
		pending = &t
	}
	if pending == nil {
		return nil
	}
	return f(*pending)
}
