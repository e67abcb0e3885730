package logparse

import (
	"strings"
	"unicode/utf8"
)

// Formats of which only the failures are read; a test that they do not name
// counts as passed.

// ansiCode is an escape sequence of a terminal.
var ansiCode = re(`\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])`)

var chartFailed = re(`(?m)Chrome\s[\p{Nd}.]+` + inlineSpace + `\(.+?\)` + inlineSpace + `(.*)FAILED$`)

// inlineSpace is white space within a line.
const inlineSpace = `[\t\v\f\x1c-\x1f\x{85}\p{Z}]`

// parseChartJS reads karma's dots reporter. The name keeps the blank before "FAILED".
func parseChartJS(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	log = ansiCode.ReplaceAllLiteralString(log, "")
	eachMatch(chartFailed, log, func(m []string) { in.out.Set(m[1], Failed) })
	return nil
}

// bpmnFailed: of each pattern, the last group is the name.
var bpmnFailed = []*pyPattern{
	re(`2KPhantomJS\s[\p{Nd}.]+\s\(Linux\s[\p{Nd}.]+\)\s(.*)FAILED\n`),
	re(`2KPhantomJS\s[\p{Nd}.]+\s\(Linux\sx86_64\)\s(.*)FAILED\n`),
	re(`Chrome\sHeadless\s(?:.*)\s\(Linux\sx86_64\)\s(.*)FAILED\n`),
	re(`HeadlessChrome\s[\p{Nd}.]+\s\(Linux\s[\p{Nd}.]+\)\s(.*)FAILED\n`),
}

func parseBpmnJS(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	for _, p := range bpmnFailed {
		eachMatch(p, log, func(m []string) { in.out.Set(m[1], Failed) })
	}
	return nil
}

var openlayersFailed = []*pyPattern{
	re(`Chrome\sHeadless\s[\p{Nd}.]+\s\(Linux\s\S+\)\s(.*)\sFAILED\n`),
	re(`Chrome\s[\p{Nd}.]+\s\(Linux\s\S+\)\s(.*)FAILED\n`),
	re(`(?m)^\s{2}\d+\)((?s:.*?))Error:`),
	re(`(?m)^case\s(.*):\smismatch`),
}

func parseOpenlayers(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	for _, p := range openlayersFailed {
		eachMatch(p, log, func(m []string) { in.out.Set(collapse(m[1]), Failed) })
	}
	return nil
}

var (
	eslintFailed = re(`\s{2}\d+\)((?s:.*?))\s+(?:.*)Error`)
	spaces       = re(`\s+`)
)

// collapse makes every run of white space one blank.
func collapse(s string) string { return strip(spaces.ReplaceAllLiteralString(s, " ")) }

func parseESLint(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	eachMatch(eslintFailed, log, func(m []string) { in.out.Set(collapse(m[1]), Failed) })
	return nil
}

// parseP5JS reads mocha's failure list: "1) suite", then deeper and deeper
// indented names up to a colon. JSON and XML that tests print is taken out first.
func parseP5JS(in *input) error {
	log, err := in.whole()
	if err != nil {
		return err
	}
	log = ansiCode.ReplaceAllLiteralString(log, "")
	log = dropXML(dropJSON(log))
	end := 0    // of the last match
	colon := -1 // the first one at or behind the line looked at
	for at := 0; at < len(log); {
		line, _, _ := strings.Cut(log[at:], "\n")
		start := at
		at += len(line) + 1
		if start < end {
			continue
		}
		after := p5Number.FindStringIndex(line)
		if after == nil {
			continue
		}
		body := start + after[1]
		if colon < body {
			if colon = strings.IndexByte(log[body:], ':'); colon < 0 {
				break
			}
			colon += body
		}
		n := colon - body
		if n > 1000*utf8.UTFMax || utf8.RuneCountInString(log[body:colon]) > 1000 {
			continue
		}
		end = body + n + 1
		if names, ok := deepening(log[body : body+n]); ok {
			in.out.Set(strings.Join(names, ":"), Failed)
		}
	}
	return nil
}

var p5Number = re(`^\s*\d+\)`)

// deepening splits a failure's lines, each of which must be indented more than
// the one before.
func deepening(s string) ([]string, bool) {
	last := 0
	var names []string
	for line := range strings.SplitSeq(s, "\n") {
		n := indent(line)
		if n <= last {
			return nil, false
		}
		last = n
		names = append(names, strip(line))
	}
	return names, true
}

// dropJSON removes lines from one that ends in "{" or "[" to one that is only
// the closing bracket, and lines that are a whole value.
func dropJSON(log string) string {
	var out strings.Builder
	out.Grow(len(log))
	object, list, first := false, false, true
	for line := range strings.SplitSeq(log, "\n") {
		t := rstrip(line)
		switch {
		case strings.HasSuffix(t, "{"):
			object = true
			continue
		case strings.HasSuffix(t, "["):
			list = true
			continue
		case t == "}" && object:
			object = false
			continue
		case t == "]" && list:
			list = false
			continue
		case object || list,
			strings.HasPrefix(t, "{") && strings.HasSuffix(t, "}"),
			strings.HasPrefix(t, "[") && strings.HasSuffix(t, "]"):
			continue
		}
		if !first {
			out.WriteByte('\n')
		}
		first = false
		out.WriteString(line)
	}
	return out.String()
}

// dropXML removes "<a> ... </a>" until there is none. Taking one out may make
// two halves of a tag meet, so it is done again, a few times.
func dropXML(log string) string {
	for range 8 {
		next := dropXMLOnce(log)
		if len(next) == len(log) {
			break
		}
		log = next
	}
	return log
}

// dropXMLOnce goes through the text once. An element that holds opening tags of
// its own name leaves these behind, to be closed by what follows.
func dropXMLOnce(log string) string {
	closings := lastClosings(log)
	var out strings.Builder
	pos := 0
	for pos < len(log) {
		i := strings.IndexByte(log[pos:], '<')
		if i < 0 {
			break
		}
		open := pos + i
		n := tagName(log[open+1:])
		name := log[open+1 : open+1+n]
		from := open + n + 2
		if n == 0 || from > len(log) || log[from-1] != '>' || closings[name] < from {
			out.WriteString(log[pos : open+1])
			pos = open + 1
			continue
		}
		out.WriteString(log[pos:open])
		pos = from
		tag, closing := "<"+name+">", "</"+name+">"
		for left := 1; left > 0; {
			end := strings.Index(log[pos:], closing)
			if end < 0 {
				out.WriteString(strings.Repeat(tag, left))
				break
			}
			left += strings.Count(log[pos:pos+end], tag) - 1
			pos += end + len(closing)
		}
	}
	out.WriteString(log[pos:])
	return out.String()
}

// lastClosings maps a tag's name to where its last closing tag starts.
func lastClosings(log string) map[string]int {
	last := make(map[string]int)
	for pos := 0; ; {
		i := strings.Index(log[pos:], "</")
		if i < 0 {
			return last
		}
		at := pos + i
		n := tagName(log[at+2:])
		if end := at + 2 + n; n > 0 && end < len(log) && log[end] == '>' {
			last[log[at+2:end]] = at
		}
		pos = at + 2
	}
}

// tagName is the length of the word that s starts with.
func tagName(s string) int {
	for i, r := range s {
		if !isWord(r) {
			return i
		}
	}
	return len(s)
}

var wordRune = re(`^\w$`)

func isWord(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	return wordRune.MatchString(string(r))
}
