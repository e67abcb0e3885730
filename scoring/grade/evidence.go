package grade

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"harness/scoring/logparse"
)

// Character classes of Python's re for str.
const (
	reSpace = `[\t-\r\x1c-\x1f\x{85}\p{Z}]`
	reWord  = `[_\p{L}\p{N}]`
)

// suiteRan matches the summary of a runner that ran at least one test. A zero
// count is no evidence: a runner that lost its browser prints one too.
var suiteRan = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)` + strings.Join([]string{
		`Executed [1-9]\p{Nd}* of \p{Nd}+`,                                             // karma
		`TOTAL: [1-9]\p{Nd}* (?:SUCCESS|FAILED)`,                                       // karma
		`[1-9]\p{Nd}* passing`,                                                         // mocha
		`Tests:` + reSpace + `+[1-9]\p{Nd}*`,                                           // jest
		`Test Suites:` + reSpace + `+(?:\p{Nd}+ ` + reWord + `+, )*[1-9]\p{Nd}* total`, // jest
		`^# tests [1-9]\p{Nd}*`,                                                        // TAP
		`[1-9]\p{Nd}* specs?, \p{Nd}+ failures?`,                                       // jasmine
		`': ok$`,                                                                       // openlayers' rendering tests
	}, "|"))
})

// suiteHints are texts of which every match of suiteRan has one.
var suiteHints = []string{"Executed ", "TOTAL: ", " passing", "Tests:", "Test Suites:", "# tests ", " spec", "': ok"}

// evidence reports whether the log shows that a suite ran.
func evidence(log io.Reader) (bool, error) {
	lines := logparse.NewLineReader(log)
	var open []byte // a summary's beginning whose count may stand on a later line
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		trimmed := bytes.TrimRightFunc(line, unicode.IsSpace)
		if len(trimmed) == 0 || len(open) == 0 && !containsAny(line, suiteHints) {
			continue
		}
		if suiteRan().Match(logparse.Decode(append(open, line...))) {
			return true, nil
		}
		open = nil
		for _, begin := range []string{"Tests:", "Test Suites:"} {
			if bytes.HasSuffix(trimmed, []byte(begin)) {
				open = []byte(begin + "\n")
			}
		}
	}
}

// signature is text in an ungradable log that suggests a broken environment.
type signature struct {
	reason      string
	environment bool // not only hinted at: a patch is unlikely to cause it
	texts       []string
	line        string                // or a whole line
	pattern     func() *regexp.Regexp // or a pattern, whose texts are in texts
}

var timedOut = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Timeout error: \p{Nd}+ seconds exceeded`)
})

// signatures are looked for in order; the first that the log has counts. The
// label is advice for people and never decides an outcome or blame.
var signatures = []signature{
	{reason: "browser_launch_failed", environment: true, texts: []string{"Failed to launch", "Failed to connect to the bus"}},
	{reason: "display_unavailable", environment: true, texts: []string{"cannot open display", "Missing X server", "unable to open X display"}},
	{reason: "out_of_memory", environment: true, texts: []string{"Cannot allocate memory", "OutOfMemoryError"}, line: "Killed"},
	{reason: "container_unavailable", environment: true, texts: []string{"Error response from daemon", "Cannot connect to the Docker daemon"}},
	{reason: "network_unreachable", environment: true, texts: []string{"Could not resolve host", "Temporary failure in name resolution"}},
	{reason: "missing_module", texts: []string{"Cannot find module", "MODULE_NOT_FOUND", "ModuleNotFoundError"}},
	{reason: "no_tests_collected", texts: []string{"no tests ran", "collected 0 items"}},
	{reason: "tests_timed_out", texts: []string{"Timeout error: "}, pattern: timedOut},
}

func (s *signature) matches(line []byte) bool {
	if s.line != "" && string(line) == s.line {
		return true
	}
	return containsAny(line, s.texts) && (s.pattern == nil || s.pattern().Match(line))
}

// infraLabel returns the first signature that the log has, or nil.
func infraLabel(log io.Reader) (*signature, error) {
	lines := logparse.NewLineReader(log)
	best := len(signatures)
	for best > 0 {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i := range best {
			if signatures[i].matches(line) {
				best = i
				break
			}
		}
	}
	if best == len(signatures) {
		return nil, nil
	}
	return &signatures[best], nil
}

func containsAny(line []byte, words []string) bool {
	for _, w := range words {
		if bytes.Contains(line, []byte(w)) {
			return true
		}
	}
	return false
}
