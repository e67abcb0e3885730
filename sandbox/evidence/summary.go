package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"harness/eval"
)

// Summary is what one sandbox's evidence came to.
type Summary struct {
	Connected bool  `json:"connected"` // the sentry came and spoke the protocol
	Ended     bool  `json:"ended"`     // it closed its end; else it was cut off
	Messages  int64 `json:"messages"`
	Bytes     int64 `json:"bytes"`

	Counts map[Kind]int64 `json:"counts"` // events seen, also those that the file lacks

	Dropped   int64            `json:"dropped"`             // messages that the sentry dropped, as it counts them
	Unwritten int64            `json:"unwritten"`           // events seen that the file lacks
	Malformed map[string]int64 `json:"malformed,omitempty"` // messages by what is wrong with them
	Refused   int64            `json:"refused,omitempty"`   // connections beside the first
	Limit     string           `json:"limit,omitempty"`     // what reading ended with, when a limit did it
	Paused    int64            `json:"paused,omitempty"`    // times that reading waited because of the rate

	// Complete is true when nothing is known to be missing; Gaps says what is.
	Complete bool     `json:"complete"`
	Gaps     []string `json:"gaps,omitempty"`

	rows *rows
	last time.Time // of the last event
}

// judge fills Complete and Gaps from the rest.
func (s *Summary) judge() {
	s.Gaps = nil
	gap := func(is bool, format string, args ...any) {
		if is {
			s.Gaps = append(s.Gaps, fmt.Sprintf(format, args...))
		}
	}
	gap(!s.Connected, "the sandbox's kernel never connected")
	gap(s.Connected && !s.Ended, "cut off before the sandbox's kernel ended")
	gap(s.Dropped > 0, "%d events dropped by the sandbox's kernel", s.Dropped)
	for _, why := range slices.Sorted(maps.Keys(s.Malformed)) {
		gap(true, "%d malformed messages: %s", s.Malformed[why], why)
	}
	gap(s.Limit != "", "no more was read: %s", s.Limit)
	gap(s.Unwritten > 0, "%d events were counted but not written", s.Unwritten)
	s.Complete = len(s.Gaps) == 0
}

// Events are rows for the events table, in the order of their times and bounded in
// number. The last says what is missing, when something is; its time is the last
// one known. A Summary that Read gave has no other row than that.
func (s Summary) Events() []eval.Event {
	var out []eval.Event
	if s.rows != nil {
		out = s.rows.events()
	}
	if s.Complete {
		return out
	}
	return append(out, eval.Event{
		Time: s.last, Source: rowSource, Kind: rowIncomplete, Severity: sevMedium,
		Detail: "evidence is incomplete: " + strings.Join(s.Gaps, "; "), Dropped: s.Dropped,
	})
}
