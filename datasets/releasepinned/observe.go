package releasepinned

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"harness/eval"
)

// Observation is what one execution of a task's tests gave.
type Observation struct {
	StatusMap   map[string]string // test id as printed -> PASSED, FAILED, SKIPPED, ERROR, XFAIL
	Log         eval.Ref
	Runtime     string
	ImageDigest string
}

// Execute runs a task's eval script once in a fresh sandbox, with the patch
// applied before, or unpatched when it is nil. An error is our own fault or a
// limit that was hit: a run whose tests fail is an Observation.
type Execute func(ctx context.Context, task eval.Task, patch *string) (Observation, error)

// FreezeOptions say how often each task is run. Zero fields mean 1 run of the
// gold patch, 1 unpatched, one task at a time.
type FreezeOptions struct {
	GoldRuns, NoopRuns int
	Parallel           int // tasks at once
}

// FreezeProgress is one task whose runs have ended.
type FreezeProgress struct {
	Index, Total int // Index counts from 1, in order of ending
	Task         eval.Task
	Err          error
	Duration     time.Duration
}

// FreezeAll observes every task and freezes it. It returns the frozen tasks in
// the order given, without those that could not be frozen; they are in the
// error, each by name. Only the end of ctx stops it early.
func FreezeAll(ctx context.Context, tasks []eval.Task, run Execute, o FreezeOptions, report func(FreezeProgress)) ([]eval.Task, error) {
	o.GoldRuns, o.NoopRuns, o.Parallel = max(o.GoldRuns, 1), max(o.NoopRuns, 1), max(o.Parallel, 1)
	results := make([]FreezeProgress, len(tasks))
	slots := make(chan struct{}, o.Parallel)
	var wg sync.WaitGroup
	var mu sync.Mutex
	ended := 0
	for i := range tasks {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			results[i].Err = context.Cause(ctx)
			continue
		}
		wg.Go(func() {
			defer func() { <-slots }()
			started := time.Now()
			frozen, err := observe(ctx, tasks[i], run, o)
			mu.Lock()
			defer mu.Unlock()
			ended++
			results[i] = FreezeProgress{Index: ended, Total: len(tasks), Task: frozen, Err: err, Duration: time.Since(started)}
			if report != nil {
				report(results[i])
			}
		})
	}
	wg.Wait()
	var out []eval.Task
	var errs []error
	for i, r := range results {
		switch {
		case r.Err == nil:
			out = append(out, r.Task)
		case errors.Is(r.Err, context.Cause(ctx)):
			return out, fmt.Errorf("freeze %s: %w", tasks[i].InstanceID, r.Err)
		default:
			errs = append(errs, r.Err)
		}
	}
	return out, errors.Join(errs...)
}

// observe runs one task. All its runs must have used one image.
func observe(ctx context.Context, task eval.Task, run Execute, o FreezeOptions) (eval.Task, error) {
	var first *Observation
	several := func(kind string, n int, patch *string) ([]map[string]string, error) {
		var maps []map[string]string
		for i := range n {
			obs, err := run(ctx, task, patch)
			if err != nil {
				return nil, fmt.Errorf("freeze %s: %s run %d of %d: %w", task.InstanceID, kind, i+1, n, err)
			}
			if first == nil {
				first = &obs
			}
			if obs.ImageDigest != first.ImageDigest || obs.Runtime != first.Runtime {
				return nil, fmt.Errorf("freeze %s: the image or the runtime changed between runs (%s on %s, then %s on %s): run it again",
					task.InstanceID, first.ImageDigest, first.Runtime, obs.ImageDigest, obs.Runtime)
			}
			maps = append(maps, obs.StatusMap)
		}
		return maps, nil
	}
	gold, err := several("gold", o.GoldRuns, &task.Patch)
	if err != nil {
		return task, err
	}
	noop, err := several("unpatched", o.NoopRuns, nil)
	if err != nil {
		return task, err
	}
	frozen, err := Freeze(task, gold, noop)
	if err != nil {
		return task, err
	}
	frozen.Frozen.Runtime, frozen.Frozen.ImageDigest = first.Runtime, first.ImageDigest
	return frozen, nil
}
