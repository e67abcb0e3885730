package escape_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"harness/internal/escape"
)

func TestCopyEqualsWholeText(t *testing.T) {
	long := strings.Repeat("é\x1b", 80<<10) // longer than a piece, with characters over its edge
	for name, text := range map[string]string{
		"empty":            "",
		"no final newline": "a\nb",
		"commands":         "x\n::set-output name=a::b\n\x1b]8;;http://e/\x07link\n",
		"long line":        long,
		"bad bytes":        "\xff\xfe\n\xc3",
	} {
		t.Run(name, func(t *testing.T) {
			var whole, byByte bytes.Buffer
			if err := escape.Copy(&whole, strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			if err := escape.Copy(&byByte, iotest.OneByteReader(strings.NewReader(text))); err != nil {
				t.Fatal(err)
			}
			want := escape.TerminalLines(text)
			if whole.String() != want || byByte.String() != want {
				t.Errorf("Copy differs from TerminalLines (%d and %d bytes, want %d)", whole.Len(), byByte.Len(), len(want))
			}
		})
	}
}
