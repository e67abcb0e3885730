package logparse

import (
	"bytes"
)

// parseDjango reads Django's own runner. A result may stand on a later line than
// its test, after whatever the test printed; the rules below follow the official
// parser step by step, since each may change what the next one sees.
func parseDjango(in *input) error {
	p := &django{in: in}
	for i := range p.interrupted {
		p.interrupted[i] = &interruption{shape: &djangoShapes[i]}
		p.interrupted[i].found.wantAs(in.out)
	}
	err := in.eachLine(p.line)
	for _, it := range p.interrupted {
		in.out.merge(&it.found)
	}
	return err
}

type django struct {
	in          *input
	prev        []byte // the text before " ... " of the last line that had one
	hasPrev     bool
	interrupted [len(djangoShapes)]*interruption
	past        pastLines
}

const (
	djangoVersionTest = "--version is equivalent to version"
	djangoMigration   = "Applying sites.0002_alter_domain_unique...test_no_migrations"
)

var (
	djangoSep     = []byte(" ... ")
	djangoSkipped = []byte(" ... skipped")
	djangoOK      = []string{" ... ok", " ... OK", " ...  OK"}
	passedWord    = []byte(Passed)
)

func (p *django) line(raw []byte) error {
	raw = Decode(raw)
	if err := p.result(stripBytes(raw)); err != nil {
		return err
	}
	for _, it := range p.interrupted {
		it.line(raw, &p.past)
	}
	p.past.push(raw)
	return nil
}

func (p *django) result(t []byte) error {
	out := p.in.out
	if bytes.Contains(t, []byte(djangoVersionTest)) {
		out.Set(djangoVersionTest, Passed)
	}
	dots := bytes.Contains(t, []byte(" ... "))
	if dots {
		p.in.place()
		before, _, _ := bytes.Cut(t, djangoSep)
		p.prev, p.hasPrev = append(p.prev[:0], before...), true
	}
	for _, suffix := range djangoOK {
		if !hasSuffix(t, suffix) {
			continue
		}
		if hasPrefix(t, djangoMigration) {
			_, after, _ := bytes.Cut(t, []byte("..."))
			t = stripBytes(after)
		}
		name := t
		if i := bytes.LastIndex(t, []byte(suffix)); i >= 0 {
			name = t[:i]
		}
		out.setBytes(name, passedWord)
		break
	}
	if dots {
		if before, _, ok := bytes.Cut(t, djangoSkipped); ok {
			out.setBytes(before, []byte(Skipped))
		}
	}
	for _, f := range djangoFailures {
		if hasSuffix(t, f.suffix) {
			before, _, _ := bytes.Cut(t, []byte(f.suffix))
			out.setBytes(before, []byte(f.status))
		}
		if hasPrefix(t, f.prefix) {
			_, rest := nextField(t)
			name, _ := nextField(rest)
			if len(name) == 0 {
				return p.in.raise("IndexError", "a line has %q and no test", f.prefix)
			}
			out.setBytes(name, []byte(f.status))
		}
	}
	if p.hasPrev && hasPrefix(t, "ok") {
		out.setBytes(p.prev, passedWord)
	}
	return nil
}

var djangoFailures = []struct{ suffix, prefix, status string }{
	{" ... FAIL", "FAIL:", Failed},
	{" ... ERROR", "ERROR:", Error},
}

// djangoShape is a message that tears a test from its "ok", which then stands
// alone on the line behind the message.
type djangoShape struct {
	word  string     // every message has it
	end   string     // what the line before "ok" ends with
	begin *pyPattern // finds the test's name in the lines up to the message's first
	whole *pyPattern // for messages of one line: up to "ok"
}

// In all of them the name is what stands before the first " ... " of a line;
// either blank may be a line's end.
var djangoShapes = [...]djangoShape{
	{
		word: "Testing against Django installed in ", end: " silenced).",
		begin: re(`(?m)^(.*?)\s\.\.\.\sTesting against Django installed in `),
	},
	{
		word: "Internal Server Error: /", end: "/",
		whole: re(`(?m)^(.*?)\s\.\.\.\sInternal Server Error: /(?:.*)/\nok\z`),
	},
	{
		word: "System check identified no issues (0 silenced)", end: "System check identified no issues (0 silenced)",
		whole: re(`(?m)^(.*?)\s\.\.\.\sSystem check identified no issues \(0 silenced\)\nok\z`),
	},
}

// interruption collects the tests that one shape tore.
type interruption struct {
	shape   *djangoShape
	found   StatusMap
	open    bool   // a message of several lines has begun
	name    string // of its test
	rest    []byte // what follows the words on the message's first line
	inFirst bool   // the line read last is the message's first
	after   int    // lines up to this number belong to a match
}

func (it *interruption) line(raw []byte, past *pastLines) {
	isOK := string(raw) == "ok"
	if it.shape.whole != nil {
		last := past.last()
		if isOK && past.n > it.after && hasSuffix(last, it.shape.end) && bytes.Contains(last, []byte(it.shape.word)) {
			if m := it.shape.whole.FindSubmatch(past.window(it.after, raw)); m != nil {
				it.match(string(m[1]), past)
			}
		}
		return
	}
	if it.open && isOK {
		last := past.last()
		if it.inFirst {
			last = it.rest
		}
		if hasSuffix(last, it.shape.end) {
			it.match(it.name, past)
			it.open = false
			return
		}
	}
	it.inFirst = false
	if !it.open && bytes.Contains(raw, []byte(it.shape.word)) {
		w := past.window(it.after, raw)
		if m := it.shape.begin.FindSubmatchIndex(w); m != nil {
			it.open, it.inFirst = true, true
			it.name = string(w[m[2]:m[3]])
			it.rest = append(it.rest[:0], w[m[1]:]...)
		}
	}
}

func (it *interruption) match(name string, past *pastLines) {
	it.found.Set(name, Passed)
	it.after = past.n + 1
}

// pastLines keeps the last three lines; one that is no message's neighbour by
// its sheer length is kept as an empty one.
type pastLines struct {
	lines [3][]byte
	n     int // lines pushed so far
}

func (p *pastLines) push(line []byte) {
	if len(line) > 8*MaxName {
		line = nil
	}
	slot := &p.lines[p.n%len(p.lines)]
	*slot = append((*slot)[:0], line...)
	p.n++
}

func (p *pastLines) last() []byte {
	if p.n == 0 {
		return nil
	}
	return p.lines[(p.n-1)%len(p.lines)]
}

// window joins the kept lines after line number `after` and the current one.
func (p *pastLines) window(after int, current []byte) []byte {
	var w []byte
	for i := max(after, p.n-len(p.lines), 0); i < p.n; i++ {
		w = append(append(w, p.lines[i%len(p.lines)]...), '\n')
	}
	return append(w, current...)
}
