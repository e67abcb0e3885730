package preprocess

import (
	"bytes"
	"math"
)

// maxLink is how much of a symbolic link's target is kept: more than any system takes.
const maxLink = maxPath + 1

// readHunks reads the hunk that comes next.
func (p *parser) readHunks() error {
	if p.file == nil || p.file.Format > Plain {
		if p.index == nil {
			if _, ok := p.next(); ok {
				p.problem("hunk_without_file", Medium, p.line, "a hunk follows no file header")
			}
			return nil
		}
		if err := p.beginFile(Plain, p.index.line); err != nil {
			return err
		}
	}
	line, _ := p.next()
	h, ok := hunkHeader(line)
	if !ok {
		p.problem("hunk_header", Medium, p.line, "a hunk header is malformed")
		return nil
	}
	h.Line = int32(min(p.line, math.MaxInt32))
	p.file.Hunks = append(p.file.Hunks, h)
	p.hunkBody(h)
	return nil
}

// hunkBody reads as many lines as the header promised. Lines are told by their
// first byte only, so text that looks like a header inside a hunk is content, as
// it is for the tools.
func (p *parser) hunkBody(h Hunk) {
	f := p.file
	link := f.NewMode&typeMask == typeSymlink
	oldLeft, newLeft := h.OldLines, h.NewLines
	for oldLeft > 0 || newLeft > 0 {
		if p.pos >= len(p.data) {
			p.problem("hunk_truncated", Medium, int(h.Line), "the patch ends inside a hunk: %d old and %d new lines are missing", oldLeft, newLeft)
			return
		}
		switch p.data[p.pos] {
		case ' ', '\n': // an empty line is context whose space was lost
			oldLeft--
			newLeft--
		case '-':
			oldLeft--
			f.Removed++
		case '+':
			newLeft--
			f.Added++
		case '\\':
		default:
			p.problem("hunk_counts", Medium, p.line+1, "a hunk ends before its header says: %d old and %d new lines are missing", oldLeft, newLeft)
			return
		}
		line, _ := p.next()
		if link && len(line) > 0 && (line[0] == '+' || line[0] == ' ') && len(f.link) < maxLink {
			if len(f.link) > 0 {
				f.link = append(f.link, '\n')
			}
			f.link = append(f.link, clipBytes(line[1:], maxLink)...)
		}
		if oldLeft < 0 || newLeft < 0 {
			p.problem("hunk_counts", Medium, p.line, "a hunk has more lines on one side than its header says")
			return
		}
	}
	for p.starts("\\") {
		p.next()
	}
	p.afterHunk = true
}

// hunkHeader reads "@@ -l[,n] +l[,n] @@".
func hunkHeader(b []byte) (Hunk, bool) {
	h := Hunk{OldLines: 1, NewLines: 1}
	b = b[len("@@ "):]
	ok := true
	side := func(sign byte, start, lines *int32) {
		if !ok || len(b) == 0 || b[0] != sign {
			ok = false
			return
		}
		b = b[1:]
		*start, b, ok = number(b)
		if ok && len(b) > 0 && b[0] == ',' {
			*lines, b, ok = number(b[1:])
		}
	}
	side('-', &h.OldStart, &h.OldLines)
	b = bytes.TrimLeft(b, " ")
	side('+', &h.NewStart, &h.NewLines)
	return h, ok && bytes.HasPrefix(b, []byte(" @@"))
}

// number reads decimal digits. More than an int32 is malformed: no patch of a
// size that is accepted has as many lines.
func number(b []byte) (int32, []byte, bool) {
	var v int64
	i := 0
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		if v = v*10 + int64(b[i]-'0'); v > math.MaxInt32 {
			return 0, b, false
		}
	}
	return int32(v), b[i:], i > 0
}
