package preprocess

import (
	"bytes"
	"fmt"
)

// Parse reads a patch: git and plain unified diffs in full, of context and
// combined diffs the names. Text before, between and after them is skipped, as
// the tools do that apply patches. What is malformed becomes a finding in
// Problems and reading goes on; the only error is ErrTooManyFiles.
func Parse(patch []byte) (*Diff, error) {
	p := &parser{scanner: scanner{data: patch}, diff: &Diff{}}
	if bytes.HasPrefix(patch, []byte("\xef\xbb\xbf")) {
		p.problem("byte_order_mark", Low, 1, "the patch starts with a byte order mark, which hides its first line from the tools")
	}
	err := p.run()
	if len(p.diff.Files) == 0 && len(patch) > 0 && err == nil {
		p.problem("no_diff", Medium, 0, "no diff was found in the text")
	}
	p.diff.Problems = p.found.list
	return p.diff, err
}

type parser struct {
	scanner
	diff   *Diff
	found  collector
	file   *File // the one being read, nil between files
	index  *name // an Index: line that no header has followed yet
	headed bool  // the current file's git header has more than its first line
	// afterHunk is set once a hunk ended, until something else than trailing text follows.
	afterHunk bool
}

func (p *parser) problem(rule string, sev Severity, line int, format string, args ...any) {
	if p.found.full(rule) {
		return // saves the text
	}
	f := Finding{Rule: rule, Severity: sev, Line: line, Detail: fmt.Sprintf(format, args...)}
	if p.file != nil {
		if n := len(p.file.names); n > 0 {
			f.Path = p.file.names[n-1].path()
		}
	}
	p.found.add(f)
}

// run reads line by line; each kind of header has its own method, which leaves
// the scanner behind what it understood.
func (p *parser) run() error {
	defer p.endFile()
	for {
		if p.startsPlain() {
			if err := p.beginFile(Plain, p.line+1); err != nil {
				return err
			}
			p.readNames()
			continue
		}
		if p.ahead("*** ", "--- ", "***************") {
			if err := p.beginFile(Context, p.line+1); err != nil {
				return err
			}
			p.readNames()
			p.unread("context_diff", "the patch has a context diff; its lines are not counted")
			continue
		}
		if p.starts("@@ -") {
			if err := p.readHunks(); err != nil {
				return err
			}
			continue
		}
		line, ok := p.next()
		if !ok {
			return nil
		}
		if rest, ok := cut(line, "diff --git "); ok {
			if err := p.beginFile(Git, p.line); err != nil {
				return err
			}
			p.readGitHeader(rest)
			continue
		}
		rest, cc := cut(line, "diff --cc ")
		if !cc {
			rest, cc = cut(line, "diff --combined ")
		}
		if cc {
			if err := p.beginFile(Combined, p.line); err != nil {
				return err
			}
			p.addName(indexName, rest)
			p.unread("combined_diff", "the patch has a combined diff of a merge, which no tool applies")
			continue
		}
		p.text(line)
	}
}

// startsPlain: a unified header without a git header before it. The third line
// must be a hunk; otherwise it is text that looks like one.
func (p *parser) startsPlain() bool {
	return p.starts("--- ") && p.ahead("--- ", "+++ ", "@@ -")
}

// text is a line that belongs to no diff.
func (p *parser) text(line []byte) {
	if rest, ok := cut(line, "Index: "); ok {
		p.endFile()
		raw, _ := headerName(rest, stampTab)
		p.index = &name{raw: raw, line: p.line, role: indexName}
		return
	}
	// "-- " and a version end a patch that git format-patch made.
	if p.afterHunk && len(bytes.TrimSpace(line)) > 0 && string(bytes.TrimRight(line, " \r")) != "--" {
		p.problem("trailing_text", Info, p.line, "text follows a hunk; the tools skip it")
	}
	p.afterHunk = false
}

func (p *parser) beginFile(format Format, line int) error {
	p.endFile()
	if len(p.diff.Files) == MaxFiles {
		return ErrTooManyFiles
	}
	p.headed = false
	p.diff.Files = append(p.diff.Files, File{Format: format, Line: line})
	p.file = &p.diff.Files[len(p.diff.Files)-1]
	if p.index != nil {
		p.file.names = append(p.file.names, *p.index)
		p.index = nil
	}
	return nil
}

func (p *parser) endFile() {
	p.afterHunk = false
	if p.file == nil {
		return
	}
	if f := p.file; f.Format == Git && !p.headed && !f.Binary && len(f.Hunks) == 0 {
		p.problem("header_alone", Low, f.Line, "a git header has nothing behind it")
	}
	p.file.settle()
	p.checkNames(p.file)
	p.file = nil
}

// unread notes that the current file's content is not understood.
func (p *parser) unread(rule, detail string) {
	p.problem(rule, Medium, p.line, "%s", detail)
	p.diff.Uncounted = true
}

// cut is bytes.CutPrefix for a string.
func cut(b []byte, prefix string) ([]byte, bool) { return bytes.CutPrefix(b, []byte(prefix)) }
