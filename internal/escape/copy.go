package escape

import (
	"errors"
	"io"
	"unicode/utf8"
)

// copyChunk bounds what Copy holds of a line.
const copyChunk = 64 << 10

// Copy is TerminalLines for a stream: it holds at most a piece of one line.
func Copy(w io.Writer, r io.Reader) error {
	buf := make([]byte, 0, copyChunk)
	for {
		had := len(buf) // without a line break, or it would have been shown
		n, err := r.Read(buf[had:cap(buf)])
		buf = buf[:had+n]
		whole := len(buf)
		if err == nil {
			whole = pieces(buf, had)
		}
		if _, werr := io.WriteString(w, TerminalLines(string(buf[:whole]))); werr != nil {
			return werr
		}
		buf = append(buf[:0], buf[whole:]...)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// pieces says how much of b can be shown now: up to its last line break at or
// behind from, or, when b is a full piece of one long line, up to a character that
// is cut off.
func pieces(b []byte, from int) int {
	for i := len(b) - 1; i >= from; i-- {
		if b[i] == '\n' {
			return i + 1
		}
	}
	if len(b) < cap(b) {
		return 0
	}
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - n
			}
			break
		}
	}
	return len(b)
}
