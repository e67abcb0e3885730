package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"harness/eval"
)

// tally counts trials, which must come in row order, into a Summary. The last
// round of an attempt is the attempt's result.
type tally struct {
	sum     Summary
	phases  map[string]*PhaseTime
	pending *attempt // the latest round seen of the current attempt

	lists     map[eval.List][]string
	tasksSeen int
	anySolved int // tasks that some attempt resolved
	anyKnown  int // tasks of which some attempt has a result
	task      taskState

	calibration *calibrationTally // nil without one

	earliest, latest time.Time
	unresolved       []attempt // for people, at most maxListed
	unresolvedCount  int
}

// attempt is what remains in memory of an attempt's last round.
type attempt struct {
	id           eval.TrialID
	outcome      eval.Outcome
	blame        eval.Blame
	reason       string
	counts       eval.TestCounts
	flags        []string
	official     *eval.OfficialReport
	class, fault string
	calibrated   *bool
	quarantined  []string // the tests that failed it, if all of them are quarantined
}

type taskState struct {
	id            string
	solved, known bool
}

func newTally(spec eval.RunSpec, cal *Calibration) *tally {
	t := &tally{phases: map[string]*PhaseTime{}, lists: map[eval.List][]string{}}
	if cal != nil {
		t.calibration = newCalibrationTally(cal)
	}
	h := &t.sum.Harness
	h.Schema = 1
	h.Outcomes = map[string]int{}
	for _, o := range eval.Outcomes() {
		h.Outcomes[o.String()] = 0
	}
	h.Coverage = spec.Coverage
	h.InfraErrors, h.Tampered = []InfraFault{}, []Tampered{}
	t.sum.FailureReasons = map[string]string{}
	t.sum.SchemaVersion = 2
	return t
}

func (t *tally) add(r *eval.TrialResult) {
	h := &t.sum.Harness
	if t.pending != nil && (t.pending.id.InstanceID != r.InstanceID || t.pending.id.Attempt != r.Attempt) {
		t.finishAttempt()
	}
	h.Trials++
	a := &attempt{
		id: r.TrialID, outcome: r.Outcome, blame: r.Blame, reason: r.Reason, counts: r.Counts,
		flags: r.Patch.TamperFlags, class: r.ErrorClass, fault: cmp.Or(r.ErrorMessage, r.Reason),
	}
	if len(r.Verdicts) > 0 {
		a.official = r.Verdicts[0].Official // the first rules are the run's own, others are second opinions
	}
	if a.calibrated = r.Calibrated; t.calibration != nil {
		a.quarantined = t.calibration.onlyQuarantined(r)
	}
	t.pending = a

	if !r.StartedAt.IsZero() && (t.earliest.IsZero() || r.StartedAt.Before(t.earliest)) {
		t.earliest = r.StartedAt
	}
	if r.EndedAt.After(t.latest) {
		t.latest = r.EndedAt
	}
	h.Totals.Tries += r.Tries
	if r.Cached {
		h.Totals.Cached++
		return // its times are those of another run
	}
	addTo(&h.Totals.WallSeconds, r.Usage.WallSeconds)
	addTo(&h.Totals.CPUSeconds, r.Usage.CPUSeconds)
	addTo(&h.Totals.QueueSeconds, r.Usage.QueueSeconds)
	addTo(&h.Totals.TokensIn, r.Agent.TokensIn)
	addTo(&h.Totals.TokensOut, r.Agent.TokensOut)
	addTo(&h.Totals.CostUSD, r.Agent.CostUSD)
	for i := range r.Phases {
		p := &r.Phases[i]
		s := phaseSeconds(p)
		if s == nil {
			continue
		}
		sum := t.phases[p.Name]
		if sum == nil {
			sum = &PhaseTime{Phase: p.Name}
			t.phases[p.Name] = sum
		}
		sum.Trials++
		sum.Seconds += *s
	}
}

func (t *tally) finishAttempt() {
	a := t.pending
	if a == nil {
		return
	}
	t.pending = nil
	h := &t.sum.Harness
	h.Attempts++
	h.Outcomes[a.outcome.String()]++

	if a.outcome != eval.Resolved {
		t.unresolvedCount++
		if len(t.unresolved) < maxListed {
			t.unresolved = append(t.unresolved, *a)
		}
	}
	if a.outcome == eval.InfraError {
		h.InfraErrors = append(h.InfraErrors, InfraFault{a.id.InstanceID, a.id.Attempt, a.class, a.fault})
	}
	if len(a.flags) > 0 {
		h.Tampered = append(h.Tampered, Tampered{a.id.InstanceID, a.id.Attempt, a.outcome, a.flags})
	}

	if t.calibration != nil {
		t.calibration.attempt(a)
	}

	if t.task.id != a.id.InstanceID {
		t.finishTask()
		t.task = taskState{id: a.id.InstanceID}
		t.tasksSeen++
		t.official(a)
	}
	t.task.solved = t.task.solved || a.outcome == eval.Resolved
	t.task.known = t.task.known || !missing(a.outcome)
}

func (t *tally) finishTask() {
	if t.task.solved {
		t.anySolved++
	}
	if t.task.known {
		t.anyKnown++
	}
	t.task = taskState{}
}

// official puts a task's first attempt into the lists of the official report.
func (t *tally) official(a *attempt) {
	s, id := &t.sum, a.id.InstanceID
	list := a.outcome.Consequence().List
	t.lists[list] = append(t.lists[list], id)
	s.SubmittedIDs = append(s.SubmittedIDs, id)
	if a.official != nil && list != eval.ListEmptyPatch && list != eval.ListIncomplete {
		s.CompletedIDs = append(s.CompletedIDs, id)
	}
	// As upstream has it, these name why a task is in the unresolved or the error
	// list; they never move it out of there.
	switch {
	case list != eval.ListUnresolved && list != eval.ListError:
	case a.outcome == eval.InfraError:
		s.InfraFailureIDs = append(s.InfraFailureIDs, id)
		s.FailureReasons[id] = cmp.Or(a.class, a.outcome.String())
	case a.official == nil || a.official.InfraReason == "":
	case a.official.InfraFailure != nil && *a.official.InfraFailure:
		s.InfraFailureIDs = append(s.InfraFailureIDs, id)
		s.FailureReasons[id] = a.official.InfraReason
	default:
		s.AmbiguousFailureIDs = append(s.AmbiguousFailureIDs, id)
		s.FailureReasons[id] = a.official.InfraReason
	}
}

// summary ends the counting.
func (t *tally) summary(spec eval.RunSpec, opts Options) Summary {
	t.finishAttempt()
	t.finishTask()
	s, c := &t.sum, spec.Coverage

	s.ResolvedIDs = sortedIDs(t.lists[eval.ListResolved])
	s.UnresolvedIDs = sortedIDs(t.lists[eval.ListUnresolved])
	s.EmptyPatchIDs = sortedIDs(t.lists[eval.ListEmptyPatch])
	s.ErrorIDs = sortedIDs(t.lists[eval.ListError])
	s.IncompleteIDs = sortedIDs(slices.Concat(t.lists[eval.ListIncomplete], c.Missing))
	s.SubmittedIDs = sortedIDs(slices.Concat(s.SubmittedIDs, c.Unselected))
	s.CompletedIDs = sortedIDs(s.CompletedIDs)
	s.InfraFailureIDs = sortedIDs(s.InfraFailureIDs)
	s.AmbiguousFailureIDs = sortedIDs(s.AmbiguousFailureIDs)

	s.TotalInstances = max(c.Tasks, t.tasksSeen+len(c.Missing))
	s.SubmittedInstances = len(s.SubmittedIDs)
	s.CompletedInstances = len(s.CompletedIDs)
	s.ResolvedInstances = len(s.ResolvedIDs)
	s.UnresolvedInstances = len(s.UnresolvedIDs)
	s.InfraFailureInstances = len(s.InfraFailureIDs)
	s.AmbiguousFailureInstances = len(s.AmbiguousFailureIDs)
	s.EmptyPatchInstances = len(s.EmptyPatchIDs)
	s.ErrorInstances = len(s.ErrorIDs)

	h := &s.Harness
	h.Run = runFacts(spec, t, opts)
	h.Tasks = s.TotalInstances
	h.NoResult = max(0, (h.Tasks-len(c.Missing))*max(1, spec.Attempts)-h.Attempts)

	solved := h.Outcomes[eval.Resolved.String()]
	all := h.Attempts - h.Outcomes[eval.Cancelled.String()]
	h.Rates = Rates{
		All:                newRate(solved, all),
		WithoutInfraErrors: newRate(solved, all-h.Outcomes[eval.InfraError.String()]),
		AllTasks:           newRate(len(s.ResolvedIDs), h.Tasks),
		AnyAttempt:         newRate(t.anySolved, t.anyKnown),
	}
	h.Phases = phaseTimes(t.phases)
	if t.calibration != nil {
		h.Calibration = t.calibration.summary(h.Rates.All)
	}
	return *s
}

func runFacts(spec eval.RunSpec, t *tally, opts Options) RunFacts {
	f := RunFacts{
		RunID: spec.RunID, Dataset: spec.Dataset, DatasetDigest: spec.DatasetDigest, Split: spec.Split,
		Candidate: spec.Candidate, Agent: spec.Agent, AgentVersion: spec.AgentVersion, Model: spec.Model,
		Profile: spec.Profile, Runtime: spec.Runtime, Network: string(spec.Network),
		Attempts: spec.Attempts, Rounds: spec.Rounds, Disclosure: spec.Disclosure,
		SpecDigest: opts.specDigest, HarnessVersion: spec.HarnessVersion,
	}
	start, end := spec.CreatedAt, opts.EndedAt
	if start.IsZero() {
		start = t.earliest
	}
	if end.IsZero() {
		end = t.latest
	}
	if !start.IsZero() {
		f.StartedAt = some(start.UTC().Truncate(time.Microsecond))
	}
	if !end.IsZero() {
		f.EndedAt = some(end.UTC().Truncate(time.Microsecond))
	}
	if f.StartedAt != nil && f.EndedAt != nil && !f.EndedAt.Before(*f.StartedAt) {
		f.WallSeconds = some(f.EndedAt.Sub(*f.StartedAt).Seconds())
	}
	return f
}

// phaseOrder is the order in which a trial goes through its phases.
var phaseOrder = []string{
	eval.PhaseQueue, eval.PhasePreprocess, eval.PhaseCreate, eval.PhaseApply, eval.PhaseTests, eval.PhaseCollect, eval.PhaseEvaluate,
}

func phaseTimes(m map[string]*PhaseTime) []PhaseTime {
	place := func(name string) int {
		if i := slices.Index(phaseOrder, name); i >= 0 {
			return i
		}
		return len(phaseOrder)
	}
	out := []PhaseTime{}
	for _, name := range slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b))
	}) {
		out = append(out, *m[name])
	}
	return out
}

func sortedIDs(ids []string) []string {
	out := slices.Sorted(slices.Values(ids))
	if out == nil {
		return []string{}
	}
	return slices.Compact(out)
}

func addTo[T int64 | float64](sum **T, v *T) {
	if v == nil {
		return
	}
	if *sum == nil {
		*sum = new(T)
	}
	**sum += *v
}
