package activities

import (
	"context"
	"fmt"

	"harness/artifacts"
	"harness/eval"
)

// RecordFailure leaves the mark of a trial that ended in a fault of ours, or was
// cancelled. It is no result: a resumed run does the trial again.
func (a *Activities) RecordFailure(ctx context.Context, in FailureInput) error {
	shard, err := a.shard(ctx, in.Trial.Shard)
	if err != nil {
		return storeError("read shard", err)
	}
	if err := checkEntry(in.Trial, shard); err != nil {
		return err
	}
	e := shard.Entries[in.Trial.Entry]
	id := eval.TrialID{RunID: in.Trial.RunID, InstanceID: e.InstanceID, Attempt: e.Attempt, Round: in.Trial.Round}
	return a.recordFailure(ctx, id, in.Outcome, in.Class, in.Message)
}

// RecordShardFailure leaves the mark of a fault that kept a whole shard from
// being run on each of its entries that has no result.
func (a *Activities) RecordShardFailure(ctx context.Context, in ShardFailureInput) error {
	plan, err := a.OpenShard(ctx, in.Shard)
	if err != nil {
		return err
	}
	for _, e := range plan.Entries {
		if e.Done != nil {
			continue
		}
		id := eval.TrialID{RunID: in.Shard.RunID, InstanceID: e.InstanceID, Attempt: e.Attempt, Round: 1}
		if err := a.recordFailure(ctx, id, eval.InfraError, in.Class, in.Message); err != nil {
			return err
		}
	}
	return nil
}

// recordFailure writes the note under the next number, so that it is the last
// word on the trial.
func (a *Activities) recordFailure(ctx context.Context, id eval.TrialID, o eval.Outcome, class, message string) error {
	last, err := a.lastTry(ctx, id)
	if err != nil {
		return err
	}
	failed := eval.TryError{
		Schema: 1, TrialID: id, Try: last, Outcome: o, Class: class, Message: message, At: a.now().UTC(), Final: true,
	}
	key := eval.TryPrefix(id, last+1, newToken()) + eval.FileError
	if _, err := storeJSON(ctx, a.cfg.Store, key, failed, artifacts.PutOptions{}); err != nil {
		return storeError("record failure of "+id.String(), err)
	}
	return nil
}

func checkEntry(in TrialInput, shard eval.Shard) error {
	if in.Entry < 0 || in.Entry >= len(shard.Entries) {
		return NewError(ErrInvalidSpec, fmt.Errorf("shard %s has %d entries, entry %d was asked for", in.Shard.Key, len(shard.Entries), in.Entry))
	}
	return nil
}
