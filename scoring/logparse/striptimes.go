package logparse

import "strings"

// Times that runners write into test names: "[1.34 ms]" or "(0.2s)" at the end,
// " in 29.08 msec" anywhere.
var (
	timeBrackets   = re(`(?i)\s*\[\s*\d+(?:\.\d+)?\s*(?:ms|s)\s*\]\s*$`)
	timeParens     = re(`(?i)\s*\(\s*\d+(?:\.\d+)?\s*(?:ms|s)\s*\)\s*$`)
	timeInline     = re(`(?i)\s+in\s+\d+(?:\.\d+)?\s+(?:msec|sec)`)
	timeWordGoesOn = re(`^\w`)
)

// StripTimes takes times off a test's name as SWE-rebench V2 does, to names of
// a log and of a row alike, before it compares them.
func StripTimes(name string) string {
	name = timeBrackets.ReplaceAllLiteralString(name, "")
	name = cutInlineTimes(name)
	name = timeParens.ReplaceAllLiteralString(name, "")
	return strip(name)
}

// cutInlineTimes removes the inline form where its unit ends a word.
func cutInlineTimes(name string) string {
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
