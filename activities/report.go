package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"golang.org/x/sync/errgroup"

	"harness/artifacts"
	"harness/eval"
	"harness/reports"
)

// Report writes the run's tables and summaries from what is stored.
func (a *Activities) Report(ctx context.Context, in ReportInput) (Reported, error) {
	spec, err := a.spec(ctx, in.Spec)
	if err != nil {
		return Reported{}, storeError("read run spec", err)
	}
	beat := newHeart(ctx, Heartbeat{Stage: "report"})
	defer beat.stop()
	if _, err := BuildReport(ctx, a.cfg.Store, spec, reports.Options{TempDir: a.cfg.SpoolDir}); err != nil {
		return Reported{}, Classify(err)
	}
	info, err := a.cfg.Store.Stat(ctx, eval.ReportKey(in.RunID, "report.json"))
	if err != nil {
		return Reported{}, storeError("find report", err)
	}
	return Reported{Report: eval.Ref{Key: info.Key, SHA256: info.SHA256, Size: info.Size}}, nil
}

// BuildReport writes the report files of a run from its stored results, finished
// or not, without Temporal.
func BuildReport(ctx context.Context, store artifacts.Store, spec eval.RunSpec, opts reports.Options) (reports.Summary, error) {
	opts, err := WithCalibration(ctx, store, spec, opts)
	if err != nil {
		return reports.Summary{}, err
	}
	return reports.Build(ctx, store, spec, Results(ctx, store, spec), opts)
}

// WithCalibration adds the calibration that the run froze, if it has one.
func WithCalibration(ctx context.Context, store artifacts.Store, spec eval.RunSpec, opts reports.Options) (reports.Options, error) {
	if spec.Calibration == nil {
		return opts, nil
	}
	rc, err := artifacts.OpenRef(ctx, store, *spec.Calibration)
	if err != nil {
		return opts, storeError("read the calibration of run "+spec.RunID, err)
	}
	defer rc.Close()
	opts.Calibration, err = reports.ReadCalibration(ctx, rc, spec.Calibration.Key, opts.TempDir, spec.Runtime)
	if err != nil {
		return opts, fmt.Errorf("report of run %s: %w", spec.RunID, err)
	}
	return opts, nil
}

// readers is how many results are read from the store at once.
const readers = 16

// Results yields one record for each trial of the run, in the order of its
// shards: the stored result, or else what is known of why there is none.
func Results(ctx context.Context, store artifacts.Store, spec eval.RunSpec) iter.Seq2[eval.TrialResult, error] {
	return func(yield func(eval.TrialResult, error) bool) {
		for _, ref := range spec.Shards {
			shard, err := LoadShard(ctx, store, ref)
			if err != nil {
				yield(eval.TrialResult{}, storeError("read shard", err))
				return
			}
			for some := range slices.Chunk(shard.Entries, readers) {
				got := make([][]eval.TrialResult, len(some))
				var g errgroup.Group
				for i, e := range some {
					g.Go(func() (err error) { got[i], err = readRounds(ctx, store, spec, e); return err })
				}
				err := g.Wait()
				for _, res := range slices.Concat(got...) {
					if !yield(res, nil) {
						return
					}
				}
				if err != nil {
					yield(eval.TrialResult{}, err)
					return
				}
			}
		}
	}
}

// readRounds reads the rounds that an attempt played, the last of which may be
// one that has no result.
func readRounds(ctx context.Context, store artifacts.Store, spec eval.RunSpec, e eval.ShardEntry) ([]eval.TrialResult, error) {
	var out []eval.TrialResult
	for round := 1; round <= spec.Rounds; round++ {
		res, err := ReadTrial(ctx, store, spec, e, round)
		if err != nil {
			return out, err
		}
		out = append(out, res)
		if res.Outcome == eval.Resolved || res.ErrorClass != "" {
			break // no further round was played
		}
	}
	return out, nil
}

// ReadTrial returns the stored result of one round of an entry, or what is known
// of why there is none.
func ReadTrial(ctx context.Context, store artifacts.Store, spec eval.RunSpec, e eval.ShardEntry, round int) (eval.TrialResult, error) {
	id := eval.TrialID{RunID: spec.RunID, InstanceID: e.InstanceID, Attempt: e.Attempt, Round: round}
	data, err := artifacts.GetBytes(ctx, store, eval.ResultKey(id), maxResultBytes)
	if err == nil {
		var res eval.TrialResult
		if err := json.Unmarshal(data, &res); err != nil {
			return res, NewError(ErrDatasetIntegrity, fmt.Errorf("decode result of %s: %w", id, err))
		}
		return res, nil
	}
	if !errors.Is(err, artifacts.ErrNotFound) {
		return eval.TrialResult{}, storeError("read result of "+id.String(), err)
	}
	return missingTrial(ctx, store, spec, e, id)
}

// ClassNotFinished is the error class of a trial of which nothing final is recorded.
const ClassNotFinished = "NotFinished"

// missingTrial describes a trial without a result: by its last recorded failure,
// or as cancelled when nothing was ever recorded.
func missingTrial(ctx context.Context, store artifacts.Store, spec eval.RunSpec, e eval.ShardEntry, id eval.TrialID) (eval.TrialResult, error) {
	task, err := load[eval.Task](ctx, store, e.Task, maxTaskBytes)
	if err != nil {
		return eval.TrialResult{}, storeError("read task "+e.InstanceID, err)
	}
	res := eval.TrialResult{
		Schema: 1, TrialID: id, Repo: task.Repo, Language: task.Language, Difficulty: task.Difficulty,
		Outcome: eval.Cancelled, Limits: task.Limits.Apply(spec.Limits),
		Reason: "the trial has not been finished", ErrorClass: ClassNotFinished, Calibrated: e.Calibration.In(""),
	}
	last := 0
	for dir, err := range store.Dirs(ctx, eval.TrialPrefix(id)) {
		if err != nil {
			return res, storeError("list tries of "+id.String(), err)
		}
		n, ok := tryNumber(dir)
		if !ok || n < last {
			continue
		}
		data, err := artifacts.GetBytes(ctx, store, eval.TrialPrefix(id)+dir+"/"+eval.FileError, maxShardBytes)
		if errors.Is(err, artifacts.ErrNotFound) {
			continue
		}
		if err != nil {
			return res, storeError("read failure of "+id.String(), err)
		}
		var f eval.TryError
		if err := json.Unmarshal(data, &f); err != nil {
			return res, NewError(ErrDatasetIntegrity, fmt.Errorf("decode failure of %s: %w", id, err))
		}
		if !f.Final {
			continue
		}
		last = n
		res.Outcome, res.ErrorClass, res.ErrorMessage, res.Tries = f.Outcome, f.Class, f.Message, f.Try
		res.Reason, res.Blame = f.Message, eval.BlameNone
		if f.Outcome == eval.InfraError {
			res.Blame = eval.BlameEnvironment
		}
	}
	return res, nil
}
