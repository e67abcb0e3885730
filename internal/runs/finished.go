package runs

import (
	"context"
	"fmt"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
)

// Finished reports whether every trial of a stored run has a result, so that a
// resumption would execute nothing.
func Finished(ctx context.Context, store artifacts.Store, spec eval.RunSpec) (bool, error) {
	for r, err := range activities.Results(ctx, store, spec) {
		if err != nil {
			return false, fmt.Errorf("look at run %s: %w", spec.RunID, err)
		}
		if r.ErrorClass != "" {
			return false, nil
		}
	}
	return true, nil
}
