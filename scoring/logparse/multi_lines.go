package logparse

import (
	"strings"
)

// surefireCounts: the counts of a class, and its name.
var surefireCounts = re(`Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+), Time elapsed: (?:\d|\.)+ .+? in (.+)`)

// surefireSets reads Surefire's counts of each class.
type surefireSets struct{ prepare func(string) string }

func surefireLines(prepare func(string) string) surefireSets { return surefireSets{prepare} }

func (l surefireSets) parse(in *input) error {
	sets := newTestSets(in)
	err := in.eachPyLine(func(line string) error {
		if l.prepare != nil {
			line = l.prepare(line)
		}
		if !strings.Contains(line, "Tests run: ") {
			return nil
		}
		if m := surefireCounts.FindStringSubmatch(line); m != nil {
			sets.counts(m[5], m[1:5])
		}
		return nil
	})
	if err != nil {
		return err
	}
	return sets.done()
}

// counts takes a class by how many of its tests ran, failed, were errors and
// were skipped. One without tests joins the skipped ones.
func (s *testSets) counts(class string, c []string) {
	switch {
	case !zero(c[1]) || !zero(c[2]):
		s.add(class, inFailed)
	case sameNumber(c[3], c[0]):
		s.add(class, inSkipped)
	case !zero(c[0]):
		s.add(class, inPassed)
	}
}

// letterCode is a terminal's code as dubbo's parser knows it.
var letterCode = re(`\x1B\[[0-?]*[mK]`)

func withoutLetterCodes(line string) string {
	if !strings.Contains(line, "\x1b[") {
		return line
	}
	return letterCode.ReplaceAllLiteralString(line, "")
}

func asItIs(line string) string { return line }

// gradleSets reads Gradle's tasks, which count as tests, and its tests.
func gradleSets(policy setPolicy, cached bool) setLines {
	l := setLines{
		prepare: asItIs,
		need:    []string{">"},
		policy:  policy,
		rules: []setRule{
			{inPassed, re(`^> Task :(\S+)$`)},
			{inPassed, re(`^> Task :(\S+) UP-TO-DATE$`)},
			{inPassed, re(`^(.+ > .+) PASSED$`)},
			{inFailed, re(`^> Task :(\S+) FAILED$`)},
			{inFailed, re(`^(.+ > .+) FAILED$`)},
			{inSkipped, re(`^> Task :(\S+) SKIPPED$`)},
			{inSkipped, re(`^> Task :(\S+) NO-SOURCE$`)},
			{inSkipped, re(`^(.+ > .+) SKIPPED$`)},
		},
	}
	if cached {
		l.rules = append([]setRule{{inPassed, re(`^> Task :(\S+) FROM-CACHE$`)}}, l.rules...)
	}
	if policy == oneSet {
		l.prepare = nil
	}
	return l
}

// goSets reads go test -v, and packages that failed.
func goSets(name func(string) string) setLines {
	return setLines{
		need:   []string{"--- ", "FAIL"},
		policy: oneSet,
		rules: []setRule{
			{inPassed, re(`^--- PASS: (\S+)`)},
			{inFailed, re(`^--- FAIL: (\S+)`)},
			{inFailed, re(`^FAIL:?\s?(.+?)\s`)},
			{inSkipped, re(`^--- SKIP: (\S+)`)},
		},
		name: name,
	}
}

// goParent is the test that a subtest belongs to.
func goParent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return name
}

const ctestFailed = `^\d+/\d+\s*Test\s*#\d+:\s*(.*?)\s*\.+\s*\*+Failed`

// ctestSets reads CTest. Where ends is set, a failure with a time behind it is
// not seen.
func ctestSets(ends bool) setLines {
	failed := re(ctestFailed)
	if ends {
		failed = re(ctestFailed + "$")
	}
	return setLines{
		need: []string{"Test"},
		rules: []setRule{
			{inPassed, re(`^\d+/\d+\s*Test\s*#\d+:\s*(.*?)\s*\.+\s*Passed`)},
			{inFailed, failed},
		},
	}
}

func redisSets(ignores bool) setLines {
	l := setLines{
		need: []string{"]: "},
		rules: []setRule{
			{inPassed, re(`^\[ok\]: (.+?)(?: \(.+\))?$`)},
			{inFailed, re(`^\[err\]: (.+?)(?: \(.+\))?$`)},
			{inFailed, re(`^\[exception\]: (.+?)(?: \(.+\))?$`)},
		},
	}
	if ignores {
		l.rules = append(l.rules, setRule{inSkipped, re(`^\[ignore\]: (.+?)(?: \(.+\))?$`)})
	}
	return l
}

var (
	// "." stands for any character between a name and its result.
	cargoSets = setLines{
		need: []string{"test "},
		rules: []setRule{
			{inPassed, re(`^test (\S+) ... ok`)},
			{inFailed, re(`^test (\S+) ... FAILED`)},
			{inSkipped, re(`^test (\S+) ... ignored`)},
		},
	}
	catch2Sets = setLines{
		prepare: func(line string) string { return strings.ToLower(strip(line)) },
		rules: []setRule{
			{inPassed, re(`^-- performing test (.+) - success$`)},
			{inPassed, re(`^\d+/\d+ test\s+#\d+: (.+) \.+\s+ passed\s+.+$`)},
			{inFailed, re(`^-- performing test (.+) - failed$`)},
			{inFailed, re(`^\d+/\d+ test\s+#\d+: (.+) \.+\*\*\*failed\s+.+$`)},
			{inSkipped, re(`^-- performing test (.+) - skipped$`)},
		},
	}
	automakeSets = setLines{
		need: []string{": "},
		rules: []setRule{
			{inPassed, re(`^PASS: (\S+)$`)},
			{inFailed, re(`^FAIL: (\S+)$`)},
			{inSkipped, re(`^SKIP: (\S+)$`)},
		},
	}
	gtestSets = setLines{
		need: []string{"OK ]", "FAILED", "Passed: "},
		rules: []setRule{
			{inPassed, re(`^\[       OK \] (\S+?)(?: \(.+\))?$`)},
			{inPassed, re(`^\x1b\[0;32m\[       OK \] \x1b\[0m(\S+?)(?: \(.+\))?$`)},
			{inPassed, re(`^\x1b\[92m---- Passed: (\S+?)\x1b\[0m$`)},
			{inFailed, re(`^\[  FAILED  \] (\S+?)(?: \(.+\))?$`)},
			{inFailed, re(`^\x1b\[0;31m\[  FAILED  \] \x1b\[0m(\S+?)(?: \(.+\))?$`)},
			{inFailed, re(`^\x1b\[91m\*\*\*\* FAILED: (\S+?)\x1b\[0m$`)},
		},
	}
	insomniaSets = setLines{
		need: []string{"✓", "PASS", "FAIL"},
		rules: []setRule{
			{inPassed, re(`^✓ (.+?)(?:\s\(\d+\s+tests\))?(?:\s*\(?\d*\.?\d+\s*\w+\)?)?$`)},
			{inPassed, re(`^PASS (.+?)(?:\s\(\d*\.?\d+\s*\w+\))?$`)},
			{inFailed, re(`^FAIL (.+?)(?:\s\(\d*\.?\d+\s*\w+\))?$`)},
		},
	}
	mochaSets = setLines{
		need: []string{"✔", ")"},
		rules: []setRule{
			{inPassed, re(`^✔ (.+?)(?:\s\(\d*\.?\d*\s*\w+\))?$`)},
			{inFailed, re(`^\d+\) (.+?)(?:\s\(\d*\.?\d*\s*\w+\))?$`)},
		},
	}
	vitestSets = setLines{
		need: []string{"✓", "×"},
		rules: []setRule{
			{inPassed, re(`^✓ (.+?)(?:\s*\d*\.?\d+\s*(?:ms|s|m))?$`)},
			{inFailed, re(`^× (.+?)(?:\s*\d*\.?\d+\s*(?:ms|s|m))?$`)},
		},
	}
)

// onceSets is a log whose only test passed if a text occurs in it exactly once.
func onceSets(text string) func(*input) error {
	return func(in *input) error {
		n := 0
		err := in.eachLine(func(line []byte) error {
			if found := strings.Count(string(line), text); found > 0 {
				in.place()
				n += found
			}
			return nil
		})
		if err != nil {
			return err
		}
		status := Failed
		if n == 1 {
			status = Passed
		}
		in.out.Set("all tests", status)
		return nil
	}
}

// jestForms are jest's lines for a file and for a test.
type jestForms struct{ passedFile, passedTest, failedFile, failedTest *pyPattern }

// The name of a file or test with the time behind it.
const (
	jestName    = `(.+?)(?:\s\(\d*\.?\d+\s*\w+\))?$`
	jestAnyFile = `(\S+)(?:\s*\(.+\))?$`
	jestAnyTest = `(.+?)(?:\s+\(.+\))?$`
)

var (
	jestPlain = jestForms{re(`^PASS ` + jestName), re(`^✓ ` + jestName), re(`^FAIL ` + jestName), re(`^✕ ` + jestName)}
	jestAny   = jestForms{re(`^PASS ` + jestAnyFile), re(`^✓ ` + jestAnyTest), re(`^FAIL ` + jestAnyFile), re(`^✕ ` + jestAnyTest)}
)

// jestSets reads files, and tests by the file that stands above them.
type jestSets struct{ forms jestForms }

func (l jestSets) parse(in *input) error {
	sets := newTestSets(in)
	file := ""
	err := in.eachPyLine(func(line string) error {
		line = strip(line)
		if !startsWithAny(line, "PASS ", "FAIL ", "✓ ", "✕ ") {
			return nil
		}
		for _, k := range []struct {
			file, test *pyPattern
			set        testSet
		}{{l.forms.passedFile, l.forms.passedTest, inPassed}, {l.forms.failedFile, l.forms.failedTest, inFailed}} {
			if m := k.file.FindStringSubmatch(line); m != nil {
				file = strings.Clone(m[1])
				sets.add(file, k.set)
			}
			if m := k.test.FindStringSubmatch(line); m != nil {
				if file == "" {
					return in.raise("ValueError", "a test stands above all files")
				}
				sets.add(file+":"+m[1], k.set)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return sets.done()
}
