// Package filter is the small language of `--filter`: a condition over the
// fields of a task.
//
//	repo == "django/django" && difficulty != "15 min - 1 hour"
//	instance_id ~ "^sympy__" and not (version < "1.5")
//	language in ["go", "rust"] || len(PASS_TO_PASS) > 1000
//
// Text fields: instance_id, repo, version, language, difficulty, log_parser,
// created_at, eval_type. They take == != < <= > >= (byte order, which suits
// created_at), ~ and !~ (RE2 regular expression, found anywhere), in and not in
// (a list). Numbers: len(FAIL_TO_PASS), len(PASS_TO_PASS), len(patch), with
// == != < <= > >=. Conditions join with && || ! or the words and, or, not;
// "not" binds closest, then "and", then "or"; ( ) group. Strings stand in " or ',
// and know the escapes \\ \" \'; any other backslash stands for itself, so that
// regular expressions read as written.
//
// It is a parser of its own, some 300 lines, rather than an expression library:
// the language stays as small as this comment, every error has a position, and
// nothing in a filter can loop, call or allocate without bound.
package filter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"harness/eval"
)

// Filter is a parsed condition. It is safe for concurrent use.
type Filter struct {
	source string
	match  predicate
}

type predicate func(*eval.Task) bool

// Match reports whether the condition holds for t.
func (f *Filter) Match(t *eval.Task) bool { return f.match(t) }

// String returns the condition as it was given.
func (f *Filter) String() string { return f.source }

// Error points at the place in a condition that can't be read.
type Error struct {
	Source string
	Offset int // in bytes, from 0
	Reason string
}

func (e *Error) Error() string {
	return fmt.Sprintf("filter, column %d: %s\n  %s\n  %s^", len([]rune(e.Source[:e.Offset]))+1, e.Reason, e.Source, caretPad(e.Source[:e.Offset]))
}

func caretPad(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, s)
}

var textFields = map[string]func(*eval.Task) string{
	"instance_id": func(t *eval.Task) string { return t.InstanceID },
	"repo":        func(t *eval.Task) string { return t.Repo },
	"version":     func(t *eval.Task) string { return t.Version },
	"language":    func(t *eval.Task) string { return t.Language },
	"difficulty":  func(t *eval.Task) string { return t.Difficulty },
	"log_parser":  func(t *eval.Task) string { return t.LogParser },
	"created_at":  func(t *eval.Task) string { return t.CreatedAt },
	"eval_type":   func(t *eval.Task) string { return t.EvalType },
}

var lengths = map[string]func(*eval.Task) int{
	"FAIL_TO_PASS": func(t *eval.Task) int { return len(t.FailToPass) },
	"PASS_TO_PASS": func(t *eval.Task) int { return len(t.PassToPass) },
	"patch":        func(t *eval.Task) int { return len(t.Patch) },
}

func names[V any](m map[string]V) string {
	var out []string
	for n := range m {
		out = append(out, n)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Bounds on what one condition may hold.
const (
	maxSource = 64 << 10
	maxNest   = 100
)

// Parse reads a condition. Every error is an *Error.
func Parse(source string) (*Filter, error) {
	if len(source) > maxSource {
		return nil, &Error{Source: source[:40] + " ...", Reason: fmt.Sprintf("it is longer than %d bytes", maxSource)}
	}
	toks, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := &parser{source: source, toks: toks}
	m, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokEnd {
		return nil, p.fail(t, "%s is not expected here; join conditions with && or ||", t)
	}
	return &Filter{source: source, match: m}, nil
}

type parser struct {
	source string
	toks   []token
	pos    int
}

func (p *parser) peek() token { return p.toks[p.pos] }

func (p *parser) take() token {
	t := p.toks[p.pos]
	if t.kind != tokEnd {
		p.pos++
	}
	return t
}

func (p *parser) accept(ops ...string) bool {
	if t := p.peek(); t.kind == tokOp && slices.Contains(ops, t.text) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) fail(t token, format string, args ...any) error {
	return &Error{Source: p.source, Offset: t.offset, Reason: fmt.Sprintf(format, args...)}
}

func (p *parser) or(depth int) (predicate, error) {
	return p.chain(depth, p.and, "||", func(a, b predicate) predicate {
		return func(t *eval.Task) bool { return a(t) || b(t) }
	})
}

func (p *parser) and(depth int) (predicate, error) {
	return p.chain(depth, p.unary, "&&", func(a, b predicate) predicate {
		return func(t *eval.Task) bool { return a(t) && b(t) }
	})
}

func (p *parser) chain(depth int, operand func(int) (predicate, error), op string, join func(a, b predicate) predicate) (predicate, error) {
	left, err := operand(depth)
	for err == nil && p.accept(op) {
		var right predicate
		if right, err = operand(depth); err == nil {
			left = join(left, right)
		}
	}
	return left, err
}

func (p *parser) unary(depth int) (predicate, error) {
	if depth > maxNest {
		return nil, p.fail(p.peek(), "it nests deeper than %d levels", maxNest)
	}
	switch {
	case p.accept("!"):
		m, err := p.unary(depth + 1)
		if err != nil {
			return nil, err
		}
		return func(t *eval.Task) bool { return !m(t) }, nil
	case p.accept("("):
		m, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if !p.accept(")") {
			return nil, p.fail(p.peek(), `")" is expected, not %s`, p.peek())
		}
		return m, nil
	}
	return p.comparison()
}

func (p *parser) comparison() (predicate, error) {
	name := p.take()
	if name.kind != tokName {
		return nil, p.fail(name, "a field is expected, not %s; fields are %s", name, names(textFields))
	}
	if name.text == "len" {
		return p.number()
	}
	get := textFields[name.text]
	if get == nil {
		return nil, p.fail(name, "there is no field %s; fields are %s, and len(%s)", name.text, names(textFields), strings.ReplaceAll(names(lengths), ", ", "), len("))
	}
	op := p.take()
	negate := false
	if op.is("!") && p.peek().is("in") {
		negate, op = true, p.take()
	}
	if op.is("in") {
		list, err := p.list()
		if err != nil {
			return nil, err
		}
		return func(t *eval.Task) bool { return slices.Contains(list, get(t)) != negate }, nil
	}
	if op.is("~") || op.is("!~") {
		negate = op.text == "!~"
		lit, err := p.str()
		if err != nil {
			return nil, err
		}
		re, err := regexp.Compile(lit.text)
		if err != nil {
			return nil, p.fail(lit, "the regular expression is not valid: %v", err)
		}
		return func(t *eval.Task) bool { return re.MatchString(get(t)) != negate }, nil
	}
	cmp := comparisons[op.text]
	if op.kind != tokOp || cmp == nil {
		return nil, p.fail(op, "a comparison is expected, not %s; there is == != < <= > >= ~ !~ in", op)
	}
	lit, err := p.str()
	if err != nil {
		return nil, err
	}
	return func(t *eval.Task) bool { return cmp(strings.Compare(get(t), lit.text)) }, nil
}

var comparisons = map[string]func(int) bool{
	"==": func(c int) bool { return c == 0 },
	"!=": func(c int) bool { return c != 0 },
	"<":  func(c int) bool { return c < 0 },
	"<=": func(c int) bool { return c <= 0 },
	">":  func(c int) bool { return c > 0 },
	">=": func(c int) bool { return c >= 0 },
}

func (p *parser) number() (predicate, error) {
	if !p.accept("(") {
		return nil, p.fail(p.peek(), `"(" is expected after len`)
	}
	name := p.take()
	get := lengths[name.text]
	if name.kind != tokName || get == nil {
		return nil, p.fail(name, "len takes one of %s", names(lengths))
	}
	if !p.accept(")") {
		return nil, p.fail(p.peek(), `")" is expected, not %s`, p.peek())
	}
	op := p.take()
	cmp := comparisons[op.text]
	if op.kind != tokOp || cmp == nil {
		return nil, p.fail(op, "a comparison is expected, not %s; there is == != < <= > >=", op)
	}
	n := p.take()
	if n.kind != tokNumber {
		return nil, p.fail(n, "a whole number is expected, not %s", n)
	}
	return func(t *eval.Task) bool { return cmp(get(t) - n.number) }, nil
}

func (p *parser) str() (token, error) {
	t := p.take()
	if t.kind != tokString {
		return t, p.fail(t, "a string in quotes is expected, not %s", t)
	}
	return t, nil
}

func (p *parser) list() ([]string, error) {
	if !p.accept("[") {
		return nil, p.fail(p.peek(), `a list like ["a", "b"] is expected, not %s`, p.peek())
	}
	var out []string
	for {
		lit, err := p.str()
		if err != nil {
			return nil, err
		}
		out = append(out, lit.text)
		if p.accept("]") {
			return out, nil
		}
		if !p.accept(",") {
			return nil, p.fail(p.peek(), `"," or "]" is expected, not %s`, p.peek())
		}
	}
}
