package logparse

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
)

// Bounds of the text that formats get which can't be read line by line. Of a
// longer log they get the beginning and the end.
const (
	wholeHead = 6 << 20
	wholeTail = 2 << 20
)

// whole reads the log at once, decoded.
func (in *input) whole() (string, error) {
	var first bytes.Buffer
	n, err := io.CopyN(&first, in.log.r, wholeHead+wholeTail)
	log := first.Bytes()
	if n < wholeHead+wholeTail {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return text(log), err
	}
	// The tail is overwritten, as a ring, by what is still to come.
	tail, at := log[wholeHead:], 0
	for {
		n, err := in.log.r.Read(tail[at:])
		in.cut = in.cut || n > 0
		at = (at + n) % len(tail)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
	}
	ring := make([]byte, 0, len(tail))
	ring = append(append(ring, tail[at:]...), tail[:at]...)
	return text(append(log[:wholeHead], ring...)), nil
}

// eachMatch calls f with every match of a pattern in a text and its groups, one
// at a time: all at once, the matches of a text can take much more than the text.
// The pattern must match the same in a match taken alone.
func eachMatch(p *pyPattern, s string, f func(groups []string)) {
	p.ReplaceAllStringFunc(s, func(match string) string {
		f(p.FindStringSubmatch(match))
		return ""
	})
}

// pyFloat reads what Python's float() reads, but for its rarer spellings.
func pyFloat(s string) (float64, error) {
	s = strings.ToLower(strip(s))
	if strings.ContainsAny(s, "xp") { // Go's hexadecimal floats
		return math.NaN(), strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}
