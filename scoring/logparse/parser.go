package logparse

import (
	"errors"
	"fmt"
	"io"
)

// Dialect holds what differs between the releases of the official harness whose
// parsers have the same name. Each field says what true means.
type Dialect struct {
	Name string
	// SkipCounts: "SKIPPED [3] file:line" is a count, not a test (5.0).
	SkipCounts bool
	// WholeNames: parse_log_pytest_v2 takes all words of a line but the status as
	// the name; before 5.0 it took a single word.
	WholeNames bool
	// QueueNames: parse_log_maven pairs names and results first in, first out,
	// and parse_log_gradle_custom accepts a status on a line of its own (5.0).
	QueueNames bool
	// StripNames: parse_log_jest takes white space off a name (5.0).
	StripNames bool
	// CutSummary: parse_log_sympy takes a "[OK]" or "[FAIL]" off a line's end (2.x).
	CutSummary bool
	// ShortLinesRaise: parse_log_seaborn fails on a status without a name (before 5.0).
	ShortLinesRaise bool
	// ShortV2LinesRaise: parse_log_pytest_v2 does (SWE-rebench).
	ShortV2LinesRaise bool
	// NoXFail: XFAIL is no status (SWE-rebench).
	NoXFail bool
	// GoesOn: what stops an official parser with an exception is passed over (ours).
	GoesOn bool
}

// The dialects that the grading profiles use. V5 is that of our own parsers as
// well; Ours is V5 without its exceptions.
var (
	V5 = Dialect{Name: "5.0.2", SkipCounts: true, WholeNames: true, QueueNames: true, StripNames: true}
	V4 = Dialect{Name: "4.1.0", ShortLinesRaise: true}
	V2 = Dialect{Name: "2.1.7", CutSummary: true, ShortLinesRaise: true}

	Ours = Dialect{Name: "5.0.2", SkipCounts: true, WholeNames: true, QueueNames: true, StripNames: true, GoesOn: true}
)

// Options are what a parser may look at besides the log.
type Options struct {
	Dialect    Dialect
	InstanceID string // two formats choose by pull-request number
	Version    string // two formats choose by version
	// Want are tests that are kept however many names the log has.
	Want [][]string
}

// RaisedError reports a log on which the official parser stops with a Python
// exception, so that the official harness writes no report.
type RaisedError struct {
	Parser string
	Kind   string // the exception's class, e.g. "IndexError"
	Detail string
}

func (e *RaisedError) Error() string {
	return fmt.Sprintf("parse log with %s: the official parser raises %s: %s", e.Parser, e.Kind, e.Detail)
}

// Parser reads one log format.
type Parser struct {
	Name string
	// Doc is one line for people: what writes such a log.
	Doc string
	run func(*input) error
}

// input is what a parser works on.
type input struct {
	name string
	log  *LineReader
	opt  Options
	out  *StatusMap
	cut  bool // a parser that needs the whole text got less

	coverage *Coverage
	placed   bool // the line at hand means something, though it is no result
}

// Result is what a parser found.
type Result struct {
	Tests *StatusMap
	// LongLines counts lines of which only head and tail were read.
	LongLines int
	// Cut is set when a parser that needs the whole text at once got only the
	// beginning and the end of it.
	Cut bool
	// Coverage is nil where a format is not read by line.
	Coverage *Coverage
}

// Parse reads r to its end or to where the format ends. An error is a
// *RaisedError or what r returned; the result is valid in both cases and holds
// what was found before.
func (p Parser) Parse(r io.Reader, opt Options) (Result, error) {
	in := &input{name: p.Name, log: NewLineReader(r), opt: opt, out: new(StatusMap)}
	if len(opt.Want) > 0 {
		in.out.Want(opt.Want...)
	}
	err := p.run(in)
	if err != nil && !errors.As(err, new(*RaisedError)) {
		err = fmt.Errorf("parse log with %s: %w", p.Name, err)
	}
	return Result{Tests: in.out, LongLines: in.log.Long(), Cut: in.cut, Coverage: in.coverage}, err
}

// raise stops the parser as the official one stops, or is nil in a dialect that
// goes on: the line or document at hand gives no result then.
func (in *input) raise(kind, format string, args ...any) error {
	if in.opt.Dialect.GoesOn {
		return nil
	}
	return &RaisedError{Parser: in.name, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// errStop ends eachLine without an error.
var errStop = errors.New("stop")
