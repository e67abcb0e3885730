package calibrate

import (
	"context"
	"fmt"
	"iter"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
	"harness/internal/buildinfo"
	"harness/reports"
	"harness/scoring/calibration"
)

// write makes the table and the summary of it in one pass.
func (j *job) write(ctx context.Context, store artifacts.Store) (*Summary, error) {
	facts := reports.CalibrationFacts{
		Dataset: j.dataset.Name, DatasetDigest: j.dataset.Digest, Profile: j.profile.Name, HarnessVersion: buildinfo.Version(),
	}
	sum := newSummary(j, facts)
	rows, err := reports.WriteCalibration(ctx, j.out, facts, sum.watch(j.judgements(ctx, store)))
	if err != nil {
		return nil, err
	}
	return sum, sum.file(j.out, rows)
}

// judgements yields the judgement on each selected task under each runtime, with
// the results of one task in memory at a time.
func (j *job) judgements(ctx context.Context, store artifacts.Store) iter.Seq2[calibration.Task, error] {
	return func(yield func(calibration.Task, error) bool) {
		sources := make([]*source, len(j.runs))
		for i := range j.runs {
			sources[i] = newSource(ctx, store, j.runs[i].planned.Spec)
			defer sources[i].stop()
		}
		for i := range j.tasks {
			judged, err := j.judge(&j.tasks[i], sources)
			if err != nil {
				yield(calibration.Task{}, err)
				return
			}
			for _, t := range judged {
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

func (j *job) judge(t *selected, sources []*source) ([]calibration.Task, error) {
	if t.why != "" {
		var out []calibration.Task
		for _, runtime := range j.o.Runtimes {
			out = append(out, calibration.NotMeasured(&t.Task, t.digest, runtime, t.why))
		}
		return out, nil
	}
	under := make([]calibration.Under, len(j.o.Runtimes))
	for i := range under {
		under[i].Runtime = j.o.Runtimes[i]
	}
	for i, c := range j.runs {
		results, err := sources[i].of(t.InstanceID)
		if err != nil {
			return nil, err
		}
		u := &under[i/2] // two runs a runtime
		if c.candidate == eval.CandidateGold {
			u.GoldRun, u.Gold = c.planned.Spec.RunID, results
		} else {
			u.NoopRun, u.Noop = c.planned.Spec.RunID, results
		}
	}
	return calibration.Judge(&t.Task, t.digest, under), nil
}

// source reads a run's results, which come in the order of its tasks.
type source struct {
	spec eval.RunSpec
	next func() (eval.TrialResult, error, bool)
	stop func()
}

func newSource(ctx context.Context, store artifacts.Store, spec eval.RunSpec) *source {
	s := &source{spec: spec}
	s.next, s.stop = iter.Pull2(activities.Results(ctx, store, spec))
	return s
}

// of returns the results of all attempts at the next task.
func (s *source) of(instance string) ([]eval.TrialResult, error) {
	var out []eval.TrialResult
	for range s.spec.Attempts {
		r, err, ok := s.next()
		switch {
		case err != nil:
			return nil, err
		case !ok || r.InstanceID != instance:
			return nil, fmt.Errorf("run %s has another order of tasks than planned: %q instead of %s; `harness runs rm %s`, then calibrate again", s.spec.RunID, r.InstanceID, instance, s.spec.RunID)
		}
		out = append(out, r)
	}
	return out, nil
}
