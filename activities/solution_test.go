package activities_test

import (
	"context"
	"slices"
	"testing"

	"harness/activities"
	"harness/eval"
	"harness/internal/runs"
	"harness/sandbox"
	"harness/sandbox/fake"
	"harness/scoring/grade"
)

// A task without a gold patch is solved by its solution: for gold candidates, and
// for them alone.
func TestSolution(t *testing.T) {
	byReward := func(candidate string) option {
		return func(_ *activities.Config, r *runs.Request) {
			task := &r.Tasks[0]
			task.Family, task.Patch, task.FailToPass, task.PassToPass = eval.FamilyHarbor, "", nil, nil
			task.Files = []eval.TaskFile{{Path: "/tests/test.sh", Data: []byte("t")}}
			task.Solution = &eval.Solution{Script: "solve", TimeoutSeconds: 7}
			p := grade.ForFamily(task.Family)
			r.Spec.Profile, r.Spec.Recipe, r.Spec.Candidate = p.Name, p.Recipe, candidate
		}
	}
	for _, c := range []struct {
		candidate, reward string
		final             eval.Outcome
		outcome           eval.Outcome
		score             float64
		method            string
		solved            int // how often the solution ran
		budget            int64
	}{
		{candidate: eval.CandidateGold, reward: "1", outcome: eval.Resolved, score: 1, method: "solution", solved: 1, budget: 87},
		{candidate: eval.CandidateGold, reward: "0.5", outcome: eval.Unresolved, score: 0.5, method: "solution", solved: 1, budget: 87},
		{candidate: eval.CandidateNoop, reward: "0", outcome: eval.Unresolved, budget: 80},
		{candidate: eval.CandidatePredictions, final: eval.EmptyPatch, budget: 80},
	} {
		t.Run(c.candidate+" "+c.reward, func(t *testing.T) {
			solved := 0
			f := newFixture(t, 1, nil, byReward(c.candidate))
			f.pin(0)
			f.rt.OnExec = func(_ context.Context, sb *fake.Sandbox, p sandbox.Process) fake.Result {
				if !slices.Contains(p.Args, "/eval.sh") {
					solved++
					return fake.Result{}
				}
				if _, ok := sb.Files()["/tests/test.sh"]; !ok {
					t.Error("the tests' files are not there")
				}
				return fake.Result{Stdout: ">>>>> Start Test Output\n>>>>> End Test Output\n>>>>> Reward reward.txt: " + c.reward + "\n"}
			}
			plan := must[activities.ShardPlan](f, f.acts.OpenShard, f.shard(0))
			if got := plan.Entries[0].BudgetSeconds; got != c.budget {
				t.Errorf("budget %d s, want %d", got, c.budget)
			}
			if got := must[activities.Prepared](f, f.acts.Prepare, f.trial(0)); got.Final != c.final {
				t.Fatalf("prepared %+v, want final %v", got, c.final)
			}
			if c.final != eval.OutcomeInvalid {
				return
			}
			must[activities.TrialSummary](f, f.acts.Evaluate, f.execute(0))
			res := f.result("task-0000")
			if res.Outcome != c.outcome || res.Patch.ApplyMethod != c.method || res.Scores.Functional == nil || *res.Scores.Functional != c.score || solved != c.solved {
				t.Errorf("solution ran %d times, result %+v", solved, res)
			}
		})
	}
}
