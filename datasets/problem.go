package datasets

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is one thing that is wrong with a row.
type Problem struct {
	File       string `json:"file"`
	Line       int    `json:"line,omitempty"` // from 1; 0 where the format has no lines
	Row        int    `json:"row,omitempty"`  // from 1; 0 when it concerns the whole file
	InstanceID string `json:"instance_id,omitempty"`
	Field      string `json:"field,omitempty"`
	Reason     string `json:"reason"`
	Fix        string `json:"fix,omitempty"` // what to do
	Warning    bool   `json:"warning,omitempty"`
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(quoteName(p.File))
	switch {
	case p.Line > 0:
		fmt.Fprintf(&b, ":%d", p.Line)
	case p.Row > 0:
		fmt.Fprintf(&b, ": row %d", p.Row)
	}
	b.WriteString(": ")
	if p.InstanceID != "" {
		b.WriteString(quoteID(p.InstanceID) + ": ")
	}
	if p.Field != "" {
		fmt.Fprintf(&b, "field %s: ", p.Field)
	}
	b.WriteString(p.Reason)
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return b.String()
}

// Error makes a Problem usable as an error.
func (p Problem) Error() string { return p.String() }

// LoadError holds every problem that kept a dataset from loading.
type LoadError struct {
	File     string
	Rows     int       // rows read, good and bad
	Problems []Problem // never empty, no warnings
	More     int       // problems beyond those kept
}

const shownProblems = 20

func (e *LoadError) Error() string {
	var b strings.Builder
	n := len(e.Problems) + e.More
	fmt.Fprintf(&b, "load dataset %s: %s in %d rows", e.File, plural(n, "problem"), e.Rows)
	for i, p := range e.Problems {
		if i == shownProblems {
			break
		}
		b.WriteString("\n  " + p.String())
	}
	if n > shownProblems {
		fmt.Fprintf(&b, "\n  and %d more; `harness dataset validate` lists them", n-shownProblems)
	}
	return b.String()
}

// Unwrap gives errors.As each problem.
func (e *LoadError) Unwrap() []error {
	out := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		out[i] = p
	}
	return out
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// quote shortens text of a row for a message.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "..."
	}
	return strconv.Quote(s)
}

// quoteName leaves names of files as they are, unless they could be taken for
// more than one line.
func quoteName(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return strconv.Quote(s)
	}
	return s
}

// quoteID leaves ordinary ids as they are: whole, without quotes.
func quoteID(s string) string {
	if len(s) <= 200 && strconv.Quote(s) == `"`+s+`"` {
		return s
	}
	return quote(s)
}
