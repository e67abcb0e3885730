// Package escape makes text that a candidate wrote (test names, log lines,
// messages, flags) safe to show: on a terminal, in a CI log, in Markdown and in
// HTML.
//
// It owns the rules of showing, nothing of storing: what it returns is for
// eyes, and is not meant to be read back. What would act or hide - control,
// bidirectional and invisible characters, invalid bytes - appears as a visible
// escape, everything else stays as it is.
package escape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terminal returns s as one line that neither a terminal nor a CI system acts
// upon: line breaks and tabs too become \n and \t, a leading "::" and any "##"
// (the openings of CI commands) are broken up.
func Terminal(s string) string {
	return breakCommands(visible(s, false))
}

// TerminalLines is Terminal for text of several lines: \n and tabs are kept,
// and each line is looked at as CI systems do.
func TerminalLines(s string) string {
	lines := strings.Split(visible(s, true), "\n")
	for i, l := range lines {
		lines[i] = breakCommands(l)
	}
	return strings.Join(lines, "\n")
}

// HTML returns s for the text of an element or a quoted attribute, on one line.
func HTML(s string) string {
	return htmlReplacer.Replace(visible(s, false))
}

// Markdown returns s as inline code that is safe anywhere in a line of GitHub or
// GitLab Markdown, table cells included: a code span where s allows one, else a
// <code> element with entities for all that could open a tag, a link, an emphasis
// or a cell. Inside code neither site turns @names, #numbers or addresses into
// references. The source is also safe to print into a CI log.
func Markdown(s string) string {
	s = visible(s, false)
	if s == "" {
		return ""
	}
	if !strings.ContainsAny(s, "`|<>&") && !strings.Contains(s, "##") && s[0] != ' ' && s[len(s)-1] != ' ' {
		return "`" + s + "`"
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString("<code>")
	for i := range len(s) {
		c := s[i]
		// Entities rather than backslashes: they mean the same to every dialect.
		if c < utf8.RuneSelf && !isPlain(c) {
			fmt.Fprintf(&b, "&#%d;", c)
			continue
		}
		b.WriteByte(c)
	}
	b.WriteString("</code>")
	return b.String()
}

// Cut shortens s to at most n runes, "…" included when something was cut off.
// Invalid bytes count as one rune each.
func Cut(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	keep, count := 0, 0
	for i := range s {
		if count == n-1 {
			keep = i
		}
		if count == n {
			return s[:keep] + "…"
		}
		count++
	}
	return s
}

var htmlReplacer = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "`", "&#96;")

func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == ' ' || c == '-' || c == '.' || c == '/' || c == ',' || c == ';' || c == '%' || c == '?'
}

// visible replaces every character that does not show as itself.
func visible(s string, keepLines bool) string {
	i := 0
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !shows(r, n) {
			break
		}
		i += n
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case shows(r, n), keepLines && (r == '\n' || r == '\t'):
			b.WriteString(s[i : i+n])
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// shows reports whether the rune prints as something that can be seen. Letters
// that are drawn as nothing are listed by hand: Unicode has no class for them.
func shows(r rune, size int) bool {
	if r == utf8.RuneError && size <= 1 {
		return false
	}
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return false
	}
	if r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef { // variation selectors
		return false
	}
	return unicode.IsPrint(r)
}

// breakCommands takes the effect from what CI systems read in a line of output:
// "::name::" at its start (GitHub), "##[...]", "##vso[...]" and "##teamcity[...]" anywhere.
func breakCommands(line string) string {
	if rest := strings.TrimLeft(line, " \t"); strings.HasPrefix(rest, "::") {
		line = line[:len(line)-len(rest)] + `\x3a:` + rest[2:]
	}
	if strings.Contains(line, "##") {
		line = strings.ReplaceAll(line, "##", `#\x23`)
	}
	return line
}
