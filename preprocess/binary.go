package preprocess

import (
	"bytes"
	"strconv"
)

// readBinary reads the one or two blocks that follow "GIT binary patch": a line
// "literal N" or "delta N", base-85 lines whose first letter is their length, an
// empty line. Nothing is decoded or inflated here.
func (p *parser) readBinary() {
	blocks := 0
	for p.starts("literal ") || p.starts("delta ") {
		line, _ := p.next()
		_, size, _ := bytes.Cut(bytes.TrimRight(line, "\r"), []byte(" "))
		if _, err := strconv.ParseUint(string(clipBytes(size, 24)), 10, 63); err != nil {
			p.problem("binary_malformed", Medium, p.line, "the size of a binary change is not a number")
		}
		if !p.binaryLines() {
			return
		}
		blocks++
	}
	if blocks == 0 {
		p.problem("binary_malformed", Medium, p.line, "a binary change has no data")
	}
}

func (p *parser) binaryLines() bool {
	for {
		back := p.scanner
		line, ok := p.next()
		if !ok {
			p.problem("binary_malformed", Medium, back.line, "the patch ends inside a binary change")
			return false
		}
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 {
			return true
		}
		n := 0
		switch c := line[0]; {
		case c >= 'A' && c <= 'Z':
			n = int(c-'A') + 1
		case c >= 'a' && c <= 'z':
			n = int(c-'a') + 27
		}
		if n == 0 || len(line)-1 != (n+3)/4*5 {
			p.problem("binary_malformed", Medium, p.line, "a line of a binary change has the wrong length")
			p.scanner = back // it may be the header of the next file
			return false
		}
	}
}
