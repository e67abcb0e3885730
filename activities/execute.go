package activities

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.temporal.io/sdk/activity"

	"harness/activities/trial"
	"harness/artifacts"
	"harness/eval"
	"harness/sandbox"
	"harness/scoring/grade"
)

var errStopping = errors.New("the worker is stopping")

// Heartbeat is what Execute reports: where it is and, for the try that comes
// after a lost one, what to remove first.
type Heartbeat struct {
	Stage     string `json:"stage"`
	SandboxID string `json:"sandbox_id"`
}

// heartbeatEvery is well under the workflow's heartbeat timeout.
const heartbeatEvery = 5 * time.Second

// Execute is one physical execution: it owns a whole sandbox from creation to
// removal and stores what came of it under a token of its own.
func (a *Activities) Execute(ctx context.Context, in TrialInput) (Executed, error) {
	out, err := a.execute(ctx, in)
	if err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return out, ctx.Err()
	}
	return out, Classify(err)
}

func (a *Activities) execute(ctx context.Context, in TrialInput) (Executed, error) {
	e, err := a.entry(ctx, in)
	if err != nil {
		return Executed{}, err
	}
	rt, err := a.runtime(e.spec.Runtime)
	if err != nil {
		return Executed{}, err
	}
	if err := a.clearLeftovers(ctx, rt, e); err != nil {
		return Executed{}, err
	}
	digest, err := a.image(ctx, e)
	if err != nil {
		return Executed{}, err
	}
	try, err := a.nextTry(ctx, e.id)
	if err != nil {
		return Executed{}, err
	}
	t := &tryRun{a: a, e: e, rt: rt, n: try, token: newToken()}
	return t.run(ctx, digest)
}

// clearLeftovers removes what an earlier try of this trial left on this host:
// it was lost, or it would have ended the activity.
func (a *Activities) clearLeftovers(ctx context.Context, rt sandbox.Runtime, e *entry) error {
	if activity.GetInfo(ctx).Attempt <= 1 && !activity.HasHeartbeatDetails(ctx) {
		return nil
	}
	n, err := rt.Remove(ctx, sandbox.Match{Trial: e.id.String()})
	if err != nil {
		return fmt.Errorf("remove the sandbox of a lost try of %s: %w", e.id, err)
	}
	if n > 0 {
		a.log.Info("removed sandboxes of lost tries", "trial", e.id.String(), "count", n)
	}
	return nil
}

// nextTry is one more than the number of the last try that stored anything.
func (a *Activities) nextTry(ctx context.Context, id eval.TrialID) (int, error) {
	last := 0
	for name, err := range a.cfg.Store.Dirs(ctx, eval.TrialPrefix(id)) {
		if err != nil {
			return 0, storeError("list tries of "+id.String(), err)
		}
		if n, ok := tryNumber(name); ok {
			last = max(last, n)
		}
	}
	return last + 1, nil
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

// tryRun is one physical execution and where it is stored.
type tryRun struct {
	a     *Activities
	e     *entry
	rt    sandbox.Runtime
	n     int
	token string

	refs map[string]eval.Ref
}

func (t *tryRun) key(name string) string {
	return eval.TryPrefix(t.e.id, t.n, t.token) + name
}

func (t *tryRun) run(ctx context.Context, digest string) (Executed, error) {
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

	ctx, stop := t.a.alive(ctx)
	defer stop()
	beat := newHeart(ctx)
	defer beat.stop()

	out, err := trial.Run(ctx, t.rt, trial.Input{
		Trial: t.e.id, Token: t.token, ImageDigest: digest, WorkDir: t.e.task.Dir(),
		Patch: t.e.patch, Script: grade.PrepareScript(&t.e.task, t.e.spec.Recipe),
		Recipe: t.e.spec.Recipe, Limits: limits, Network: t.e.spec.Network,
	}, log, trial.Hooks{Stage: beat.stage, Now: t.a.now})
	if err != nil {
		return Executed{}, err
	}

	out.Exec.Runtime, out.Exec.RuntimeVersion, out.Exec.Worker = info.Name, info.Version, t.a.cfg.Worker
	if cut := log.Truncated(); cut > 0 {
		out.Exec.Truncated += cut
	}
	if out.Exec.Truncated > 0 {
		out.Exec.LimitsHit = append(out.Exec.LimitsHit, eval.LimitOutput)
	}
	beat.stage("store", trial.SandboxID(t.token))
	if err := t.store(ctx, out, log); err != nil {
		return Executed{}, err
	}
	queue := activity.GetInfo(ctx)
	if wait := queue.StartedTime.Sub(queue.ScheduledTime).Seconds(); queue.Attempt == 1 && wait >= 0 {
		out.Usage.QueueSeconds = &wait
	}
	report := eval.TryReport{
		Schema: 1, TrialID: t.e.id, Try: t.n, Token: t.token,
		Applied: out.Applied, ApplyMethod: out.ApplyMethod,
		Exec: out.Exec, Usage: out.Usage, Phases: out.Phases, Events: out.Events,
		Artifacts: t.refs, StartedAt: started, EndedAt: t.a.now().UTC(),
	}
	ref, err := storeJSON(ctx, t.a.cfg.Store, t.key(eval.FileUsage), report, artifacts.PutOptions{})
	if err != nil {
		return Executed{}, storeError("store the report of a try", err)
	}
	return Executed{Report: ref, Died: out.Exec.Died && !out.Exec.OOMKilled}, nil
}

func (t *tryRun) store(ctx context.Context, out trial.Output, log *trial.CappedLog) error {
	t.refs = map[string]eval.Ref{}
	put := func(name string, r io.Reader) error {
		ref, err := artifacts.PutStream(ctx, t.a.cfg.Store, t.key(name), r, artifacts.PutOptions{})
		if err != nil {
			return storeError("store "+name+" of "+t.e.id.String(), err)
		}
		t.refs[name] = ref
		return nil
	}
	if t.e.patch != nil {
		if err := put(eval.FilePatch, strings.NewReader(*t.e.patch)); err != nil {
			return err
		}
	}
	if len(out.ApplyLog) > 0 {
		if err := put(eval.FileApplyLog, strings.NewReader(string(out.ApplyLog))); err != nil {
			return err
		}
	}
	raw, err := log.Reader()
	if err != nil {
		return err
	}
	packed := compress(raw)
	defer packed.Close()
	return put(eval.FileLog, packed)
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

// alive ends the returned context, too, when the worker stops: its sandboxes
// must be gone within seconds, not after the test's own time limit.
func (a *Activities) alive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case <-a.cfg.Stopping: // nil: never
			cancel(errStopping)
		case <-done:
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// heart sends heartbeats while a try runs: cancellation reaches it by them only.
type heart struct {
	changed chan Heartbeat
	done    chan struct{}
	ended   chan struct{}
}

func newHeart(ctx context.Context) *heart {
	h := &heart{changed: make(chan Heartbeat), done: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(h.ended)
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		var last Heartbeat
		for {
			select {
			case last = <-h.changed:
			case <-tick.C:
			case <-h.done:
				return
			}
			activity.RecordHeartbeat(ctx, last)
		}
	}()
	return h
}

func (h *heart) stage(stage, sandboxID string) {
	select {
	case h.changed <- Heartbeat{stage, sandboxID}:
	case <-h.ended:
	}
}

func (h *heart) stop() {
	close(h.done)
	<-h.ended
}
