package official

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"harness/scoring/logparse"
)

const (
	chunk = 64 << 10
	del   = 0x7f // the first character that Python escapes
)

func newline() io.Reader { return strings.NewReader("\n") }

// copyText copies a log as the official harness decodes one: bytes that are not
// UTF-8 become U+FFFD, since its graders read the file as UTF-8.
func copyText(w io.Writer, r io.Reader) error {
	buf := make([]byte, 0, chunk)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		whole := len(buf)
		if !end {
			whole -= cutOff(buf)
		}
		if _, err := w.Write(logparse.Decode(buf[:whole])); err != nil {
			return err
		}
		if end {
			return nil
		}
		buf = append(buf[:0], buf[whole:]...)
	}
}

// cutOff counts the bytes at the end of b that may be the beginning of a character.
func cutOff(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// pyJSON encodes as Python's json.dumps(v, indent=4) does: ASCII only, no line
// break at the end.
func pyJSON(v any) ([]byte, error) { return pyEncode(v, "", "    ") }

// pyEncode does so for a value inside of others, whose lines start with prefix.
func pyEncode(v any, prefix, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return ascii(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// ascii escapes what is not printable ASCII. In JSON it can only stand inside
// strings, but for line breaks; other control characters are escaped already.
func ascii(in []byte) []byte {
	out := make([]byte, 0, len(in))
	for len(in) > 0 {
		r, n := utf8.DecodeRune(in)
		if r < del {
			out = append(out, in[0])
		} else {
			for _, u := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, u)
			}
		}
		in = in[n:]
	}
	return out
}
