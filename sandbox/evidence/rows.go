package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"harness/eval"
)

// rowSource is the source of all rows of this package in the events table.
const rowSource = "sandbox"

// Kinds of rows that sum up what isn't one event.
const (
	rowMore       = "more"                // events beyond the rows of their severity
	rowIncomplete = "evidence_incomplete" // Detail says why, Dropped how many the sentry lost
)

// severities, the gravest first. Each has rows of its own, so that a flood of
// harmless events leaves room for the one that matters.
var severities = []string{sevHigh, sevMedium, sevLow, sevInfo}

// rows sums events up for the events table: those of one kind, severity and detail
// are one row, which says how often. Those beyond the limit are counted.
type rows struct {
	perSeverity int
	groups      map[string]*group
}

type group struct {
	list  []row
	index map[rowKey]int
	more  int64
	at    time.Time // of the first without a row
}

type rowKey struct{ kind, detail string }

type row struct {
	rowKey
	at    time.Time
	times int64
}

func newRows(limit int) *rows {
	s := &rows{perSeverity: max(1, limit/len(severities)), groups: map[string]*group{}}
	for _, sev := range severities {
		s.groups[sev] = &group{index: map[rowKey]int{}}
	}
	return s
}

func (s *rows) add(e Event) {
	severity, detail := judge(e)
	if severity == "" {
		return
	}
	g, key := s.groups[severity], rowKey{string(e.Kind), detail}
	if i, ok := g.index[key]; ok {
		g.list[i].times++
		return
	}
	if len(g.list) == s.perSeverity {
		if g.more++; g.more == 1 {
			g.at = e.Time
		}
		return
	}
	g.index[key] = len(g.list)
	g.list = append(g.list, row{key, e.Time, 1})
}

// events are the rows in the order of their times.
func (s *rows) events() []eval.Event {
	var out []eval.Event
	for _, sev := range severities {
		g := s.groups[sev]
		for _, r := range g.list {
			detail := r.detail
			if r.times > 1 {
				detail += fmt.Sprintf(" (%d times)", r.times)
			}
			out = append(out, eval.Event{Time: r.at, Source: rowSource, Kind: r.kind, Severity: sev, Detail: detail})
		}
		if g.more > 0 {
			out = append(out, eval.Event{
				Time: g.at, Source: rowSource, Kind: rowMore, Severity: sev,
				Detail: fmt.Sprintf("%d more events of this severity, in evidence.jsonl.zst as far as it goes", g.more),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b eval.Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Detail, b.Detail))
	})
	return out
}
