package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"harness/artifacts"
	"harness/eval"
	"harness/preprocess"
	"harness/scoring"
	"harness/scoring/grade"
)

// Evaluate grades a try, or a trial that ended without a sandbox, and writes the
// trial's one result. A result that is there already is returned as it is: the
// first writer won, and its try is the one that counts.
func (a *Activities) Evaluate(ctx context.Context, in EvaluateInput) (_ TrialSummary, err error) {
	defer a.guard("evaluate", &err)
	e, err := a.entry(ctx, in.Trial)
	if err != nil {
		return TrialSummary{}, err
	}
	res, err := a.evaluate(ctx, e, in)
	if err != nil {
		return TrialSummary{}, Classify(err)
	}
	_, err = storeJSON(ctx, a.cfg.Store, eval.ResultKey(e.id), res, artifacts.PutOptions{CreateOnly: true})
	if errors.Is(err, artifacts.ErrExists) {
		done, err := a.result(ctx, e.id)
		if err != nil {
			return TrialSummary{}, err
		}
		if done == nil {
			return TrialSummary{}, NewError(ErrArtifactStore, fmt.Errorf("result of %s exists and can't be found", e.id))
		}
		return *done, nil
	}
	if err != nil {
		return TrialSummary{}, storeError("store result of "+e.id.String(), err)
	}
	return *summarize(res), nil
}

func (a *Activities) evaluate(ctx context.Context, e *entry, in EvaluateInput) (eval.TrialResult, error) {
	start := a.now().UTC()
	pre := e.inspect()
	res := eval.TrialResult{
		Schema: 1, TrialID: e.id,
		Repo: e.task.Repo, Language: e.task.Language, Difficulty: e.task.Difficulty,
		Patch: pre.Facts, Limits: e.limits(), StartedAt: start,
	}
	for _, f := range pre.Findings {
		res.Events = append(res.Events, f.Event(start))
	}
	profile, err := grade.ByName(e.spec.Profile)
	if err != nil {
		return res, NewError(ErrInvalidSpec, err)
	}
	if in.Report == nil {
		withoutSandbox(&res, profile, in.Final, pre)
	} else if err := a.grade(ctx, e, profile, *in.Report, &res); err != nil {
		return res, err
	}
	res.Calibrated = e.Calibration.In(res.Exec.ImageDigest)
	res.EndedAt = a.now().UTC()
	res.Phases = append(res.Phases, eval.Phase{
		Name: eval.PhaseEvaluate, StartedAt: start, Seconds: res.EndedAt.Sub(start).Seconds(),
	})
	return res, nil
}

// withoutSandbox fills in a trial that was decided before anything ran.
func withoutSandbox(res *eval.TrialResult, p grade.Profile, o eval.Outcome, pre preprocess.Report) {
	res.Outcome, res.Blame = o, eval.BlameCandidate
	res.Reason = pre.Reason
	if o == eval.EmptyPatch {
		res.Reason = "the prediction has no patch"
	}
	for _, rules := range append([]grade.Profile{p}, p.SecondOpinions()...) {
		res.Verdicts = append(res.Verdicts, eval.Verdict{Recipe: rules.Recipe.Name, Rules: rules.Rules.Name, Outcome: o})
	}
	res.Scores.Functional = scoring.Functional(res.Counts, false)
	res.Artifacts = map[string]eval.Ref{}
}

// grade reads a try's report and log and fills in what follows from them.
func (a *Activities) grade(ctx context.Context, e *entry, p grade.Profile, ref eval.Ref, res *eval.TrialResult) error {
	try, err := load[eval.TryReport](ctx, a.cfg.Store, ref, maxResultBytes)
	if err != nil {
		return storeError("read the report of a try", err)
	}
	log, ok := try.Artifacts[eval.FileLog]
	if !ok {
		return NewError(ErrDatasetIntegrity, fmt.Errorf("try %d of %s has no test log", try.Try, e.id))
	}
	source := &logSource{ctx: ctx, store: a.cfg.Store, ref: log}
	in := grade.Input{Task: &e.task, PatchGiven: !e.Noop, Applied: try.Applied, Exec: try.Exec, Log: source.open}
	graded, err := p.Grade(in)
	var opinions []eval.Verdict
	if err == nil {
		opinions, err = p.Opinions(in)
	}
	switch {
	case source.err != nil:
		return storeError("read the test log of "+e.id.String(), source.err)
	case err != nil:
		return NewError(ErrUnprocessable, fmt.Errorf("grade %s: %w", e.id, err))
	}
	v := graded.Verdict
	res.Outcome, res.Blame, res.Reason = v.Outcome, graded.Blame, graded.Reason
	res.Verdicts = append([]eval.Verdict{v}, opinions...)
	res.Tests, res.Counts, res.Coverage = graded.Tests, graded.Counts, graded.Coverage
	res.Scores.Functional = cmp.Or(v.Reward, scoring.Functional(graded.Counts, v.Resolved))
	res.Patch.ApplyMethod = try.ApplyMethod
	res.Exec, res.Usage, res.Tries = try.Exec, try.Usage, try.Try
	res.Phases = slices.Clone(try.Phases)
	res.Events = append(res.Events, try.Events...)
	res.Artifacts = try.Artifacts
	res.StartedAt = try.StartedAt
	return nil
}

// logSource opens a test log and tells afterwards whether reading it went wrong:
// that is a fault of the store, any other is one of the grader.
type logSource struct {
	ctx   context.Context
	store artifacts.Store
	ref   eval.Ref
	err   error
}

func (l *logSource) open() (io.ReadCloser, error) {
	rc, err := OpenLog(l.ctx, l.store, l.ref)
	if err != nil {
		l.err = err
		return nil, err
	}
	return &watched{rc, l}, nil
}

type watched struct {
	io.ReadCloser
	source *logSource
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.source.err = err
	}
	return n, err
}

// OpenLog streams a stored test log, unpacked.
func OpenLog(ctx context.Context, s artifacts.Store, ref eval.Ref) (io.ReadCloser, error) {
	if ref.Key == "" {
		return nil, errors.New("the try has no test log")
	}
	rc, err := artifacts.OpenRef(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(rc, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		rc.Close()
		return nil, fmt.Errorf("unpack test log: %w", err)
	}
	return unpacked{dec, rc}, nil
}

type unpacked struct {
	*zstd.Decoder
	under io.Closer
}

func (u unpacked) Close() error {
	u.Decoder.Close()
	return u.under.Close()
}
