package reports

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Caps of stored text, in bytes. Longer text keeps its head and says how long it was.
const (
	maxWord    = 256  // statuses, kinds, flags
	maxName    = 4096 // test names
	maxMessage = 4096 // messages, details
)

// bytesMark opens stored text that was not valid UTF-8. Valid text is stored as
// it is, backslashes included, because pytest writes \x escapes into test names
// and such names must still equal those of the dataset; the mark tells the two apart.
const bytesMark = "bytes:"

// storedText returns s as Parquet and JSON can hold it: valid UTF-8 of at most
// limit bytes plus a short mark. Text that had invalid bytes reads "bytes:"
// followed by the text with \xNN for each of them and \\ for a backslash
// (OriginalText takes it back). Cut text ends in "…[cut, N bytes, sha256 H]", so
// that two long names with the same head stay different.
func storedText(s string, limit int) string {
	head := s
	valid := utf8.ValidString(s)
	if len(s) > limit {
		head = s[:limit]
		if valid {
			for !utf8.ValidString(head) {
				head = head[:len(head)-1]
			}
		}
	}
	out := head
	if !valid || strings.HasPrefix(s, bytesMark) {
		out = bytesMark + escapeBytes(head)
	}
	if len(head) < len(s) {
		sum := sha256.Sum256([]byte(s))
		out += fmt.Sprintf("…[cut, %d bytes, sha256 %s]", len(s), hex.EncodeToString(sum[:8]))
	}
	return out
}

// OriginalText is the inverse of how the tables store text: it returns the
// bytes that a stored value stands for. A value that was cut comes back cut.
func OriginalText(stored string) string {
	rest, marked := strings.CutPrefix(stored, bytesMark)
	if !marked {
		return stored
	}
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		if rest[i] == '\\' && i+1 < len(rest) {
			if rest[i+1] == '\\' {
				b.WriteByte('\\')
				i++
				continue
			}
			if i+3 < len(rest) && rest[i+1] == 'x' {
				if v, err := hex.DecodeString(rest[i+2 : i+4]); err == nil {
					b.WriteByte(v[0])
					i += 3
					continue
				}
			}
		}
		b.WriteByte(rest[i])
	}
	return b.String()
}

func escapeBytes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func storedTexts(in []string, limit int) []string {
	if in == nil {
		return nil
	}
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = storedText(s, limit)
	}
	return out
}
