package preprocess

import (
	"bytes"
	"strconv"
)

// stampTab ends a name that a time stamp may follow.
const stampTab = "\t"

func (p *parser) addName(r role, b []byte) {
	end := stampTab
	if r == fromName || r == toName {
		end = ""
	}
	raw, ok := headerName(b, end)
	p.file.names = append(p.file.names, name{raw: raw, line: p.line, role: r})
	if !ok {
		p.problem("bad_quoting", Medium, p.line, "a quoted name is malformed")
	}
}

// readNames reads the two lines that name the file of a plain or context diff.
func (p *parser) readNames() {
	for _, r := range []role{minusName, plusName} {
		line, _ := p.next()
		p.addName(r, line[len("--- "):])
	}
}

// readGitHeader reads the rest of "diff --git" and the lines up to the first that
// is no extended header, and the binary change if there is one.
func (p *parser) readGitHeader(rest []byte) {
	if from, to, ok := splitGitHeader(rest); ok {
		p.file.names = append(p.file.names,
			name{raw: from, line: p.line, role: gitOld}, name{raw: to, line: p.line, role: gitNew})
	} else if raw, ok := headerName(rest, ""); ok {
		// Two names that can't be told apart; other lines may tell.
		p.file.names = append(p.file.names, name{raw: raw, line: p.line, role: gitNew})
		p.problem("names_unclear", Low, p.line, "the two names of the header can't be told apart")
	} else {
		p.file.names = append(p.file.names, name{raw: raw, line: p.line, role: gitNew})
		p.problem("bad_quoting", Medium, p.line, "a quoted name is malformed")
	}
	for !p.starts("@@ -") && !p.starts("diff ") {
		back := p.scanner
		line, ok := p.next()
		if !ok {
			return
		}
		if !p.extendedHeader(line) {
			p.scanner = back
			return
		}
	}
}

// extendedHeader reads one line of a git header and reports whether it was one.
func (p *parser) extendedHeader(line []byte) bool {
	f := p.file
	for i := range headerLines {
		h := &headerLines[i]
		if rest, ok := cut(line, h.prefix); ok {
			h.read(p, f, rest)
			p.headed = true
			return true
		}
	}
	switch text := string(bytes.TrimRight(line, "\r")); {
	case text == "GIT binary patch":
		f.Binary, f.BinaryData = true, true
		p.readBinary()
		return true
	case bytes.HasPrefix(line, []byte("Binary files ")) && bytes.HasSuffix([]byte(text), []byte(" differ")):
		f.Binary = true
		return true
	}
	return false
}

// headerLines are git's extended headers, as documented in git-diff(1), "Generating patch text with -p".
var headerLines = []struct {
	prefix string
	read   func(p *parser, f *File, rest []byte)
}{
	{"--- ", func(p *parser, _ *File, b []byte) { p.addName(minusName, b) }},
	{"+++ ", func(p *parser, _ *File, b []byte) { p.addName(plusName, b) }},
	{"old mode ", func(p *parser, f *File, b []byte) { f.OldMode = p.mode(b) }},
	{"new mode ", func(p *parser, f *File, b []byte) { f.NewMode = p.mode(b) }},
	{"deleted file mode ", func(p *parser, f *File, b []byte) { f.Kind, f.OldMode = Deleted, p.mode(b) }},
	{"new file mode ", func(p *parser, f *File, b []byte) { f.Kind, f.NewMode = Added, p.mode(b) }},
	{"rename from ", func(p *parser, f *File, b []byte) { f.Kind = Renamed; p.addName(fromName, b) }},
	{"rename to ", func(p *parser, f *File, b []byte) { f.Kind = Renamed; p.addName(toName, b) }},
	{"rename old ", func(p *parser, f *File, b []byte) { f.Kind = Renamed; p.addName(fromName, b) }},
	{"rename new ", func(p *parser, f *File, b []byte) { f.Kind = Renamed; p.addName(toName, b) }},
	{"copy from ", func(p *parser, f *File, b []byte) { f.Kind = Copied; p.addName(fromName, b) }},
	{"copy to ", func(p *parser, f *File, b []byte) { f.Kind = Copied; p.addName(toName, b) }},
	{"similarity index ", func(*parser, *File, []byte) {}},
	{"dissimilarity index ", func(*parser, *File, []byte) {}},
	{"index ", func(p *parser, f *File, b []byte) {
		// "index 1234..5678 100644": the mode stands here when it stays the same.
		if _, m, ok := bytes.Cut(bytes.TrimRight(b, " \r"), []byte(" ")); ok {
			f.OldMode = p.mode(m)
			f.NewMode = f.OldMode
		}
	}},
}

func (p *parser) mode(b []byte) uint32 {
	v, err := strconv.ParseUint(string(clipBytes(bytes.TrimRight(b, " \r"), 20)), 8, 32)
	if err != nil {
		p.problem("bad_mode", Medium, p.line, "a file mode is not an octal number")
		return 0
	}
	return uint32(v)
}

func clipBytes(b []byte, n int) []byte { return b[:min(n, len(b))] }

// checkNames tells of headers that disagree: tools then differ in the file they change.
func (p *parser) checkNames(f *File) {
	if f.Format != Git {
		return
	}
	header, _ := f.named(gitNew)
	for _, n := range f.names {
		if n.role == plusName && n.raw != devNull && header != "" && n.path() != header {
			p.problem("inconsistent_names", Medium, n.line, "the +++ line names another file than the diff --git line")
		}
		if old, ok := f.named(gitOld); n.role == minusName && n.raw != devNull && ok && n.path() != old {
			p.problem("inconsistent_names", Medium, n.line, "the --- line names another file than the diff --git line")
		}
	}
}
