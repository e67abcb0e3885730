package logparse

import (
	"bytes"
	"strings"
)

// zero reports whether a group of digits is the number 0.
func zero(digits string) bool { return strings.Trim(digits, "0") == "" }

// sameNumber compares groups of digits as numbers.
func sameNumber(a, b string) bool {
	return strings.TrimLeft(a, "0") == strings.TrimLeft(b, "0")
}

var (
	mvnFailure = re(`^\[ERROR\]\s+([A-Za-z0-9_$.]+)\.([A-Za-z0-9_$.]+?)(?::\d+)?\b`)
	mvnRunning = re(`^(?:\[INFO\]\s+)?Running\s+([A-Za-z0-9_$.]+)$`)
	mvnSummary = re(`Tests run:\s*(\d+),\s*Failures:\s*(\d+),\s*Errors:\s*(\d+),\s*Skipped:\s*(\d+)`)
)

// parseJavaMvn reads Surefire's lines; what they do not name is taken from JUnit
// XML and from traced calls of one test each. If nothing has a result, classes
// that ran have passed.
func parseJavaMvn(in *input) error {
	var running, traced StatusMap
	traced.wantAs(in.out)
	running.wantAs(in.out)
	var documents testcaseText
	current, call := "", mavenNobody
	err := in.eachLine(func(raw []byte) error {
		if documents.add(in, raw) {
			in.place()
		}
		if containsAny(raw, []string{"-Dtest=", "BUILD "}) {
			s := strip(text(raw))
			if m := mavenName.FindStringSubmatch(s); m != nil {
				in.place()
				call = shorten(m[1])
			}
			if m := mavenResult.FindStringSubmatch(s); m != nil {
				in.place()
				traced.Set(call, mavenWords[m[1]])
			}
		}
		if !bytes.Contains(raw, []byte("[ERROR]")) && !containsAny(raw, []string{"Running", "Tests run:"}) {
			return nil
		}
		return eachPyPiece(raw, func(line string) error {
			line = strip(line)
			if m := mvnRunning.FindStringSubmatch(line); m != nil {
				in.place()
				current = shorten(m[1])
				running.Set(current, Passed)
				return nil
			}
			if m := mvnFailure.FindStringSubmatch(line); m != nil {
				status := Failed
				if strings.Contains(line, "Exception") && !strings.Contains(line, "AssertionError") {
					status = Error
				}
				in.out.Set(m[1]+"."+m[2], status)
				in.out.setDefault(m[1], Failed)
				return nil
			}
			if m := mvnSummary.FindStringSubmatch(line); m != nil {
				class := current
				if i := strings.LastIndex(line, " in "); i >= 0 {
					class = strings.TrimRight(strip(line[i+len(" in "):]), ".:;")
				}
				if class != "" {
					in.out.setDefault(class, surefireStatus(m[2], m[3], m[4]))
				}
				in.place()
				current = ""
			}
			return nil
		})
	})
	documents.each(func(name, status string) { in.out.setDefault(name, status) })
	for name, status := range traced.All() {
		in.out.setDefault(name, status)
	}
	if in.out.Len() == 0 {
		in.out.merge(&running)
	}
	return err
}

// surefireStatus is the result of a class by its counts.
func surefireStatus(failures, errors, skipped string) string {
	switch {
	case !zero(failures) || !zero(errors):
		return Failed
	case !zero(skipped):
		return Skipped
	}
	return Passed
}

var mvnModule = re(`^\[INFO\]\s+(.+?)\s+\.\.+\s+(SUCCESS|FAILURE|SKIPPED)(?:\s|\[|$)`)

// parseJavaMvnV2 reads the results of modules; the first count of tests is the
// result of "__suite__".
func parseJavaMvnV2(in *input) error {
	words := map[string]string{"SUCCESS": Passed, "FAILURE": Failed, "SKIPPED": Skipped}
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		if m := mvnModule.FindStringSubmatch(line); m != nil {
			in.out.Set(m[1], words[m[2]])
			return nil
		}
		if !strings.Contains(line, "Tests run:") {
			return nil
		}
		if m := mvnSummary.FindStringSubmatch(line); m != nil {
			status := Passed
			switch {
			case !zero(m[2]):
				status = Failed
			case !zero(m[3]):
				status = Error
			case sameNumber(m[4], m[1]):
				status = Skipped
			}
			in.out.setDefault("__suite__", status)
		}
		return nil
	})
}

var (
	kotlinRunning = re(`^Running\s+(.+)$`)
	kotlinSummary = re(`^Tests run:\s+(\d+),\s+Failures:\s+(\d+),\s+Errors:\s+(\d+),\s+Skipped:\s+(\d+)`)
)

// parseKotlinJUnit reads Surefire's counts: each belongs to the class that ran last.
func parseKotlinJUnit(in *input) error {
	current := ""
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		if m := kotlinRunning.FindStringSubmatch(line); m != nil {
			in.place()
			current = strings.Clone(m[1])
		} else if m := kotlinSummary.FindStringSubmatch(line); m != nil {
			in.place()
			if current != "" {
				in.out.Set(current, surefireStatus(m[2], m[3], m[4]))
				current = ""
			}
		}
		return nil
	})
}

var rebenchGradleRule = lineRule{
	pattern: re(`^(?P<name>[^>].+?)\s+(?P<status>PASSED|FAILED)(?:\s+\(\d+(?:\.\d+)?s\))?$`),
	need:    []string{"PASSED", "FAILED"},
	words:   gradleStatus,
}

// parseTestcases reads testcase elements wherever they stand, without asking
// for a document around them.
func parseTestcases(in *input) error {
	var documents testcaseText
	err := in.eachLine(func(raw []byte) error {
		if documents.add(in, raw) {
			in.place()
		}
		return nil
	})
	documents.each(func(name, status string) { in.out.Set(name, status) })
	return err
}

// testcaseText collects a log from its first test case on.
type testcaseText struct {
	text strings.Builder
}

// add takes a line and tells whether it is part of an element.
func (d *testcaseText) add(in *input, raw []byte) bool {
	if d.text.Len() == 0 && !bytes.Contains(raw, []byte("<testcase")) {
		return false
	}
	if d.text.Len()+len(raw) > maxDocument {
		in.cut = true
		return true
	}
	d.text.WriteString(text(raw))
	d.text.WriteByte('\n')
	return bytes.IndexByte(raw, '<') >= 0
}

var (
	testcaseTag  = re(`<testcase(?:>|[^>` + reWord + `][^>]*>)`)
	testcaseAttr = re(`(\w+)="([^"]*)"`)
)

func (d *testcaseText) each(f func(name, status string)) {
	const closing, window = "</testcase>", 4096
	log := d.text.String()
	closes := true // a closing tag may still come
	for {
		m := testcaseTag.FindStringIndex(log)
		if m == nil {
			return
		}
		tag := log[m[0]+len("<testcase") : m[1]-1]
		log = log[m[1]:]
		var name, class string
		eachMatch(testcaseAttr, tag, func(a []string) {
			switch a[1] {
			case "name":
				name = a[2]
			case "classname":
				class = a[2]
			}
		})
		if name == "" {
			continue
		}
		content := ""
		if !strings.HasSuffix(strip(tag), "/") {
			n := -1
			if closes {
				n = strings.Index(log, closing)
			}
			if closes = n >= 0; closes {
				content, log = log[:n], log[n+len(closing):]
			} else {
				content = firstRunes(log, window)
			}
		}
		if class != "" {
			name = strip(class + " " + name)
		}
		switch {
		case strings.Contains(content, "<failure"):
			f(name, Failed)
		case strings.Contains(content, "<error"):
			f(name, Error)
		case strings.Contains(content, "<skipped"):
			f(name, Skipped)
		default:
			f(name, Passed)
		}
	}
}

// firstRunes cuts s behind its first n characters.
func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
