package official

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"harness/eval"
)

// counted is what the run report takes from one trial.
type counted struct {
	id          string
	empty       bool
	report      bool // report.json was written
	resolved    bool
	reason      string // why it may be no fault of the patch
	environment bool
}

// tally counts by the official rules: what has no report.json is an error.
type tally struct {
	labels bool // the keys of release 5
	spec   *eval.RunSpec

	submitted, completed, resolved, unresolved, empty, failed []string
	infra, ambiguous                                          []string
	reasons                                                   map[string]string
}

func (t *tally) add(c counted) {
	t.submitted = append(t.submitted, c.id)
	switch {
	case c.empty:
		t.empty = append(t.empty, c.id)
		return
	case !c.report:
		t.failed = append(t.failed, c.id)
	case c.resolved:
		t.resolved = append(t.resolved, c.id)
	default:
		t.unresolved = append(t.unresolved, c.id)
	}
	if c.report {
		t.completed = append(t.completed, c.id)
	}
	if c.resolved || c.reason == "" {
		return
	}
	if t.reasons == nil {
		t.reasons = map[string]string{}
	}
	t.reasons[c.id] = c.reason
	if c.environment {
		t.infra = append(t.infra, c.id)
	} else {
		t.ambiguous = append(t.ambiguous, c.id)
	}
}

// member is one key of an object whose order matters.
type member struct {
	key   string
	value any
}

// encode makes the run report of schema version 2. Release 4 has no keys for
// failures of the environment. The block about containers and images is that of
// a run without Docker: it is not there.
func (t *tally) encode() ([]byte, error) {
	cov := &t.spec.Coverage
	submitted := ids(t.submitted, cov.Unselected)
	incomplete := ids(cov.Missing)
	reasons := t.reasons
	if reasons == nil {
		reasons = map[string]string{}
	}
	five := func(m ...member) []member {
		if !t.labels {
			return nil
		}
		return m
	}
	members := slices.Concat([]member{
		{"total_instances", max(cov.Tasks, len(t.submitted)+len(incomplete))},
		{"submitted_instances", len(submitted)},
		{"completed_instances", len(t.completed)},
		{"resolved_instances", len(t.resolved)},
		{"unresolved_instances", len(t.unresolved)},
	}, five(
		member{"infra_failure_instances", len(t.infra)},
		member{"ambiguous_failure_instances", len(t.ambiguous)},
	), []member{
		{"empty_patch_instances", len(t.empty)},
		{"error_instances", len(t.failed)},
		{"completed_ids", ids(t.completed)},
		{"incomplete_ids", incomplete},
		{"empty_patch_ids", ids(t.empty)},
		{"submitted_ids", submitted},
		{"resolved_ids", ids(t.resolved)},
		{"unresolved_ids", ids(t.unresolved)},
	}, five(
		member{"infra_failure_ids", ids(t.infra)},
		member{"ambiguous_failure_ids", ids(t.ambiguous)},
		member{"failure_reasons", maps.Clone(reasons)},
	), []member{
		{"error_ids", ids(t.failed)},
		{"schema_version", 2},
	})
	return object(members, "    ")
}

// ids is the sorted union of lists; never nil.
func ids(lists ...[]string) []string {
	out := slices.Concat(lists...)
	if out == nil {
		return []string{}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// object encodes members in their order, with a line break at the end.
func object(members []member, indent string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		value, err := pyEncode(m.value, indent, indent)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", m.key, err)
		}
		sep := ","
		if i == 0 {
			sep = ""
		}
		fmt.Fprintf(&b, "%s\n%s%q: %s", sep, indent, m.key, value)
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// runFile is run.json: what the run was graded against. A dataset without splits
// is taken for its "test" split, which is what the official commands take.
func (w *writer) runFile() ([]byte, error) {
	split := w.spec.Split
	if split == "" {
		split = "test"
	}
	return object([]member{
		{"dataset", w.spec.Dataset}, {"split", split}, {"task_repo", nil},
		{"created_at", w.spec.CreatedAt.UTC().Truncate(time.Second).Format("2006-01-02T15:04:05+00:00")},
	}, "  ")
}
