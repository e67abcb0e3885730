package runs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"harness/artifacts"
	"harness/datasets"
	"harness/eval"
)

// DefaultShardSize is how many tasks x attempts one shard workflow holds. Its
// history stays far below Temporal's limits.
const DefaultShardSize = 400

// Request is a run as asked for.
type Request struct {
	Spec  eval.RunSpec // all but Shards and Entries
	Tasks []eval.Task  // those to be run, in dataset order
	// Patch returns the candidate's patch for a task; nil for an empty prediction.
	// It is not asked for a no-op.
	Patch func(*eval.Task) *string
	// Calibration returns what the spec's calibration says of a task by the digest
	// of its canonical JSON; nil, as a func and as an answer, for nothing.
	Calibration func(instance, digest string) *eval.TaskCalibration
}

// ErrDifferent: the run id is taken by a run with another spec.
var ErrDifferent = errors.New("a run with this id exists and is a different one")

const storeWriters = 16

// Planned is a stored run that can be started.
type Planned struct {
	Spec eval.RunSpec
	Ref  eval.Ref
	// Existed: an equal run was planned before, this is a resumption of it.
	Existed bool
}

// Plan stores tasks, patches, shards and, last, the spec of a run. The same
// request twice gives the same stored run; ErrDifferent says what differs.
func Plan(ctx context.Context, store artifacts.Store, req Request) (Planned, error) {
	spec := req.Spec
	if err := checkSpec(&spec); err != nil {
		return Planned{}, err
	}
	if spec.Candidate != eval.CandidatePredictions {
		spec.Coverage.Tasks = len(req.Tasks)
	}
	entries, err := storeEntries(ctx, store, &spec, req)
	if err != nil {
		return Planned{}, err
	}
	spec.Shards, spec.Entries = nil, len(entries)
	for i := 0; i*spec.ShardSize < len(entries); i++ {
		part := entries[i*spec.ShardSize : min(len(entries), (i+1)*spec.ShardSize)]
		data, err := json.Marshal(eval.Shard{Index: i, Entries: part})
		if err != nil {
			return Planned{}, fmt.Errorf("plan run: %w", err)
		}
		ref, err := artifacts.PutCAS(ctx, store, data)
		if err != nil {
			return Planned{}, fmt.Errorf("plan run: store shard %d: %w", i, err)
		}
		spec.Shards = append(spec.Shards, ref)
	}
	return storeSpec(ctx, store, spec)
}

func checkSpec(spec *eval.RunSpec) error {
	if err := eval.ValidateRunID(spec.RunID); err != nil {
		return err
	}
	if err := spec.Limits.Validate(); err != nil {
		return err
	}
	switch {
	case spec.Attempts < 1:
		return fmt.Errorf("plan run: %d attempts: at least 1 is needed", spec.Attempts)
	case spec.Rounds < 1:
		return fmt.Errorf("plan run: %d rounds: at least 1 is needed", spec.Rounds)
	case spec.MaxInfraTries < 1:
		return fmt.Errorf("plan run: %d tries: at least 1 is needed", spec.MaxInfraTries)
	}
	if spec.ShardSize == 0 {
		spec.ShardSize = DefaultShardSize
	}
	spec.Schema = 1
	return nil
}

func storeEntries(ctx context.Context, store artifacts.Store, spec *eval.RunSpec, req Request) ([]eval.ShardEntry, error) {
	entries := make([]eval.ShardEntry, len(req.Tasks)*spec.Attempts)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(storeWriters)
	for i := range req.Tasks {
		g.Go(func() error {
			task := &req.Tasks[i]
			e, err := storeTask(ctx, store, spec, task, req)
			if err != nil {
				return fmt.Errorf("plan run: store task %s: %w", task.InstanceID, err)
			}
			for a := range spec.Attempts {
				e.Attempt = a + 1
				entries[i*spec.Attempts+a] = e
			}
			return nil
		})
	}
	return entries, g.Wait()
}

func storeTask(ctx context.Context, store artifacts.Store, spec *eval.RunSpec, task *eval.Task, req Request) (eval.ShardEntry, error) {
	limits := task.Limits.Apply(spec.Limits)
	if err := limits.Validate(); err != nil {
		return eval.ShardEntry{}, err
	}
	e := eval.ShardEntry{
		InstanceID: task.InstanceID, Noop: spec.Candidate == eval.CandidateNoop,
		BudgetSeconds: 2*limits.SetupSeconds + limits.WallSeconds, // create and apply have the set-up time each
	}
	data, err := datasets.CanonicalJSON(task)
	if err != nil {
		return e, err
	}
	if e.Task, err = artifacts.PutCAS(ctx, store, data); err != nil {
		return e, err
	}
	if req.Calibration != nil {
		e.Calibration = req.Calibration(task.InstanceID, e.Task.SHA256)
	}
	if e.Noop {
		return e, nil
	}
	if patch := req.Patch(task); patch != nil && *patch != "" {
		ref, err := artifacts.PutCAS(ctx, store, []byte(*patch))
		if err != nil {
			return e, err
		}
		e.Patch = &ref
	} else if spec.Candidate == eval.CandidateGold {
		e.BudgetSeconds += task.Solution.Seconds(limits)
	}
	return e, nil
}

func storeSpec(ctx context.Context, store artifacts.Store, spec eval.RunSpec) (Planned, error) {
	data, err := encodeSpec(spec)
	if err != nil {
		return Planned{}, err
	}
	if len(data) > maxSpecBytes {
		return Planned{}, fmt.Errorf("plan run: the spec of %d entries is %d bytes, and at most %d can be read again; split the dataset with --filter", spec.Entries, len(data), maxSpecBytes)
	}
	key := eval.SpecKey(spec.RunID)
	ref, err := artifacts.PutBytes(ctx, store, key, data, artifacts.PutOptions{CreateOnly: true, ContentType: "application/json"})
	if err == nil {
		return Planned{Spec: spec, Ref: ref}, nil
	}
	if !errors.Is(err, artifacts.ErrExists) {
		return Planned{}, fmt.Errorf("plan run: store spec: %w", err)
	}
	old, err := Load(ctx, store, spec.RunID)
	if err != nil {
		return Planned{}, err
	}
	if diff := differences(old.Spec, spec); len(diff) > 0 {
		return Planned{}, &DifferentError{RunID: spec.RunID, Fields: diff}
	}
	return old, nil
}

// DifferentError names the fields in which a run differs from the stored one of its id.
type DifferentError struct {
	RunID  string
	Fields []string
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("run %s exists and is a different one (%s differ); choose another --run-id, or leave it out", e.RunID, fields(e.Fields))
}

// Is makes the error match ErrDifferent.
func (e *DifferentError) Is(target error) bool { return target == ErrDifferent }

func fields(names []string) string {
	var b bytes.Buffer
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n)
	}
	return b.String()
}

// differences compares what defines a run. When it was made, by which build, and
// where its tasks were fetched from does not: a newer build resumes an older run,
// and the tasks have a digest.
func differences(a, b eval.RunSpec) []string {
	for _, s := range []*eval.RunSpec{&a, &b} {
		s.CreatedAt, s.HarnessVersion, s.DatasetSource = time.Time{}, "", ""
	}
	fa, fb := fieldsOf(a), fieldsOf(b)
	var diff []string
	for _, f := range fa {
		if other, ok := lookup(fb, f.name); !ok || !bytes.Equal(other, f.value) {
			diff = append(diff, f.name)
		}
	}
	for _, f := range fb {
		if _, ok := lookup(fa, f.name); !ok {
			diff = append(diff, f.name)
		}
	}
	return diff
}

type field struct {
	name  string
	value []byte
}

// fieldsOf lists the top-level JSON fields of a spec in their order.
func fieldsOf(s eval.RunSpec) []field {
	data, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	var out []field
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil
		}
		out = append(out, field{fmt.Sprint(name), raw})
	}
	return out
}

func lookup(fs []field, name string) ([]byte, bool) {
	for _, f := range fs {
		if f.name == name {
			return f.value, true
		}
	}
	return nil, false
}

func encodeSpec(spec eval.RunSpec) ([]byte, error) {
	data, err := json.MarshalIndent(spec, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode run spec: %w", err)
	}
	return append(data, '\n'), nil
}

const maxSpecBytes = 16 << 20

// ErrNoRun: the store has no run of that id.
var ErrNoRun = errors.New("no such run")

// Load reads a stored run.
func Load(ctx context.Context, store artifacts.Store, run string) (Planned, error) {
	if err := eval.ValidateRunID(run); err != nil {
		return Planned{}, err
	}
	key := eval.SpecKey(run)
	data, err := artifacts.GetBytes(ctx, store, key, maxSpecBytes)
	if errors.Is(err, artifacts.ErrNotFound) {
		return Planned{}, fmt.Errorf("%w: %s is not in %s; `harness runs list` shows what is", ErrNoRun, run, store.URL(eval.RunsPrefix))
	}
	if err != nil {
		return Planned{}, fmt.Errorf("read run %s: %w", run, err)
	}
	var spec eval.RunSpec
	if err := json.Unmarshal(data, &spec); err != nil {
		return Planned{}, fmt.Errorf("read run %s: its spec.json is damaged: %w", run, err)
	}
	sum := sha256.Sum256(data)
	return Planned{Spec: spec, Ref: eval.Ref{Key: key, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}, Existed: true}, nil
}
