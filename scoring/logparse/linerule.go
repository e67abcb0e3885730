package logparse

import (
	"bytes"
	"strings"
)

// lineRule is a format in which one line, taken alone, tells one test's result.
type lineRule struct {
	// pattern is matched against the line without white space around it, or
	// against the line as it is if raw is set. Its groups "status" and "name" are
	// looked at.
	pattern *pyPattern
	raw     bool
	// need is text that every matching line has; it spares the others the pattern.
	need []string
	// words maps the status group to a status; a word that is not there is no result.
	words map[string]string
	// first: only the first byte of the status group is the word.
	first bool
	// name rewrites the name, given the status word of the log.
	name func(name, word string, d Dialect) string
}

// parse returns the parser of a rule.
func (r lineRule) parse(in *input) error {
	status, name := r.pattern.SubexpIndex("status"), r.pattern.SubexpIndex("name")
	return in.eachLine(func(line []byte) error {
		if !containsAny(line, r.need) {
			return nil
		}
		s := text(line)
		if !r.raw {
			s = strip(s)
		}
		m := r.pattern.FindStringSubmatch(s)
		if m == nil {
			return nil
		}
		word, n := m[status], m[name]
		if r.first {
			word = word[:1]
		}
		if result, ok := r.words[word]; ok {
			if r.name != nil {
				n = r.name(n, word, in.opt.Dialect)
			}
			in.out.Set(n, result)
		}
		return nil
	})
}

func containsAny(line []byte, words []string) bool {
	for _, w := range words {
		if bytes.Contains(line, []byte(w)) {
			return true
		}
	}
	return false
}

func hasAny(line string, words []string) bool {
	for _, w := range words {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// The formats told by single lines. A pattern's "." stops at a line's end only,
// and its classes are Python's.
var (
	gotestRule = lineRule{
		pattern: re(`^--- (?P<status>PASS|FAIL|SKIP): (?P<name>.+) \(.+\)$`),
		need:    []string{"--- "},
		words:   map[string]string{"PASS": Passed, "FAIL": Failed, "SKIP": Skipped},
	}
	tapRule = lineRule{
		pattern: re(`^(?P<status>ok|not ok) \d+ (?P<name>.+)$`),
		need:    []string{"ok "},
		words:   map[string]string{"ok": Passed, "not ok": Failed},
	}
	cargoRule = lineRule{
		pattern: re(`^test\s+(?P<name>\S+)\s+\.\.\.\s+(?P<status>\w+)$`),
		need:    []string{"..."},
		words:   map[string]string{"ok": Passed, "FAILED": Failed},
	}
	antRule = lineRule{
		pattern: re(`^\s*\[junit\]\s+\[(?P<status>PASS|FAIL|ERR)\]\s+(?P<name>.*)$`),
		need:    []string{"[junit]"},
		words:   map[string]string{"PASS": Passed, "FAIL": Failed, "ERR": Failed},
	}
	redisRule = lineRule{
		pattern: re(`^\[(?P<status>ok|err|skip|ignore)\]:\s(?P<name>.+?)(?:\s\(\d+\s*m?s\))?$`),
		need:    []string{"]:"},
		words:   map[string]string{"ok": Passed, "err": Failed, "skip": Skipped, "ignore": Skipped},
		name: func(name, word string, _ Dialect) string {
			if word != "err" {
				return name
			}
			return redisPath.ReplaceAllLiteralString(name, "")
		},
	}
	redisPath = re(`\s+in\s+\S+$`)
	jqRule    = lineRule{
		pattern: re(`^\s*(?P<status>PASS|FAIL):\s(?P<name>.+)$`),
		need:    []string{"PASS:", "FAIL:"},
		words:   map[string]string{"PASS": Passed, "FAIL": Failed},
	}
	micropythonRule = lineRule{
		pattern: re(`^(?P<status>pass|FAIL|skip)\s+(?P<name>.+)$`),
		need:    []string{"pass", "FAIL", "skip"},
		words:   map[string]string{"pass": Passed, "FAIL": Failed, "skip": Skipped},
	}
	googletestRule = lineRule{
		pattern: re(`^.*\[\s*(?P<status>OK|FAILED)\s*\]\s(?P<name>.*)\s\(.*\)$`),
		need:    []string{"OK", "FAILED"},
		words:   map[string]string{"OK": Passed, "FAILED": Failed},
	}
	minitestRule = lineRule{
		pattern: re(`^(?P<name>.+)\. .*=.*(?P<status>\.|F|E).*$`),
		need:    []string{". "},
		words:   map[string]string{".": Passed, "F": Failed, "E": Failed},
	}
	cucumberRule = lineRule{
		pattern: re(`^(?P<name>.*) \.+(?P<status>\.|F)`),
		need:    []string{" ."},
		words:   map[string]string{".": Passed, "F": Failed},
	}
	rubyUnitRule = lineRule{
		// "\b" of Go is ASCII only, hence the spelled-out end of a letter's word.
		pattern: re(`^\s*(?:test: )?(?P<name>.+):\s+(?P<status>\.|[EFO](?:$|[^` + reWord + `]))`),
		need:    []string{":"},
		first:   true,
		words:   map[string]string{".": Passed, "E": Failed, "F": Failed, "O": Skipped},
	}
	rspecRule = lineRule{
		pattern: re(`^(?P<name>.+) - (?P<status>passed|failed)`),
		need:    []string{" - passed", " - failed"},
		words:   map[string]string{"passed": Passed, "failed": Failed},
	}
	jestRule = lineRule{
		pattern: re(`^\s*(?P<status>✓|✕|○)\s(?P<name>.+?)(?:\s\(\d+\s*m?s\))?$`),
		need:    []string{"✓", "✕", "○"},
		words:   map[string]string{"✓": Passed, "✕": Failed, "○": Skipped},
		name: func(name, _ string, d Dialect) string {
			if !d.StripNames {
				return name
			}
			return strip(name)
		},
	}
	jestJSONRule = lineRule{
		pattern: re(`^\[(?P<status>PASSED|FAILED)\]\s(?P<name>.+)$`),
		need:    []string{"[PASSED]", "[FAILED]"},
		words:   map[string]string{"PASSED": Passed, "FAILED": Failed},
	}
	vitestRule = lineRule{
		pattern: re(`^\s*(?P<status>✓|×|↓)\s(?P<name>.+?)(?:\s(?:\d+\s*m?s?|\[skipped\]))?$`),
		need:    []string{"✓", "×", "↓"},
		words:   map[string]string{"✓": Passed, "×": Failed, "↓": Skipped},
	}
	markedRule = lineRule{
		pattern: re(`^(?P<status>)\d+\)\s(?P<name>.*)`),
		raw:     true,
		need:    []string{")"},
		words:   map[string]string{"": Failed},
		name:    func(name, _ string, _ Dialect) string { return strip(name) },
	}
	// shellRule is ours: the result lines of Automake's test protocol.
	shellRule = lineRule{
		pattern: re(`^(?P<status>PASS|FAIL|SKIP|ERROR|XFAIL|XPASS): (?P<name>.+)$`),
		need:    []string{": "},
		words: map[string]string{
			"PASS": Passed, "FAIL": Failed, "SKIP": Skipped, "ERROR": Error, "XFAIL": XFail, "XPASS": Failed,
		},
	}
)
