package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"harness/artifacts"
	"harness/eval"
	"harness/sandbox"
)

// Sizes above which stored inputs are refused: they bound a worker's memory.
const (
	maxSpecBytes  = 16 << 20
	maxShardBytes = 4 << 20
	maxTaskBytes  = 64 << 20
)

// Config is what activities need of their process.
type Config struct {
	Store artifacts.Store
	// Runtimes by handler name; empty on a worker that runs no sandboxes.
	Runtimes map[string]sandbox.Runtime
	// Worker names this process on the trials table.
	Worker string
	// SpoolDir holds logs while they are written; "" means the system's.
	SpoolDir string
	// StorePatience is how long an execution waits for an artifact store that is
	// away; zero means 10 minutes.
	StorePatience time.Duration
	// Stopping, when closed, makes executions end at once and be retried elsewhere.
	Stopping <-chan struct{}
	Logger   *slog.Logger
	Now      func() time.Time
}

// Activities is registered as a whole with a Temporal worker.
type Activities struct {
	cfg    Config
	log    *slog.Logger
	now    func() time.Time
	specs  cache[eval.RunSpec]
	shards cache[eval.Shard]
	images cache[map[string]PinnedImage]
}

// New checks cfg and returns the activities over it.
func New(cfg Config) (*Activities, error) {
	if cfg.Store == nil {
		return nil, errors.New("activities: no artifact store")
	}
	if cfg.SpoolDir != "" {
		if err := os.MkdirAll(cfg.SpoolDir, 0o700); err != nil {
			return nil, fmt.Errorf("activities: make spool folder: %w", err)
		}
	}
	a := &Activities{cfg: cfg, log: cfg.Logger, now: cfg.Now}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.now == nil {
		a.now = time.Now
	}
	return a, nil
}

func (a *Activities) spec(ctx context.Context, ref eval.Ref) (eval.RunSpec, error) {
	return a.specs.get(ref.SHA256, func() (eval.RunSpec, error) {
		return load[eval.RunSpec](ctx, a.cfg.Store, ref, maxSpecBytes)
	})
}

func (a *Activities) shard(ctx context.Context, ref eval.Ref) (eval.Shard, error) {
	return a.shards.get(ref.SHA256, func() (eval.Shard, error) {
		return LoadShard(ctx, a.cfg.Store, ref)
	})
}

// entry is everything stored about one trial before it runs.
type entry struct {
	id    eval.TrialID
	in    TrialInput
	spec  eval.RunSpec
	shard eval.Shard
	eval.ShardEntry
	task  eval.Task
	patch *string // nil for an empty prediction and for a no-op
}

func (a *Activities) entry(ctx context.Context, in TrialInput) (*entry, error) {
	spec, err := a.spec(ctx, in.Spec)
	if err != nil {
		return nil, storeError("read run spec", err)
	}
	shard, err := a.shard(ctx, in.Shard)
	if err != nil {
		return nil, storeError("read shard", err)
	}
	if err := checkEntry(in, shard); err != nil {
		return nil, err
	}
	e := &entry{in: in, spec: spec, shard: shard, ShardEntry: shard.Entries[in.Entry]}
	e.id = eval.TrialID{RunID: in.RunID, InstanceID: e.InstanceID, Attempt: e.Attempt, Round: in.Round}
	if e.task, err = load[eval.Task](ctx, a.cfg.Store, e.Task, maxTaskBytes); err != nil {
		return nil, storeError("read task "+e.InstanceID, err)
	}
	if e.Patch != nil {
		// The cap on patches is a matter of policy, checked in Prepare; one that is
		// larger is never read.
		if e.Patch.Size <= spec.Limits.PatchBytes {
			data, err := artifacts.GetRef(ctx, a.cfg.Store, *e.Patch, spec.Limits.PatchBytes)
			if err != nil {
				return nil, storeError("read patch of "+e.InstanceID, err)
			}
			s := string(data)
			e.patch = &s
		}
	}
	return e, nil
}

// solution is what solves the task in place of a patch, for a gold candidate of a
// task that has no gold patch; nil otherwise.
func (e *entry) solution() *eval.Solution {
	if e.spec.Candidate != eval.CandidateGold || e.Patch != nil {
		return nil
	}
	return e.task.Solution
}

// limits are the run's with the task's own wishes.
func (e *entry) limits() eval.Limits { return e.task.Limits.Apply(e.spec.Limits) }

func load[T any](ctx context.Context, s artifacts.Store, ref eval.Ref, limit int64) (T, error) {
	var v T
	data, err := artifacts.GetRef(ctx, s, ref, limit)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("decode %s: %w: %w", ref.Key, artifacts.ErrCorrupt, err)
	}
	return v, nil
}

func storeJSON(ctx context.Context, s artifacts.Store, key string, v any, opts artifacts.PutOptions) (eval.Ref, error) {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return eval.Ref{}, fmt.Errorf("encode %s: %w", key, err)
	}
	opts.ContentType = "application/json"
	return artifacts.PutBytes(ctx, s, key, append(data, '\n'), opts)
}

// cache keeps the few documents that many trials of a run share.
type cache[T any] struct {
	mu   sync.Mutex
	keys []string
	vals map[string]T
}

const cacheSize = 8

func (c *cache[T]) get(key string, load func() (T, error)) (T, error) {
	c.mu.Lock()
	v, ok := c.vals[key]
	c.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := load() // two loads of one document at once do no harm
	if err == nil {
		c.put(key, v)
	}
	return v, err
}

func (c *cache[T]) put(key string, v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.vals == nil {
		c.vals = map[string]T{}
	}
	if _, ok := c.vals[key]; !ok {
		if len(c.keys) == cacheSize {
			delete(c.vals, c.keys[0])
			c.keys = c.keys[1:]
		}
		c.keys = append(c.keys, key)
	}
	c.vals[key] = v
}
