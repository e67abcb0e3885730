package activities_test

import (
	"slices"
	"testing"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
	"harness/internal/runs"
	"harness/reports"
	"harness/sandbox/fake"
)

func (f *fixture) finish(entry int) {
	f.t.Helper()
	must[activities.TrialSummary](f, f.acts.Evaluate, f.execute(entry))
}

func (f *fixture) fail(entry int, o eval.Outcome, class string) {
	f.t.Helper()
	must[struct{}](f, f.acts.RecordFailure, activities.FailureInput{Trial: f.trial(entry), Outcome: o, Class: class, Message: "because"})
}

func (f *fixture) results() map[string]eval.TrialResult {
	f.t.Helper()
	out := map[string]eval.TrialResult{}
	var order []string
	for r, err := range activities.Results(f.t.Context(), f.store, f.run.Spec) {
		if err != nil {
			f.t.Fatal(err)
		}
		out[r.InstanceID] = r
		order = append(order, r.InstanceID)
	}
	if !slices.IsSorted(order) {
		f.t.Errorf("results come as %q, not in the order of the run", order)
	}
	return out
}

// Each trial of a run shows in exactly one row, whatever became of it.
func TestResults(t *testing.T) {
	f := newFixture(t, 6, nil, func(_ *activities.Config, r *runs.Request) { r.Spec.ShardSize = 4 })
	f.pin(0)
	f.pin(1)
	f.finish(0)
	f.fail(1, eval.InfraError, activities.ErrSandboxLost)
	f.fail(2, eval.Cancelled, "Cancelled")
	f.fail(3, eval.InfraError, activities.ErrImagePull) // failed, then cancelled: the last word counts
	f.fail(3, eval.Cancelled, "Cancelled")
	f.fail(4, eval.InfraError, activities.ErrSandboxLost) // failed, then done by a resumed run
	f.finish(4)
	got := f.results()
	for id, want := range map[string]struct {
		outcome eval.Outcome
		blame   eval.Blame
		class   string
	}{
		"task-0000": {eval.Resolved, eval.BlameNone, ""},
		"task-0001": {eval.InfraError, eval.BlameEnvironment, activities.ErrSandboxLost},
		"task-0002": {eval.Cancelled, eval.BlameNone, "Cancelled"},
		"task-0003": {eval.Cancelled, eval.BlameNone, "Cancelled"},
		"task-0004": {eval.Resolved, eval.BlameNone, ""},
		"task-0005": {eval.Cancelled, "", "NotFinished"},
	} {
		r := got[id]
		if r.Outcome != want.outcome || r.Blame != want.blame || r.ErrorClass != want.class || r.Repo != "some/repo" || r.Limits != f.run.Spec.Limits {
			t.Errorf("%s: outcome %v, blame %q, class %q; want %+v", id, r.Outcome, r.Blame, r.ErrorClass, want)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d rows, want 6", len(got))
	}
	ref := must[activities.Reported](f, f.acts.Report, activities.ReportInput{RunID: "run", Spec: f.run.Ref})
	sum, err := reports.ReadSummary(t.Context(), f.store, "run")
	if err != nil || ref.Report.Key != eval.ReportKey("run", "report.json") {
		t.Fatalf("report %+v, error %v", ref, err)
	}
	if o := sum.Harness.Outcomes; o["resolved"] != 2 || o["infra_error"] != 1 || o["cancelled"] != 3 {
		t.Errorf("outcomes %v", o)
	}
}

// A failed try that another try followed is no verdict on the trial.
func TestResultsOfATryThatFailed(t *testing.T) {
	f := newFixture(t, 1, does(fake.Result{Err: errAway}))
	f.pin(0)
	if _, err := call[activities.Executed](f, f.acts.Execute, f.trial(0)); err == nil {
		t.Fatal("the execution succeeded")
	}
	if r := f.results()["task-0000"]; r.Outcome != eval.Cancelled || r.ErrorClass != "NotFinished" {
		t.Errorf("while the next try runs: %v, %s", r.Outcome, r.ErrorClass)
	}
	f.fail(0, eval.InfraError, activities.ErrInternal)
	if r := f.results()["task-0000"]; r.Outcome != eval.InfraError || r.Tries != 1 || r.ErrorMessage != "because" {
		t.Errorf("given up: %v after %d tries, %q", r.Outcome, r.Tries, r.ErrorMessage)
	}
}

func TestResultsDamaged(t *testing.T) {
	for _, key := range []string{"result.json", "try-1-x/error.json"} {
		f := newFixture(t, 20, nil)
		f.pin(0)
		if _, err := artifacts.PutBytes(t.Context(), f.store, eval.TrialPrefix(f.id("task-0018"))+key, []byte("{"), artifacts.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := call[activities.Reported](f, f.acts.Report, activities.ReportInput{RunID: "run", Spec: f.run.Ref})
		f.wantClass(err, activities.ErrDatasetIntegrity)
	}
}

func TestOpenShard(t *testing.T) {
	f := newFixture(t, 3, nil, func(_ *activities.Config, r *runs.Request) { r.Spec.Attempts, r.Spec.ShardSize = 2, 4 })
	plan := must[activities.ShardPlan](f, f.acts.OpenShard, f.shard(0))
	if len(plan.Entries) != 4 {
		t.Fatalf("%d entries, want 4", len(plan.Entries))
	}
	l := f.run.Spec.Limits
	for i, e := range plan.Entries {
		if e.Done != nil || e.Attempt != 1+i%2 || e.BudgetSeconds < 2*l.SetupSeconds+l.WallSeconds {
			t.Errorf("entry %d of a fresh run: %+v", i, e)
		}
	}
	f.pin(0)
	f.finish(1) // task-0000, attempt 2
	f.fail(2, eval.InfraError, activities.ErrSandboxLost)
	plan = must[activities.ShardPlan](f, f.acts.OpenShard, f.shard(0))
	for i, e := range plan.Entries {
		if (e.Done != nil) != (i == 1) {
			t.Errorf("entry %d of a resumed run: %+v", i, e)
		}
	}
	if d := plan.Entries[1].Done; d.Outcome != eval.Resolved || d.Tries != 1 {
		t.Errorf("done: %+v", d)
	}
}

// A shard that can't be run at all: what has no result is marked, once each.
func TestRecordShardFailure(t *testing.T) {
	f := newFixture(t, 3, nil)
	f.pin(0)
	f.finish(1)
	must[struct{}](f, f.acts.RecordShardFailure, activities.ShardFailureInput{Shard: f.shard(0), Class: activities.ErrRuntimeUnhealthy, Message: "no containerd"})
	got := f.results()
	for id, want := range map[string]eval.Outcome{"task-0000": eval.InfraError, "task-0001": eval.Resolved, "task-0002": eval.InfraError} {
		if got[id].Outcome != want {
			t.Errorf("%s: %v, want %v", id, got[id].Outcome, want)
		}
	}
	if got["task-0000"].ErrorMessage != "no containerd" || got["task-0000"].Tries != 0 {
		t.Errorf("row %+v", got["task-0000"])
	}
}

func TestPlanRun(t *testing.T) {
	f := newFixture(t, 5, nil, func(_ *activities.Config, r *runs.Request) { r.Spec.ShardSize = 2 })
	plan := must[activities.Plan](f, f.acts.PlanRun, activities.PlanInput{RunID: "run", Spec: f.run.Ref})
	if len(plan.Shards) != 3 || plan.Tasks != 5 || plan.Rounds != 1 || plan.MaxInfraTries != 3 || plan.Dataset != "tests" || plan.Agent != "gold" {
		t.Errorf("plan %+v", plan)
	}
	_, err := call[activities.Plan](f, f.acts.PlanRun, activities.PlanInput{RunID: "other", Spec: f.run.Ref})
	f.wantClass(err, activities.ErrInvalidSpec)
	ref := f.run.Ref
	ref.SHA256 = f.run.Spec.Shards[0].SHA256
	_, err = call[activities.Plan](f, f.acts.PlanRun, activities.PlanInput{RunID: "run", Spec: eval.Ref{Key: ref.Key, SHA256: "00" + ref.SHA256[2:], Size: ref.Size}})
	f.wantClass(err, activities.ErrDatasetIntegrity)
	if _, err := activities.New(activities.Config{}); err == nil {
		t.Error("activities without a store were made")
	}
}
