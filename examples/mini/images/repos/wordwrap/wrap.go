// Package wordwrap breaks text into lines of bounded width.
package wordwrap

import "strings"

// Wrap breaks text at blanks so that no line is wider than width columns. A
// word that is wider gets a line of its own. Line breaks of the text are kept,
// and so is the indentation of each line: continuation lines repeat it.
func Wrap(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = wrapLine(line, width)
	}
	return strings.Join(lines, "\n")
}

func wrapLine(line string, width int) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(line) {
		switch {
		case i == 0:
			out.WriteString(indent)
			column = len(indent)
		case column+len(word) > width:
			out.WriteString("\n")
			column = 0
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}
