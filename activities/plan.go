package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"harness/artifacts"
	"harness/eval"
	"harness/sandbox"
)

// PlanRun reads the frozen spec of a run.
func (a *Activities) PlanRun(ctx context.Context, in PlanInput) (Plan, error) {
	spec, err := a.spec(ctx, in.Spec)
	if err != nil {
		return Plan{}, storeError("read run spec", err)
	}
	if spec.RunID != in.RunID {
		return Plan{}, NewError(ErrInvalidSpec, fmt.Errorf("spec %s is of run %q, not %q", in.Spec.Key, spec.RunID, in.RunID))
	}
	return Plan{
		Shards: spec.Shards, Tasks: spec.Entries, Rounds: spec.Rounds,
		MaxInfraTries: spec.MaxInfraTries, Dataset: spec.Dataset, Agent: spec.Agent,
	}, nil
}

// OpenShard lists a shard's entries with the results that are stored already.
func (a *Activities) OpenShard(ctx context.Context, in ShardInput) (ShardPlan, error) {
	spec, err := a.spec(ctx, in.Spec)
	if err != nil {
		return ShardPlan{}, storeError("read run spec", err)
	}
	shard, err := a.shard(ctx, in.Shard)
	if err != nil {
		return ShardPlan{}, storeError("read shard", err)
	}
	// One listing tells which tasks have anything stored: a fresh run asks no further.
	started := map[string]bool{}
	for id, err := range a.cfg.Store.Dirs(ctx, eval.RunKey(in.RunID, "tasks/")) {
		if err != nil {
			return ShardPlan{}, storeError("list results", err)
		}
		started[id] = true
	}
	plan := ShardPlan{Entries: make([]EntryPlan, 0, len(shard.Entries))}
	for _, e := range shard.Entries {
		p := EntryPlan{InstanceID: e.InstanceID, Attempt: e.Attempt, BudgetSeconds: e.BudgetSeconds}
		if started[e.InstanceID] {
			if p.Done, err = a.finished(ctx, in.RunID, e, spec.Rounds); err != nil {
				return ShardPlan{}, err
			}
		}
		plan.Entries = append(plan.Entries, p)
	}
	return plan, nil
}

// finished returns the summary of an attempt whose last round has a result.
func (a *Activities) finished(ctx context.Context, run string, e eval.ShardEntry, rounds int) (*TrialSummary, error) {
	for round := rounds; round >= 1; round-- {
		res, err := a.result(ctx, eval.TrialID{RunID: run, InstanceID: e.InstanceID, Attempt: e.Attempt, Round: round})
		if err != nil {
			return nil, err
		}
		if res != nil && (round == rounds || res.Resolved) {
			return res, nil
		}
	}
	return nil, nil
}

const maxResultBytes = 64 << 20

// result returns the summary of a stored result, nil when there is none.
func (a *Activities) result(ctx context.Context, id eval.TrialID) (*TrialSummary, error) {
	data, err := artifacts.GetBytes(ctx, a.cfg.Store, eval.ResultKey(id), maxResultBytes)
	if errors.Is(err, artifacts.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError("read result of "+id.String(), err)
	}
	var res eval.TrialResult
	if err := json.Unmarshal(data, &res); err != nil {
		return nil, NewError(ErrDatasetIntegrity, fmt.Errorf("decode result of %s: %w", id, err))
	}
	return summarize(res), nil
}

func summarize(r eval.TrialResult) *TrialSummary {
	return &TrialSummary{Outcome: r.Outcome, Resolved: r.Outcome == eval.Resolved, Round: r.Round, Tries: r.Tries}
}

// PinnedImage is what an image tag meant when the run first needed it. A tag
// that could not be resolved keeps its error for the trials that need it.
type PinnedImage struct {
	Digest string `json:"digest,omitempty"`
	Class  string `json:"error_class,omitempty"`
	Error  string `json:"error,omitempty"`
}

// PinImages fixes the digests of a shard's image tags for the whole run. It runs
// where the sandboxes do. A tag that an earlier shard fixed keeps that digest; a
// missing image is looked for again, so that a resumed run can find it.
func (a *Activities) PinImages(ctx context.Context, in ShardInput) error {
	ctx, stop := a.alive(ctx)
	defer stop()
	beat := newHeart(ctx, Heartbeat{Stage: "images"})
	defer beat.stop()
	return ending(ctx, a.pinImages(ctx, in))
}

func (a *Activities) pinImages(ctx context.Context, in ShardInput) error {
	var refs []string
	var pins map[string]PinnedImage
	var spec eval.RunSpec
	err := a.patiently(ctx, func() (err error) {
		if spec, err = a.spec(ctx, in.Spec); err != nil {
			return storeError("read run spec", err)
		}
		if refs, err = a.imagesOf(ctx, in.Shard); err != nil {
			return err
		}
		pins, err = a.pinned(ctx, in)
		return err
	})
	if err != nil {
		return err
	}
	rt, err := a.runtime(spec.Runtime)
	if err != nil {
		return err
	}
	mine := map[string]PinnedImage{}
	for _, ref := range refs {
		img, ok := pins[ref]
		if !ok {
			if img, err = pin(ctx, rt, ref); err != nil {
				return err
			}
		}
		mine[ref] = img
	}
	return a.patiently(ctx, func() error {
		if _, err := storeJSON(ctx, a.cfg.Store, eval.ImagesKey(in.RunID, in.Index), mine, artifacts.PutOptions{}); err != nil {
			return storeError("store image digests", err)
		}
		return nil
	})
}

// imagesOf lists the distinct images of a shard's tasks in their order.
func (a *Activities) imagesOf(ctx context.Context, ref eval.Ref) ([]string, error) {
	shard, err := a.shard(ctx, ref)
	if err != nil {
		return nil, storeError("read shard", err)
	}
	var refs []string
	seen := map[string]bool{}
	for i, e := range shard.Entries {
		if i > 0 && e.Task == shard.Entries[i-1].Task {
			continue // a further attempt
		}
		task, err := load[eval.Task](ctx, a.cfg.Store, e.Task, maxTaskBytes)
		if err != nil {
			return nil, storeError("read task "+e.InstanceID, err)
		}
		if !seen[task.Image] {
			seen[task.Image] = true
			refs = append(refs, task.Image)
		}
	}
	return refs, nil
}

// pinned is what the run's shards up to this one have fixed.
func (a *Activities) pinned(ctx context.Context, in ShardInput) (map[string]PinnedImage, error) {
	known := map[string]PinnedImage{}
	for n := 0; n <= in.Index; n++ {
		got, err := a.readImages(ctx, in.RunID, n)
		if err != nil {
			return nil, err
		}
		for ref, img := range got {
			if _, ok := known[ref]; !ok && img.Digest != "" {
				known[ref] = img
			}
		}
	}
	return known, nil
}

func pin(ctx context.Context, rt sandbox.Runtime, ref string) (PinnedImage, error) {
	digest, err := rt.Resolve(ctx, ref)
	switch {
	case errors.Is(err, sandbox.ErrImageNotFound):
		return PinnedImage{Class: ErrImageNotFound, Error: err.Error()}, nil
	case errors.Is(err, sandbox.ErrImageUnsupported):
		return PinnedImage{Class: ErrImageUnsupported, Error: err.Error()}, nil
	case err != nil:
		return PinnedImage{}, fmt.Errorf("resolve image %s: %w", ref, err)
	}
	return PinnedImage{Digest: digest}, nil
}

func (a *Activities) readImages(ctx context.Context, run string, shard int) (map[string]PinnedImage, error) {
	data, err := artifacts.GetBytes(ctx, a.cfg.Store, eval.ImagesKey(run, shard), maxShardBytes)
	if errors.Is(err, artifacts.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError("read image digests", err)
	}
	var m map[string]PinnedImage
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, NewError(ErrDatasetIntegrity, fmt.Errorf("decode %s: %w", eval.ImagesKey(run, shard), err))
	}
	return m, nil
}

// image returns the pinned digest of the entry's image.
func (a *Activities) image(ctx context.Context, e *entry) (string, error) {
	// The spec's digest keeps apart two runs that had the same id, one after the other.
	key := e.in.Spec.SHA256 + "/" + eval.ImagesKey(e.id.RunID, e.shard.Index)
	lookup := func() (map[string]PinnedImage, error) { return a.readImages(ctx, e.id.RunID, e.shard.Index) }
	pins, err := a.images.get(key, lookup)
	if err != nil {
		return "", err
	}
	img, ok := pins[e.task.Image]
	if !ok || img.Digest == "" {
		// A resumed run may have pinned anew since this process looked.
		if pins, err = lookup(); err != nil {
			return "", err
		}
		a.images.put(key, pins)
		if img, ok = pins[e.task.Image]; !ok {
			return "", NewError(ErrDatasetIntegrity, fmt.Errorf("image %q of %s is not in %s", e.task.Image, e.InstanceID, key))
		}
	}
	if img.Class != "" {
		return "", NewError(img.Class, errors.New(img.Error))
	}
	return img.Digest, nil
}

func (a *Activities) runtime(name string) (sandbox.Runtime, error) {
	rt, ok := a.cfg.Runtimes[name]
	if !ok {
		return nil, NewError(ErrRuntimeUnhealthy, fmt.Errorf("this worker has no runtime %q", name))
	}
	return rt, nil
}

// LoadShard reads one shard of a stored run.
func LoadShard(ctx context.Context, s artifacts.Store, ref eval.Ref) (eval.Shard, error) {
	return load[eval.Shard](ctx, s, ref, maxShardBytes)
}
