package activities_test

import (
	"strings"
	"testing"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
	"harness/internal/runs"
)

func patches(give func(id string) *string) option {
	return func(_ *activities.Config, req *runs.Request) {
		req.Spec.Candidate, req.Spec.Agent = eval.CandidatePredictions, "model"
		req.Patch = func(t *eval.Task) *string { return give(t.InstanceID) }
	}
}

func text(s string) *string { return &s }

func TestPrepare(t *testing.T) {
	escape := "diff --git a/../x b/../x\n--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n"
	strict := func(_ *activities.Config, req *runs.Request) { req.Spec.Recipe.RejectByPolicy = true }
	for _, c := range []struct {
		name  string
		opts  []option
		final eval.Outcome
	}{
		{name: "gold"},
		{name: "no-op", opts: []option{func(_ *activities.Config, r *runs.Request) {
			r.Spec.Candidate, r.Patch = eval.CandidateNoop, nil
		}}},
		{name: "null", opts: []option{patches(func(string) *string { return nil })}, final: eval.EmptyPatch},
		{name: "empty", opts: []option{patches(func(string) *string { return text("") })}, final: eval.EmptyPatch},
		{name: "blank", opts: []option{patches(func(string) *string { return text("\n") })}},
		{name: "at the cap", opts: []option{patches(func(string) *string { return text(strings.Repeat("x", 1024)) }), capped}},
		{name: "over the cap", opts: []option{patches(func(string) *string { return text(strings.Repeat("x", 1025)) }), capped}, final: eval.PatchRejected},
		{name: "policy only flags", opts: []option{patches(func(string) *string { return &escape })}},
		{name: "policy rejects", opts: []option{patches(func(string) *string { return &escape }), strict}, final: eval.PatchRejected},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, 1, nil, c.opts...)
			got := must[activities.Prepared](f, f.acts.Prepare, f.trial(0))
			if got.Done != nil || got.Final != c.final {
				t.Fatalf("prepared %+v, want final %v", got, c.final)
			}
			if c.final == eval.OutcomeInvalid {
				return
			}
			sum := must[activities.TrialSummary](f, f.acts.Evaluate, activities.EvaluateInput{Trial: f.trial(0), Final: got.Final})
			res := f.result("task-0000")
			if sum.Outcome != c.final || res.Outcome != c.final || res.Blame != eval.BlameCandidate || res.Reason == "" || len(res.Verdicts) != 2 {
				t.Errorf("summary %+v, result %+v", sum, res)
			}
			if len(f.rt.Created()) != 0 {
				t.Error("a sandbox was made for it")
			}
			again := must[activities.Prepared](f, f.acts.Prepare, f.trial(0))
			if again.Done == nil || *again.Done != sum {
				t.Errorf("prepared again: %+v, want the stored result", again)
			}
		})
	}
}

func capped(_ *activities.Config, r *runs.Request) { r.Spec.Limits.PatchBytes = 1024 }

// A patch over the cap is never read, whatever it holds.
func TestPrepareTooLargeIsNotRead(t *testing.T) {
	f := newFixture(t, 1, nil, patches(func(string) *string { return text(strings.Repeat("x", 5000)) }), capped)
	shard, err := activities.LoadShard(t.Context(), f.store, f.run.Spec.Shards[0])
	if err != nil {
		t.Fatal(err)
	}
	patch := shard.Entries[0].Patch.Key
	f.store.breakIt(func(op, key string) error {
		if key == patch {
			t.Error("it was read")
		}
		return nil
	})
	must[activities.Prepared](f, f.acts.Prepare, f.trial(0))
	must[activities.TrialSummary](f, f.acts.Evaluate, activities.EvaluateInput{Trial: f.trial(0), Final: eval.PatchRejected})
	if got := f.result("task-0000").Patch; got.Bytes == nil || *got.Bytes != 5000 || got.SHA256 == "" {
		t.Errorf("facts %+v: size and digest are known without reading", got)
	}
}

func TestPrepareRefuses(t *testing.T) {
	f := newFixture(t, 1, nil)
	in := f.trial(0)
	for _, entry := range []int{-1, 1, 99} {
		in.Entry = entry
		_, err := call[activities.Prepared](f, f.acts.Prepare, in)
		f.wantClass(err, activities.ErrInvalidSpec)
		_, err = call[struct{}](f, f.acts.RecordFailure, activities.FailureInput{Trial: in, Outcome: eval.InfraError})
		f.wantClass(err, activities.ErrInvalidSpec)
	}

	shard, err := activities.LoadShard(t.Context(), f.store, f.run.Spec.Shards[0])
	if err != nil {
		t.Fatal(err)
	}
	f.store.breakIt(func(op, key string) error {
		if op == "get" && key == shard.Entries[0].Task.Key {
			return errAway
		}
		return nil
	})
	_, err = call[activities.Prepared](f, f.acts.Prepare, f.trial(0))
	f.wantClass(err, activities.ErrArtifactStore)

	f.store.breakIt(nil)
	if _, err := artifacts.PutBytes(t.Context(), f.store, shard.Entries[0].Task.Key, []byte("{}"), artifacts.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = call[activities.Prepared](f, f.acts.Prepare, f.trial(0))
	f.wantClass(err, activities.ErrDatasetIntegrity)
}
