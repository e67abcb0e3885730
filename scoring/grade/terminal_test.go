package grade

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// escapes is the pattern by which SWE-bench-Live takes escape sequences off.
var escapes = regexp.MustCompile(`\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])`)

// plain does at once what terminal does in a stream.
func plain(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r != utf8.RuneError || n > 1 {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return strings.ReplaceAll(escapes.ReplaceAllString(b.String(), ""), "\r", "")
}

func TestTerminal(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"a\r\nb\rc", "a\nbc"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"\x1b[1;31mred", "red"},
		{"\x1b[?25l\x1b[2 q.", "."},
		{"\x1bMup\x1b\\", "up"},
		{"\x1b", "\x1b"},
		{"\x1b[12", "\x1b[12"},
		{"\x1b[1\x1b[2Ka", "\x1b[1a"},
		{"\x1b\x1b[2Ka", "\x1ba"},
		{"\x1b[ 1m", "\x1b[ 1m"},
		{"\x1b\r[31m", "\x1b[31m"},
		{"\x1b\xff[31mred", "red"},
		{"\xe2\x82", ""},
		{"\xe2\x82A\xf0\x9f\x98\x80\xed\xa0\x80.", "A😀."},
		{"\uFFFD kept", "\uFFFD kept"},
	} {
		for name, chunk := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "data with EOF": iotest.DataErrReader,
		} {
			got, err := io.ReadAll(newTerminal(chunk(strings.NewReader(tt.in))))
			if err != nil || string(got) != tt.want || plain(tt.in) != tt.want {
				t.Errorf("%q, %s: got %q (at once %q), want %q, error %v", tt.in, name, got, plain(tt.in), tt.want, err)
			}
		}
	}
}

func TestTerminalErrors(t *testing.T) {
	got, err := io.ReadAll(newTerminal(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("abc")))))
	if err == nil || string(got) != "a" {
		t.Errorf("got %q, error %v", got, err)
	}
}

func FuzzTerminal(f *testing.F) {
	f.Add("a\x1b[31mb\r\n\xff\x1b[")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := io.ReadAll(newTerminal(iotest.HalfReader(strings.NewReader(s))))
		if err != nil || string(got) != plain(s) && len(s) < maxEscape {
			t.Errorf("got %q, %v; want %q", got, err, plain(s))
		}
	})
}
