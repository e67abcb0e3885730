package grade

import (
	"regexp"
	"strings"
	"unicode"

	"harness/eval"
	"harness/scoring/logparse"
)

// Durations that runners write into test names: "[1.34 ms]" or "(0.2s)" at the
// end, " in 29.08 msec" anywhere.
var (
	reNumber       = reSpace + `*\p{Nd}+(?:\.\p{Nd}+)?` + reSpace + `*`
	timeBrackets   = regexp.MustCompile(`(?i)` + reSpace + `*\[` + reNumber + `(?:ms|s)` + reSpace + `*\]` + reSpace + `*$`)
	timeParens     = regexp.MustCompile(`(?i)` + reSpace + `*\(` + reNumber + `(?:ms|s)` + reSpace + `*\)` + reSpace + `*$`)
	timeInline     = regexp.MustCompile(`(?i)` + reSpace + `+in` + reSpace + `+\p{Nd}+(?:\.\p{Nd}+)?` + reSpace + `+m?sec`)
	timeWordGoesOn = regexp.MustCompile(`^` + reWord)
)

// stripTiming takes durations off a test's name.
func stripTiming(name string) string {
	name = timeBrackets.ReplaceAllString(name, "")
	name = cutInline(name)
	name = timeParens.ReplaceAllString(name, "")
	return strings.TrimFunc(name, pySpace)
}

// cutInline removes the inline form where its unit ends a word.
func cutInline(name string) string {
	var b strings.Builder
	for {
		at := timeInline.FindStringIndex(name)
		if at == nil {
			return b.String() + name
		}
		b.WriteString(name[:at[0]])
		if timeWordGoesOn.MatchString(name[at[1]:]) {
			b.WriteString(name[at[0]:at[1]])
		}
		name = name[at[1]:]
	}
}

// pySpace reports whether Python's strip takes r off a string.
func pySpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// withoutTiming is the map with all names stripped; of names that become equal
// the last one counts. The task's own tests are kept however many there are.
func withoutTiming(m *logparse.StatusMap, t *eval.Task) *logparse.StatusMap {
	out := new(logparse.StatusMap)
	want := make([]string, 0, len(t.FailToPass)+len(t.PassToPass))
	for _, list := range [][]string{t.FailToPass, t.PassToPass} {
		for _, n := range list {
			want = append(want, stripTiming(n))
		}
	}
	out.Want(want)
	for n, s := range m.All() {
		out.Set(stripTiming(n), s)
	}
	return out
}
