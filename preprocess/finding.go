package preprocess

import (
	"fmt"
	"strconv"
	"time"

	"harness/eval"
)

// Severity grades a finding.
type Severity string

// Severities, as eval.Event spells them.
const (
	Info   Severity = "info"
	Low    Severity = "low"
	Medium Severity = "medium"
	High   Severity = "high"
)

// maxPerRule is how many findings of one rule are kept; the others are counted.
const maxPerRule = 50

// Finding is one thing that the patch does or is.
type Finding struct {
	Rule     string   // a word, e.g. "path_traversal"
	Severity Severity // how much it matters to a reader
	Path     string   // bytes as in the patch, "" when it is about no file
	Line     int      // of the patch, from 1; 0 when it is about the whole
	Detail   string   // one clause for people; safe to print
	Reject   bool     // the patch must not be applied at all
	Dropped  int64    // further findings of the same rule that were not kept
}

// Findings is a list of findings in the order in which they were made.
type Findings []Finding

// Reject reports whether the patch leaves its tree or can't be represented.
func (fs Findings) Reject() bool { return fs.reason() != nil }

func (fs Findings) reason() *Finding {
	for i := range fs {
		if fs[i].Reject {
			return &fs[i]
		}
	}
	return nil
}

// String tells the finding in one line that is safe to print.
func (f Finding) String() string {
	s := f.Rule + ": " + f.Detail
	if f.Path != "" {
		s += " " + quote(f.Path)
	}
	if f.Line > 0 {
		s += fmt.Sprintf(" (line %d)", f.Line)
	}
	return s
}

// Event is the finding as it is kept with a trial.
func (f Finding) Event(at time.Time) eval.Event {
	detail := f.String()[len(f.Rule)+2:]
	return eval.Event{Time: at, Source: "preprocess", Kind: f.Rule, Severity: string(f.Severity), Detail: detail, Dropped: f.Dropped}
}

// Events converts all findings.
func (fs Findings) Events(at time.Time) []eval.Event {
	out := make([]eval.Event, 0, len(fs))
	for _, f := range fs {
		out = append(out, f.Event(at))
	}
	return out
}

// collector keeps a bounded number of findings of each rule.
type collector struct {
	list Findings
	seen map[string]*counter
}

type counter struct{ kept, last int }

// full counts a finding of a rule of which no more are kept.
func (c *collector) full(rule string) bool {
	n := c.seen[rule]
	if n == nil || n.kept < maxPerRule {
		return false
	}
	c.list[n.last].Dropped++
	return true
}

func (c *collector) add(f Finding) {
	if c.full(f.Rule) {
		return
	}
	if c.seen == nil {
		c.seen = map[string]*counter{}
	}
	n := c.seen[f.Rule]
	if n == nil {
		n = &counter{}
		c.seen[f.Rule] = n
	}
	f.Path = clip(f.Path, 300)
	// One name can break a rule in several of its parts: once is enough to say.
	if n.kept > 0 && c.list[n.last] == f {
		return
	}
	n.kept++
	n.last = len(c.list)
	c.list = append(c.list, f)
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}

// quote shows bytes of the patch: printable ASCII as it is, all else escaped.
func quote(s string) string { return strconv.QuoteToASCII(clip(s, 300)) }
