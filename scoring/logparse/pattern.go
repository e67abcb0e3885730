package logparse

import (
	"regexp"
	"strings"
	"sync"
)

// Character classes of Python's re for str, as Go writes them.
const (
	reSpace = `\t-\r\x1c-\x1f\x{85}\p{Z}`
	reDigit = `\p{Nd}`
	reWord  = `_\p{L}\p{N}`
)

// Places where Python's \b holds beside a word; unlike it, they take a character.
const (
	reWordBegin = `(?:^|[^` + reWord + `])`
	reWordEnd   = `(?:$|[^` + reWord + `])`
)

// pyPattern is a regular expression in which \s, \S, \d and \w mean what they mean
// in Python. It is compiled when it is first used: a log needs a few of the
// several hundred, and most commands read no log at all.
type pyPattern struct {
	source string
	once   sync.Once
	re     *regexp.Regexp
}

// re makes a pattern. \s, \S, \d and \w may not stand inside brackets, and what
// is given is a constant, so that a test can see that each of them compiles.
func re(source string) *pyPattern { return &pyPattern{source: source} }

func (p *pyPattern) get() *regexp.Regexp {
	p.once.Do(p.compile)
	return p.re
}

func (p *pyPattern) compile() {
	classes := strings.NewReplacer(
		`\\`, `\\`,
		`\s`, "["+reSpace+"]", `\S`, "[^"+reSpace+"]",
		`\d`, "["+reDigit+"]", `\w`, "["+reWord+"]",
	)
	p.re = regexp.MustCompile(classes.Replace(p.source))
}

// The methods of regexp.Regexp that parsers use.

func (p *pyPattern) Match(b []byte) bool                   { return p.get().Match(b) }
func (p *pyPattern) FindSubmatch(b []byte) [][]byte        { return p.get().FindSubmatch(b) }
func (p *pyPattern) FindSubmatchIndex(b []byte) []int      { return p.get().FindSubmatchIndex(b) }
func (p *pyPattern) ReplaceAllLiteral(b, by []byte) []byte { return p.get().ReplaceAllLiteral(b, by) }

func (p *pyPattern) MatchString(s string) bool            { return p.get().MatchString(s) }
func (p *pyPattern) FindString(s string) string           { return p.get().FindString(s) }
func (p *pyPattern) FindStringIndex(s string) []int       { return p.get().FindStringIndex(s) }
func (p *pyPattern) FindStringSubmatch(s string) []string { return p.get().FindStringSubmatch(s) }
func (p *pyPattern) Split(s string, n int) []string       { return p.get().Split(s, n) }
func (p *pyPattern) SubexpIndex(name string) int          { return p.get().SubexpIndex(name) }

func (p *pyPattern) FindStringSubmatchIndex(s string) []int {
	return p.get().FindStringSubmatchIndex(s)
}

func (p *pyPattern) ReplaceAllLiteralString(s, by string) string {
	return p.get().ReplaceAllLiteralString(s, by)
}

func (p *pyPattern) ReplaceAllStringFunc(s string, by func(string) string) string {
	return p.get().ReplaceAllStringFunc(s, by)
}
