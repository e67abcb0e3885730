package official

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestCopyText: wherever a log is cut into pieces, the text is that of the whole.
func TestCopyText(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"plain\r\n\x00":            "plain\r\n\x00",
		"é😀":                       "é😀",
		"\xff\xfe|\xc3":            "\uFFFD\uFFFD|\uFFFD",
		"a\xf0\x9f\x98":            "a\uFFFD",
		"\xf0\x9f\x98b\xe2\x82x":   "\uFFFDb\uFFFDx",
		"\xed\xa0\x80":             "\uFFFD\uFFFD\uFFFD",
		strings.Repeat("\x80", 9):  strings.Repeat("\uFFFD", 9),
		strings.Repeat("é", 90000): strings.Repeat("é", 90000),
	} {
		var whole, bytewise bytes.Buffer
		if err := copyText(&whole, strings.NewReader(in)); err != nil {
			t.Fatal(err)
		}
		if err := copyText(&bytewise, iotest.OneByteReader(strings.NewReader(in))); err != nil {
			t.Fatal(err)
		}
		if whole.String() != want || bytewise.String() != want {
			t.Errorf("%.40q became %.40q and, byte by byte, %.40q", in, whole.String(), bytewise.String())
		}
	}
	if err := copyText(&bytes.Buffer{}, iotest.ErrReader(io.ErrNoProgress)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a log that can't be read: %v", err)
	}
}

// TestPythonJSON: as json.dumps writes it.
func TestPythonJSON(t *testing.T) {
	value := "\x7f\u0080\x1f\b\f\u2028é😀/<&>\"\\"
	want := `"\u007f\u0080\u001f\b\f\u2028\u00e9\ud83d\ude00/<&>\"\\"`
	if got, err := pyJSON(value); err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if got, err := object([]member{{"a", []string{value}}, {"b", map[string]int{}}}, "  "); err != nil || string(got) != "{\n  \"a\": [\n    "+want+"\n  ],\n  \"b\": {}\n}\n" {
		t.Errorf("%s, %v", got, err)
	}
}
