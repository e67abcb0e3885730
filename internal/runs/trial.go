package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"harness/artifacts"
	"harness/eval"
)

// ErrNoResult: the trial has no result (yet).
var ErrNoResult = errors.New("no result")

const maxResultBytes = 64 << 20

// Trial returns the stored result of the last round of an attempt, or of the
// given round if it is not 0.
func Trial(ctx context.Context, store artifacts.Store, run, instance string, attempt, round int) (eval.TrialResult, error) {
	var res eval.TrialResult
	p, err := Load(ctx, store, run)
	if err != nil {
		return res, err
	}
	if err := eval.ValidateInstanceID(instance); err != nil {
		return res, err
	}
	last := p.Spec.Rounds
	first := 1
	if round != 0 {
		first, last = round, round
	}
	for r := last; r >= first; r-- {
		id := eval.TrialID{RunID: run, InstanceID: instance, Attempt: attempt, Round: r}
		data, err := artifacts.GetBytes(ctx, store, eval.ResultKey(id), maxResultBytes)
		if errors.Is(err, artifacts.ErrNotFound) {
			continue
		}
		if err != nil {
			return res, fmt.Errorf("read result of %s: %w", id, err)
		}
		if err := json.Unmarshal(data, &res); err != nil {
			return res, fmt.Errorf("read result of %s: it is damaged: %w", id, err)
		}
		return res, nil
	}
	return res, fmt.Errorf("%w: run %s has none for %s, attempt %d; is the id right, and has it been run?", ErrNoResult, run, instance, attempt)
}
