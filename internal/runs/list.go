package runs

import (
	"context"
	"fmt"
	"time"

	"harness/artifacts"
	"harness/eval"
	"harness/reports"
)

// Listed is one stored run.
type Listed struct {
	RunID     string    `json:"run_id"`
	Dataset   string    `json:"dataset"`
	Agent     string    `json:"agent"`
	Profile   string    `json:"profile"`
	Runtime   string    `json:"runtime"`
	Trials    int       `json:"trials"`
	CreatedAt time.Time `json:"created_at"`
	// Resolved and Finished are from the report; nil while there is none.
	Resolved *int `json:"resolved"`
	Finished *int `json:"finished"`
}

// List describes the stored runs in the order of their ids. One that can't be
// read is given to bad and left out.
func List(ctx context.Context, store artifacts.Store, bad func(run string, err error)) ([]Listed, error) {
	var out []Listed
	for id, err := range store.Dirs(ctx, eval.RunsPrefix) {
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		p, err := Load(ctx, store, id)
		if err != nil {
			bad(id, err)
			continue
		}
		l := Listed{
			RunID: id, Dataset: p.Spec.Dataset, Agent: p.Spec.Agent, Profile: p.Spec.Profile,
			Runtime: p.Spec.Runtime, Trials: p.Spec.Entries, CreatedAt: p.Spec.CreatedAt,
		}
		if sum, err := reports.ReadSummary(ctx, store, id); err == nil {
			resolved := sum.Harness.Outcomes[eval.Resolved.String()]
			finished := 0
			for _, o := range eval.Outcomes() {
				if o != eval.Cancelled {
					finished += sum.Harness.Outcomes[o.String()]
				}
			}
			l.Resolved, l.Finished = &resolved, &finished
		}
		out = append(out, l)
	}
	return out, nil
}

// Remove deletes everything stored under a run. Shared blobs stay: other runs may
// use them.
func Remove(ctx context.Context, store artifacts.Store, run string) (int, error) {
	if _, err := Load(ctx, store, run); err != nil {
		return 0, err
	}
	// The spec goes last, so that a removal that was cut short can be done again.
	n := 0
	for info, err := range store.List(ctx, eval.RunKey(run, "")) {
		if err != nil {
			return n, fmt.Errorf("remove run %s: %w", run, err)
		}
		if info.Key == eval.SpecKey(run) {
			continue
		}
		if err := store.Delete(ctx, info.Key); err != nil {
			return n, fmt.Errorf("remove run %s: %w", run, err)
		}
		n++
	}
	if err := store.Delete(ctx, eval.SpecKey(run)); err != nil {
		return n, fmt.Errorf("remove run %s: %w", run, err)
	}
	return n + 1, nil
}
