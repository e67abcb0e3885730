package activities

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"harness/activities/trial"
	"harness/artifacts"
	"harness/eval"
	"harness/sandbox"
	"harness/scoring/grade"
)

var errStopping = errors.New("the worker is stopping")

// Execute is one physical execution: it owns a whole sandbox from creation to
// removal and stores what came of it under a token of its own.
func (a *Activities) Execute(ctx context.Context, in TrialInput) (Executed, error) {
	ctx, stop := a.alive(ctx)
	defer stop()
	var lost Heartbeat // of the try before, if there was one
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &lost); err != nil {
			return Executed{}, NewError(ErrInternal, fmt.Errorf("read heartbeat: %w", err))
		}
	}
	beat := newHeart(ctx, lost)
	defer beat.stop()

	t := &tryRun{a: a, beat: beat, lost: lost, token: newToken()}
	done, err := t.run(ctx, in)
	if err = ending(ctx, err); err != nil {
		t.recordError(ctx, err)
	}
	return done, err
}

// tryRun is one physical execution and where it is stored.
type tryRun struct {
	a     *Activities
	beat  *heart
	lost  Heartbeat
	token string

	e      *entry
	rt     sandbox.Runtime
	digest string
	n      int // 0 until it is known
	refs   map[string]eval.Ref
}

func (t *tryRun) key(name string) string {
	return eval.TryPrefix(t.e.id, t.n, t.token) + name
}

func (t *tryRun) run(ctx context.Context, in TrialInput) (Executed, error) {
	if err := t.prepare(ctx, in); err != nil {
		return Executed{}, err
	}
	started := t.a.now().UTC()
	info, err := t.rt.Info(ctx)
	if err != nil {
		return Executed{}, fmt.Errorf("ask runtime %s: %w", t.e.spec.Runtime, err)
	}
	limits := t.e.limits()
	log, err := trial.NewCappedLog(t.a.cfg.SpoolDir, limits.OutputBytes)
	if err != nil {
		return Executed{}, err
	}
	defer log.Close()

	patch := t.e.patch
	if patch != nil {
		prepared := grade.PreparePatch(*patch, t.e.spec.Recipe)
		patch = &prepared
	}
	out, err := trial.Run(ctx, t.rt, trial.Input{
		Trial: t.e.id, Token: t.token, ImageDigest: t.digest, WorkDir: t.e.task.Dir(),
		Patch: patch, Solution: t.e.solution(), Files: t.e.task.Files, Script: grade.PrepareScript(&t.e.task, t.e.spec.Recipe),
		Recipe: t.e.spec.Recipe, Limits: limits, Network: t.e.spec.Network,
	}, log, trial.Hooks{Stage: t.stage, Now: t.a.now})
	if err != nil {
		return Executed{}, err
	}

	x := &out.Exec
	x.Runtime, x.RuntimeVersion, x.Worker = info.Name, info.Version, t.a.cfg.Worker
	if x.Truncated += log.Truncated(); x.Truncated > 0 && !slices.Contains(x.LimitsHit, eval.LimitOutput) {
		x.LimitsHit = append(x.LimitsHit, eval.LimitOutput)
		slices.Sort(x.LimitsHit)
	}
	act := activity.GetInfo(ctx)
	if wait := act.StartedTime.Sub(act.ScheduledTime).Seconds(); act.Attempt == 1 && wait >= 0 {
		out.Usage.QueueSeconds = &wait
	}
	t.stage("store", trial.SandboxID(t.token))
	if err := t.store(ctx, out, log); err != nil {
		return Executed{}, err
	}
	ref, err := t.report(ctx, eval.TryReport{
		Schema: 1, TrialID: t.e.id, Try: t.n, Token: t.token,
		Applied: out.Applied, ApplyMethod: out.ApplyMethod,
		Exec: out.Exec, Usage: out.Usage, Phases: out.Phases, Events: out.Events,
		Artifacts: t.refs, StartedAt: started, EndedAt: t.a.now().UTC(),
	})
	return Executed{Report: ref, Died: diedForNoReason(out.Exec)}, err
}

// diedForNoReason: a death that grading would call sandbox_died, not one that a
// limit explains.
func diedForNoReason(x eval.ExecFacts) bool {
	return x.Died && !x.TimedOut && !x.OOMKilled && !x.DiskFull
}

// prepare loads the trial, clears what a lost try left, and finds image and
// number of this one.
func (t *tryRun) prepare(ctx context.Context, in TrialInput) (err error) {
	a := t.a
	if err := a.patiently(ctx, func() error { t.e, err = a.entry(ctx, in); return err }); err != nil {
		return err
	}
	if t.rt, err = a.runtime(t.e.spec.Runtime); err != nil {
		return err
	}
	if err := t.clearLeftovers(ctx); err != nil {
		return err
	}
	if err := a.patiently(ctx, func() error { t.digest, err = a.image(ctx, t.e); return err }); err != nil {
		return err
	}
	return a.patiently(ctx, func() error {
		last, err := a.lastTry(ctx, t.e.id)
		t.n = max(last, t.lost.Try) + 1
		return err
	})
}

// clearLeftovers removes what an earlier try of this trial left on this host:
// it was lost, or it would have ended the activity.
func (t *tryRun) clearLeftovers(ctx context.Context) error {
	if activity.GetInfo(ctx).Attempt <= 1 && t.lost == (Heartbeat{}) {
		return nil
	}
	n, err := t.rt.Remove(ctx, sandbox.Match{Trial: t.e.id.String()})
	if err != nil {
		return fmt.Errorf("remove the sandbox of a lost try of %s: %w", t.e.id, err)
	}
	if n > 0 {
		t.a.log.Info("removed sandboxes of lost tries", "trial", t.e.id.String(), "count", n)
	}
	return nil
}

func (t *tryRun) stage(stage, sandboxID string) {
	t.beat.tell(func(h *Heartbeat) { *h = Heartbeat{Stage: stage, SandboxID: sandboxID, Try: t.n} })
}

// lastTry is the number of the last try that stored anything, 0 if none did.
func (a *Activities) lastTry(ctx context.Context, id eval.TrialID) (int, error) {
	last := 0
	for name, err := range a.cfg.Store.Dirs(ctx, eval.TrialPrefix(id)) {
		if err != nil {
			return 0, storeError("list tries of "+id.String(), err)
		}
		if n, ok := tryNumber(name); ok {
			last = max(last, n)
		}
	}
	return last, nil
}

// tryNumber reads n from "try-<n>-<token>".
func tryNumber(dir string) (int, bool) {
	rest, ok := strings.CutPrefix(dir, "try-")
	if !ok {
		return 0, false
	}
	num, _, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(num)
	return n, err == nil && n > 0
}

func newToken() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

func (t *tryRun) store(ctx context.Context, out trial.Output, log *trial.CappedLog) error {
	t.refs = map[string]eval.Ref{}
	text := func(s string) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }
	}
	if t.e.patch != nil {
		if err := t.put(ctx, eval.FilePatch, text(*t.e.patch)); err != nil {
			return err
		}
	}
	if len(out.ApplyLog) > 0 {
		if err := t.put(ctx, eval.FileApplyLog, text(string(out.ApplyLog))); err != nil {
			return err
		}
	}
	return t.put(ctx, eval.FileLog, func() (io.ReadCloser, error) {
		raw, err := log.Reader()
		if err != nil {
			return nil, err
		}
		return compress(raw), nil
	})
}

// put stores one file of the try; open gives its bytes from the beginning.
func (t *tryRun) put(ctx context.Context, name string, open func() (io.ReadCloser, error)) error {
	return t.a.patiently(ctx, func() error {
		r, err := open()
		if err != nil {
			return fmt.Errorf("read %s of %s: %w", name, t.e.id, err)
		}
		defer func() { _ = r.Close() }()
		if t.refs[name], err = artifacts.PutStream(ctx, t.a.cfg.Store, t.key(name), r, artifacts.PutOptions{}); err != nil {
			return storeError("store "+name+" of "+t.e.id.String(), err)
		}
		return nil
	})
}

func (t *tryRun) report(ctx context.Context, r eval.TryReport) (ref eval.Ref, err error) {
	err = t.a.patiently(ctx, func() error {
		if ref, err = storeJSON(ctx, t.a.cfg.Store, t.key(eval.FileUsage), r, artifacts.PutOptions{}); err != nil {
			return storeError("store the report of a try of "+t.e.id.String(), err)
		}
		return nil
	})
	return ref, err
}

// recordError leaves a note of a try that ended in a fault of ours, so that it
// is counted and can be looked into. It is worth a few seconds, not a failure.
func (t *tryRun) recordError(ctx context.Context, err error) {
	if t.n == 0 || temporal.IsCanceledError(err) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	f := eval.TryError{Schema: 1, TrialID: t.e.id, Try: t.n, Outcome: eval.InfraError, At: t.a.now().UTC()}
	f.Class, f.Message = ErrorClass(err)
	if _, err := storeJSON(ctx, t.a.cfg.Store, t.key(eval.FileError), f, artifacts.PutOptions{}); err != nil {
		t.a.log.Warn("a failed try is not recorded", "trial", t.e.id.String(), "error", err)
	}
}

// compress streams r through zstd. Closing the result early ends the work behind it.
func compress(r io.Reader) io.ReadCloser {
	pr, pw := io.Pipe()
	go func() {
		enc, err := zstd.NewWriter(pw, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err == nil {
			_, err = io.Copy(enc, r)
			err = errors.Join(err, enc.Close())
		}
		pw.CloseWithError(err)
	}()
	return pr
}
