package escape_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"harness/internal/escape"
)

func TestTerminal(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "tests/test_a.py::test_b[é-漢]", "tests/test_a.py::test_b[é-漢]"},
		{"empty", "", ""},
		{"colour", "a\x1b[31mred", `a\x1b[31mred`},
		{"title", "\x1b]0;owned\x07", `\x1b]0;owned\x07`},
		{"c1", "\u009b31m", `\u009b31m`},
		{"lines", "a\r\nb\tc\x00", `a\r\nb\tc\x00`},
		{"delete", "\x7f", `\x7f`},
		{"bidi", "a\u202eb\u2066c", `a\u202eb\u2066c`},
		{"zero width", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"invisible letters", "\u3164\u2800", `\u3164\u2800`},
		{"tag characters", "x\U000e0041", `x\U000e0041`},
		{"line separators", "a\u2028b\u0085", `a\u2028b\u0085`},
		{"invalid bytes", "a\xff\xe2b", `a\xff\xe2b`},
		{"real replacement character", "a\ufffd", "a\ufffd"},
		{"ci command", "::set-output name=x::y", `\x3a:set-output name=x::y`},
		{"ci command, indented", "  ::error::y", `  \x3a:error::y`},
		{"azure", "x ##vso[task.complete]", `x #\x23vso[task.complete]`},
		{"triple", "###[group]", `#\x23#[group]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := escape.Terminal(c.in); got != c.want {
				t.Errorf("Terminal(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestTerminalLinesKeepsLines(t *testing.T) {
	got := escape.TerminalLines("a\tb\n::error::x\r\nc\x1b[0m\n")
	want := "a\tb\n\\x3a:error::x\\r\nc\\x1b[0m\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMarkdownAndHTML(t *testing.T) {
	in := "<script>|`**@me** [a](http://x) #1 & \u202e\n\"'"
	for name, got := range map[string]string{"markdown": escape.Markdown(in), "html": escape.HTML(in)} {
		body := strings.TrimSuffix(strings.TrimPrefix(got, "<code>"), "</code>")
		if strings.ContainsAny(body, "<>`\"'\n") || strings.Contains(body, "\u202e") {
			t.Errorf("%s: %q has something that acts", name, got)
		}
		if name == "markdown" && strings.ContainsAny(body, "|*@[]()_:!") {
			t.Errorf("markdown: %q has something that acts", got)
		}
	}
	for in, want := range map[string]string{
		"":                 "",
		"test_a.py::b[@x]": "`test_a.py::b[@x]`",
		"a|b_c":            "<code>a&#124;b&#95;c</code>",
		"a`b":              "<code>a&#96;b</code>",
		" a":               "<code> a</code>",
		"##vso[x]":         "<code>&#35;&#35;vso&#91;x&#93;</code>",
		"a\nb":             "`a\\nb`",
	} {
		if got := escape.Markdown(in); got != want {
			t.Errorf("Markdown(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"漢字漢字", 3, "漢字…"}, {"漢字漢", 3, "漢字漢"}, {"", 0, ""}, {"a", 0, ""}, {"ab", 1, "…"}, {"\xff\xff\xff", 2, "\xff…"},
	} {
		if got := escape.Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\xff\u202e::##<b>|")
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{escape.Terminal(s), escape.HTML(s), escape.Markdown(s), escape.TerminalLines(s)} {
			if !utf8.ValidString(got) {
				t.Fatalf("%q gives invalid UTF-8 %q", s, got)
			}
			for _, r := range got {
				if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
					t.Fatalf("%q gives %q with %U", s, got, r)
				}
			}
		}
		if strings.Contains(escape.Terminal(s), "##") {
			t.Fatalf("%q keeps ##", s)
		}
	})
}
