package reports

import (
	"time"

	"harness/eval"
)

// The rows of the six tables, as references into the record.
type (
	trialRow struct {
		spec *eval.RunSpec
		*eval.TrialResult
	}
	verdictRow struct {
		*eval.TrialResult
		verdict *eval.Verdict
	}
	testRow struct {
		*eval.TrialResult
		test *eval.TestResult
	}
	eventRow struct {
		*eval.TrialResult
		event *eval.Event
	}
	phaseRow struct {
		*eval.TrialResult
		phase *eval.Phase
	}
)

// trialOf is what the tables below the trials have in common.
type trialOf interface{ trial() *eval.TrialResult }

func (r trialRow) trial() *eval.TrialResult   { return r.TrialResult }
func (r verdictRow) trial() *eval.TrialResult { return r.TrialResult }
func (r testRow) trial() *eval.TrialResult    { return r.TrialResult }
func (r eventRow) trial() *eval.TrialResult   { return r.TrialResult }
func (r phaseRow) trial() *eval.TrialResult   { return r.TrialResult }

// trialKey starts every table below the trials.
func trialKey[R trialOf]() []column[R] {
	return []column[R]{
		text("run_id", "id of the run", func(r R) string { return r.trial().RunID }).key().volatile(),
		text("instance_id", "id of the task", func(r R) string { return r.trial().InstanceID }).key(),
		int32s("attempt", "independent try of the task, from 1", func(r R) *int32 { return some(int32(r.trial().Attempt)) }).key(),
		int32s("round", "feedback round inside the attempt, from 1", func(r R) *int32 { return some(int32(r.trial().Round)) }).key(),
	}
}

// What null means in more than one column.
const (
	noResult    = "missing data: infra_error or cancelled"
	notGraded   = "nothing was graded"
	noScore     = "no score could be computed"
	notRun      = "nothing was executed"
	notMeasured = "nothing was executed, or the host could not tell"
	notReported = "the agent did not say"
	noPatch     = "no patch was looked at"
)

func trialColumns() []column[trialRow] {
	type R = trialRow
	return []column[R]{
		text("run_id", "id of the run", func(r R) string { return r.RunID }).key().volatile(),
		text("dataset", "name of the dataset", func(r R) string { return r.spec.Dataset }),
		text("instance_id", "id of the task", func(r R) string { return r.InstanceID }).key(),
		text("repo", "repository of the task, owner/name", func(r R) string { return r.Repo }),
		text("language", "language of the repository", func(r R) string { return r.Language }).null("not stated"),
		text("difficulty", "difficulty as the dataset states it", func(r R) string { return r.Difficulty }).null("not stated"),
		text("agent", "who made the patch", func(r R) string { return r.spec.Agent }),
		text("agent_version", "version of the agent", func(r R) string { return r.spec.AgentVersion }).null("not stated"),
		text("model", "model behind the agent", func(r R) string { return r.spec.Model }).null("not stated"),
		int32s("attempt", "independent try of the task, from 1", func(r R) *int32 { return some(int32(r.Attempt)) }).key(),
		int32s("round", "feedback round inside the attempt, from 1", func(r R) *int32 { return some(int32(r.Round)) }).key(),
		text("outcome", "how the trial ended", func(r R) string { return r.Outcome.String() }).key(),
		text("blame", "whose fault it is, from host-side facts", func(r R) string { return string(r.Blame) }).null("nobody's, or not decided"),
		bools("resolved", "whether the outcome is resolved", func(r R) *bool {
			if missing(r.Outcome) {
				return nil
			}
			return some(r.Outcome == eval.Resolved)
		}).null(noResult),
		floats("reward", "what the task's own tests gave, 0 to 1, where they give a reward; else 1 for resolved and 0 otherwise", func(r R) *float64 {
			switch {
			case missing(r.Outcome):
				return nil
			case len(r.Verdicts) > 0 && r.Verdicts[0].Reward != nil:
				return r.Verdicts[0].Reward
			case r.Outcome == eval.Resolved:
				return some(1.0)
			}
			return some(0.0)
		}).null(noResult),
		text("profile", "grading profile of the run", func(r R) string { return r.spec.Profile }),
		bools("calibrated", "whether gold passes and a no-op fails on this task here", func(r R) *bool { return r.Calibrated }).null("nobody looked"),
		int64s("f2p_passed", "FAIL_TO_PASS tests that passed", func(r R) *int64 { return wide(r.Counts.F2PPassed) }).null(notGraded),
		int64s("f2p_total", "FAIL_TO_PASS tests", func(r R) *int64 { return wide(r.Counts.F2PTotal) }).null(notGraded),
		int64s("p2p_passed", "PASS_TO_PASS tests that passed", func(r R) *int64 { return wide(r.Counts.P2PPassed) }).null(notGraded),
		int64s("p2p_total", "PASS_TO_PASS tests", func(r R) *int64 { return wide(r.Counts.P2PTotal) }).null(notGraded),
		floats("score_functional", "functional score, 0 to 1", func(r R) *float64 { return r.Scores.Functional }).null(noScore),
		floats("score_resource", "resource score, 0 to 1", func(r R) *float64 { return r.Scores.Resource }).volatile().null(noScore),
		floats("score_security", "security score, 0 to 1", func(r R) *float64 { return r.Scores.Security }).null(noScore),
		floats("score_maintainability", "maintainability score, 0 to 1", func(r R) *float64 { return r.Scores.Maintainability }).null(noScore),
		floats("score_performance", "performance score, 0 to 1", func(r R) *float64 { return r.Scores.Performance }).volatile().null(noScore),
		lists("tamper_flags", "findings of the path policy, sorted", func(r R) ([]string, bool) {
			return r.Patch.TamperFlags, r.Patch.SHA256 != "" || len(r.Patch.TamperFlags) > 0
		}).null("no patch was looked at"),
		lists("limits_hit", "limits touched, sorted", func(r R) ([]string, bool) {
			return r.Exec.LimitsHit, r.Exec.Runtime != "" || len(r.Exec.LimitsHit) > 0
		}).null(notRun),
		int64s("tries", "physical executions", func(r R) *int64 { return some(int64(r.Tries)) }).key().volatile(),
		text("disclosure", "what the agent is told between rounds", func(r R) string { return r.spec.Disclosure }),
		text("network_policy", "what the sandbox may reach", func(r R) string {
			if r.Exec.Network != "" {
				return r.Exec.Network
			}
			return string(r.spec.Network)
		}),
		text("apply_method", "how the patch was applied", func(r R) string { return r.Patch.ApplyMethod }).null("nothing was applied"),
		floats("wall_s", "wall time of the execution", func(r R) *float64 { return r.Usage.WallSeconds }).in("s").volatile().null(notMeasured),
		floats("cpu_s", "CPU time of the execution", func(r R) *float64 { return r.Usage.CPUSeconds }).in("s").volatile().null(notMeasured),
		floats("queue_s", "time spent waiting for a slot", func(r R) *float64 { return r.Usage.QueueSeconds }).in("s").volatile().null(notMeasured),
		int64s("peak_memory_bytes", "highest memory use of the sandbox", func(r R) *int64 { return r.Usage.PeakMemoryBytes }).in("bytes").volatile().null(notMeasured),
		int64s("disk_bytes", "disk written by the sandbox", func(r R) *int64 { return r.Usage.DiskBytes }).in("bytes").volatile().null(notMeasured),
		int64s("io_read_bytes", "bytes read from block devices", func(r R) *int64 { return r.Usage.IOReadBytes }).in("bytes").volatile().null(notMeasured),
		int64s("io_write_bytes", "bytes written to block devices", func(r R) *int64 { return r.Usage.IOWriteBytes }).in("bytes").volatile().null(notMeasured),
		int64s("net_bytes", "bytes over the network, both ways", func(r R) *int64 { return r.Usage.NetBytes }).in("bytes").volatile().null(notMeasured),
		floats("throttled_s", "time the CPU limit held the sandbox back", func(r R) *float64 { return r.Usage.ThrottledSecs }).in("s").volatile().null(notMeasured),
		floats("limit_cpu", "CPU limit", func(r R) *float64 { return positive(r.Limits.CPUs) }).in("cores"),
		int64s("limit_memory_bytes", "memory limit", func(r R) *int64 { return positive(r.Limits.MemoryBytes) }).in("bytes"),
		int64s("limit_wall_s", "wall-clock limit of the test phase", func(r R) *int64 { return positive(r.Limits.WallSeconds) }).in("s"),
		int64s("tokens_in", "tokens the agent sent to its model", func(r R) *int64 { return r.Agent.TokensIn }).in("tokens").volatile().null(notReported),
		int64s("tokens_out", "tokens the agent got from its model", func(r R) *int64 { return r.Agent.TokensOut }).in("tokens").volatile().null(notReported),
		floats("cost_usd", "cost of making the patch", func(r R) *float64 { return r.Agent.CostUSD }).in("USD").volatile().null(notReported),
		text("patch_sha256", "SHA-256 of the patch as sent", func(r R) string { return r.Patch.SHA256 }).unique().null(noPatch),
		int64s("patch_bytes", "size of the patch as sent", func(r R) *int64 { return r.Patch.Bytes }).in("bytes").null(noPatch),
		int64s("files_changed", "files the patch touches", func(r R) *int64 { return wide(r.Patch.FilesChanged) }).null(noPatch),
		int64s("lines_added", "lines the patch adds", func(r R) *int64 { return wide(r.Patch.LinesAdded) }).null(noPatch),
		int64s("lines_removed", "lines the patch removes", func(r R) *int64 { return wide(r.Patch.LinesRemoved) }).null(noPatch),
		text("runtime", "sandbox runtime that executed it", func(r R) string { return r.Exec.Runtime }).null(notRun),
		text("runtime_version", "version of the runtime", func(r R) string { return r.Exec.RuntimeVersion }).null(notRun),
		text("image_digest", "digest of the image", func(r R) string { return r.Exec.ImageDigest }).null(notRun),
		text("worker", "process that executed it", func(r R) string { return r.Exec.Worker }).volatile().null(notRun),
		times("started_at", "start of the trial", func(r R) time.Time { return r.StartedAt }),
		times("ended_at", "end of the trial", func(r R) time.Time { return r.EndedAt }),
		bools("cached", "whether the result was reused from an identical trial", func(r R) *bool { return some(r.Cached) }).key().volatile(),
		text("error_class", "class of our own fault, for infra_error", func(r R) string { return r.ErrorClass }).null("no fault of ours"),
		text("error_message", "message of our own fault, or why the trial ended as it did", func(r R) string {
			if r.ErrorMessage != "" {
				return r.ErrorMessage
			}
			return r.Reason
		}).unique().volatile().null("nothing to say"),
		text("log_ref", "key of the stored test log", func(r R) string { return r.Artifacts[eval.FileLog].Key }).unique().volatile().null("there is no log"),
	}
}

func verdictColumns() []column[verdictRow] {
	type R = verdictRow
	return append(trialKey[R](),
		text("recipe", "how the trial was executed", func(r R) string { return r.verdict.Recipe }),
		text("rules", "how its log was graded", func(r R) string { return r.verdict.Rules }),
		text("outcome", "what these rules say", func(r R) string { return r.verdict.Outcome.String() }).key(),
		bools("resolved", "whether the task is resolved under these rules", func(r R) *bool {
			if missing(r.verdict.Outcome) {
				return nil
			}
			return some(r.verdict.Resolved)
		}).null(noResult),
		lists("flags", "what the rules noticed, sorted", func(r R) ([]string, bool) { return r.verdict.Flags, true }).key(),
	)
}

func testColumns() []column[testRow] {
	type R = testRow
	return append(trialKey[R](),
		text("test", "name of the test", func(r R) string { return r.test.Name }).unique(),
		text("group", "F2P, P2P, F2F, P2F or other", func(r R) string { return r.test.Group }),
		text("status", "PASSED, FAILED, SKIPPED, ERROR, XFAIL or MISSING", func(r R) string { return r.test.Status }),
		text("raw_status", "word of the log", func(r R) string { return r.test.RawStatus }).null("the log does not have the test"),
		floats("seconds", "duration as the log states it", func(r R) *float64 { return r.test.Seconds }).in("s").volatile().null("the log does not say"),
	)
}

func eventColumns() []column[eventRow] {
	type R = eventRow
	return append(trialKey[R](),
		times("time", "when it was seen", func(r R) time.Time { return r.event.Time }),
		text("source", "sandbox, egress, host or preprocess", func(r R) string { return r.event.Source }),
		text("kind", "what was seen", func(r R) string { return r.event.Kind }),
		text("severity", "info, low, medium or high", func(r R) string { return r.event.Severity }),
		text("detail", "particulars", func(r R) string { return r.event.Detail }).unique().volatile(),
		int64s("dropped", "events of this kind that were seen and not kept", func(r R) *int64 { return some(r.event.Dropped) }).key().volatile(),
	)
}

func phaseColumns() []column[phaseRow] {
	type R = phaseRow
	return append(trialKey[R](),
		text("phase", "name of the phase", func(r R) string { return r.phase.Name }),
		times("started_at", "start of the phase", func(r R) time.Time { return r.phase.StartedAt }),
		floats("seconds", "length of the phase", func(r R) *float64 { return phaseSeconds(r.phase) }).in("s").volatile().null("the clock was set back"),
	)
}

// runColumns describe the one row of the runs table, which is taken from the
// summary: the two can't disagree.
func runColumns() []column[*Summary] {
	type R = *Summary
	cols := []column[R]{
		text("run_id", "id of the run", func(s R) string { return s.Harness.Run.RunID }).key().volatile(),
		text("dataset", "name of the dataset", func(s R) string { return s.Harness.Run.Dataset }),
		text("dataset_digest", "digest over the tasks", func(s R) string { return s.Harness.Run.DatasetDigest }),
		text("split", "split of the dataset", func(s R) string { return s.Harness.Run.Split }).null("the dataset has none"),
		text("agent", "who made the patches", func(s R) string { return s.Harness.Run.Agent }),
		text("agent_version", "version of the agent", func(s R) string { return s.Harness.Run.AgentVersion }).null("not stated"),
		text("model", "model behind the agent", func(s R) string { return s.Harness.Run.Model }).null("not stated"),
		text("profile", "grading profile", func(s R) string { return s.Harness.Run.Profile }),
		text("spec_digest", "digest of the run's input, its run id included", func(s R) string { return s.Harness.Run.SpecDigest }).key().volatile(),
		text("harness_version", "version of the harness", func(s R) string { return s.Harness.Run.HarnessVersion }),
		times("started_at", "start of the run", func(s R) time.Time { return orZero(s.Harness.Run.StartedAt) }),
		times("ended_at", "end of the run", func(s R) time.Time { return orZero(s.Harness.Run.EndedAt) }),
		int64s("tasks", "tasks selected", func(s R) *int64 { return some(int64(s.Harness.Tasks)) }).key(),
	}
	for _, o := range eval.Outcomes() {
		name := o.String()
		cols = append(cols, int64s(name, "attempts that ended in "+name, func(s R) *int64 { return some(int64(s.Harness.Outcomes[name])) }).key())
	}
	return cols
}

// missing reports whether the outcome is the absence of a result rather than one.
func missing(o eval.Outcome) bool { return o == eval.InfraError || o == eval.Cancelled }

func some[T any](v T) *T { return &v }

func wide(v *int) *int64 {
	if v == nil {
		return nil
	}
	return some(int64(*v))
}

// positive returns nil for a limit that was never set: there is no limit of zero.
func positive[T int64 | float64](v T) *T {
	if v <= 0 {
		return nil
	}
	return &v
}

// phaseSeconds returns nil for a length below zero: a clock was set back, and
// nobody knows how long the phase took.
func phaseSeconds(p *eval.Phase) *float64 {
	if p.Seconds < 0 {
		return nil
	}
	return finite(&p.Seconds)
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
