package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"harness/eval"
)

// cleanTrial returns a copy of t in which every text can be stored, every number
// is finite and every list has its fixed order. It refuses what could only be
// a fault of the caller. The lists of tests inside official reports are dropped:
// the tests table has them.
func cleanTrial(run string, t eval.TrialResult) (eval.TrialResult, error) {
	switch {
	case t.RunID != run:
		return t, fmt.Errorf("trial %s belongs to run %q, not to %q: pass only the run's own trials", shortID(t.TrialID), storedText(t.RunID, maxWord), run)
	case t.Attempt < 1 || t.Round < 1:
		return t, fmt.Errorf("trial %s: attempt and round count from 1", shortID(t.TrialID))
	case !t.Outcome.Valid():
		return t, fmt.Errorf("trial %s has no outcome: its record was never finished", shortID(t.TrialID))
	}
	if err := eval.ValidateInstanceID(t.InstanceID); err != nil {
		return t, fmt.Errorf("trial of run %s: %w", run, err)
	}

	t.Repo = storedText(t.Repo, maxWord)
	t.Language = storedText(t.Language, maxWord)
	t.Difficulty = storedText(t.Difficulty, maxWord)
	t.Blame = eval.Blame(storedText(string(t.Blame), maxWord))
	t.Reason = storedText(t.Reason, maxMessage)
	t.ErrorClass = storedText(t.ErrorClass, maxWord)
	t.ErrorMessage = storedText(t.ErrorMessage, maxMessage)

	t.Patch.SHA256 = storedText(t.Patch.SHA256, maxWord)
	t.Patch.ApplyMethod = storedText(t.Patch.ApplyMethod, maxWord)
	t.Patch.TamperFlags = sortedWords(t.Patch.TamperFlags)

	t.Exec.Runtime = storedText(t.Exec.Runtime, maxWord)
	t.Exec.RuntimeVersion = storedText(t.Exec.RuntimeVersion, maxWord)
	t.Exec.ImageDigest = storedText(t.Exec.ImageDigest, maxWord)
	t.Exec.Worker = storedText(t.Exec.Worker, maxWord)
	t.Exec.Network = storedText(t.Exec.Network, maxWord)
	t.Exec.LimitsHit = sortedWords(t.Exec.LimitsHit)

	for _, p := range []**float64{
		&t.Scores.Functional, &t.Scores.Resource, &t.Scores.Security, &t.Scores.Maintainability, &t.Scores.Performance,
		&t.Usage.WallSeconds, &t.Usage.CPUSeconds, &t.Usage.QueueSeconds, &t.Usage.ThrottledSecs, &t.Agent.CostUSD,
	} {
		*p = finite(*p)
	}
	if !isFinite(t.Limits.CPUs) {
		t.Limits.CPUs = 0 // which the tables show as null
	}

	t.Verdicts = cleanEach(t.Verdicts, func(v *eval.Verdict) {
		v.Recipe = storedText(v.Recipe, maxWord)
		v.Rules = storedText(v.Rules, maxWord)
		v.Flags = sortedWords(v.Flags)
		v.Reward = finite(v.Reward)
		if v.Official != nil {
			o := *v.Official
			o.TestsStatus = nil
			o.InfraReason = storedText(o.InfraReason, maxWord)
			v.Official = &o
		}
	})
	for _, v := range t.Verdicts {
		if !v.Outcome.Valid() {
			return t, fmt.Errorf("trial %s: the verdict of rules %q has no outcome", shortID(t.TrialID), v.Rules)
		}
	}
	t.Tests = cleanEach(t.Tests, func(r *eval.TestResult) {
		r.Name = storedText(r.Name, maxName)
		r.Group = storedText(r.Group, maxWord)
		r.Status = storedText(r.Status, maxWord)
		r.RawStatus = storedText(r.RawStatus, maxWord)
		r.Seconds = finite(r.Seconds)
	})
	// Expected tests stand in the order of the dataset. Others were found in the
	// log, where tests that run in parallel report in any order.
	slices.SortStableFunc(t.Tests, func(a, b eval.TestResult) int {
		otherA, otherB := a.Group == eval.GroupOther, b.Group == eval.GroupOther
		switch {
		case otherA && otherB:
			return strings.Compare(a.Name, b.Name)
		case otherA:
			return 1
		case otherB:
			return -1
		}
		return 0
	})
	t.Phases = cleanEach(t.Phases, func(p *eval.Phase) {
		p.Name = storedText(p.Name, maxWord)
		if !isFinite(p.Seconds) {
			p.Seconds = -1 // which is null in the table, like every length below zero
		}
	})
	t.Events = cleanEach(t.Events, func(e *eval.Event) {
		e.Source = storedText(e.Source, maxWord)
		e.Kind = storedText(e.Kind, maxWord)
		e.Severity = storedText(e.Severity, maxWord)
		e.Detail = storedText(e.Detail, maxMessage)
	})
	// Sources watch at the same time, so the order between them is chance.
	slices.SortStableFunc(t.Events, func(a, b eval.Event) int {
		if c := strings.Compare(a.Source, b.Source); c != 0 {
			return c
		}
		return strings.Compare(a.Kind, b.Kind)
	})

	log, ok := t.Artifacts[eval.FileLog]
	t.Artifacts = nil
	if ok {
		log.Key = storedText(log.Key, maxMessage)
		log.SHA256 = storedText(log.SHA256, maxWord)
		t.Artifacts = map[string]eval.Ref{eval.FileLog: log}
	}
	return t, nil
}

// cleanSpec does for the run's input what cleanTrial does for a trial.
func cleanSpec(s eval.RunSpec) eval.RunSpec {
	for _, p := range []*string{
		&s.Dataset, &s.DatasetDigest, &s.Split, &s.Candidate, &s.Agent, &s.AgentVersion, &s.Model,
		&s.Profile, &s.Runtime, &s.Disclosure, &s.HarnessVersion,
	} {
		*p = storedText(*p, maxMessage)
	}
	s.Network = eval.NetworkPolicy(storedText(string(s.Network), maxWord))
	c := &s.Coverage
	for _, p := range []*[]string{&c.Missing, &c.Duplicate, &c.Unknown, &c.Unselected, &c.Empty, &c.Null, &c.Malformed} {
		*p = storedTexts(*p, maxMessage)
		if *p == nil {
			*p = []string{}
		}
	}
	return s
}

func cleanEach[T any](in []T, clean func(*T)) []T {
	out := slices.Clone(in)
	for i := range out {
		clean(&out[i])
	}
	return out
}

func sortedWords(in []string) []string {
	out := storedTexts(in, maxWord)
	slices.Sort(out)
	return slices.Compact(out)
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// finite returns nil for what is not a number: nobody measured an infinity.
func finite(p *float64) *float64 {
	if p == nil || !isFinite(*p) {
		return nil
	}
	return p
}

// shortID names a trial in an error, whatever its parts hold.
func shortID(t eval.TrialID) string {
	return fmt.Sprintf("%s attempt %d round %d", storedText(t.InstanceID, maxWord), t.Attempt, t.Round)
}
