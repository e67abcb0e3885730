package evidence

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// text is b as text of at most limit bytes of the original, with bytes that are no
// UTF-8 as \xNN, and whether something was cut off.
func text(b []byte, limit int) (string, bool) {
	cut := len(b) > limit
	if cut {
		b = b[:limit]
		for i := 1; i < utf8.UTFMax && i <= len(b); i++ { // not through a character
			if c := b[len(b)-i]; utf8.RuneStart(c) {
				if !utf8.FullRune(b[len(b)-i:]) {
					b = b[:len(b)-i]
				}
				break
			}
		}
	}
	if utf8.Valid(b) {
		return string(b), cut
	}
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&s, `\x%02x`, b[0])
		} else {
			s.Write(b[:n])
		}
		b = b[n:]
	}
	return s.String(), cut
}
