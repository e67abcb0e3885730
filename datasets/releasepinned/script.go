package releasepinned

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// evalScript writes the bash file that runs a task's tests in its image: the
// steps of the official scripts, without conda, and with HEAD as the base: the
// image has one commit, the release.
func (r *Row) evalScript() (string, error) {
	files, err := touchedFiles(r.TestPatch)
	if err != nil {
		return "", fmt.Errorf("%s: test_patch: %w", r.InstanceID, err)
	}
	test, err := r.testCommand()
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.InstanceID, err)
	}
	reset := files.reset()
	patch := r.TestPatch
	if !strings.HasSuffix(patch, "\n") {
		patch += "\n"
	}
	eof := delimiter(patch)
	lines := []string{
		"#!/bin/bash",
		"set -uxo pipefail",
		"cd /testbed",
		"git config --global --add safe.directory /testbed",
		"git status",
		// The one commit adds the whole release: its diff would be the log.
		"git show --no-patch",
		"git -c core.fileMode=false diff HEAD",
	}
	lines = append(lines, reset...)
	lines = append(lines,
		"git apply -v - <<'"+eof+"'",
		patch+eof,
		": '>>>>> Start Test Output'",
		test,
		": '>>>>> End Test Output'",
	)
	return strings.Join(append(lines, reset...), "\n") + "\n", nil
}

// delimiter ends the here-document: no line of the patch is equal to it.
func delimiter(patch string) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", n, patch))
		eof := "EOF_" + hex.EncodeToString(sum[:8])
		if !strings.Contains(patch, eof) {
			return eof
		}
	}
}

// touched are the files of a test patch.
type touched struct{ changed, added []string }

func (t touched) reset() []string {
	var out []string
	if len(t.changed) > 0 {
		out = append(out, "git checkout HEAD "+strings.Join(t.changed, " "))
	}
	if len(t.added) > 0 {
		out = append(out, "rm -f "+strings.Join(t.added, " "))
	}
	return out
}

var (
	diffLine = regexp.MustCompile(`^diff --git a/(\S+) b/(\S+)$`)
	plain    = regexp.MustCompile(`^[A-Za-z0-9_+@][A-Za-z0-9._+@/-]*$`)
)

// touchedFiles reads the headers of a test patch. The names become words of a
// shell script, so only plain ones are accepted.
func touchedFiles(patch string) (touched, error) {
	var t touched
	var last string
	added := false
	flush := func() {
		switch {
		case last == "":
		case added:
			t.added = append(t.added, last)
		default:
			t.changed = append(t.changed, last)
		}
		last, added = "", false
	}
	for line := range strings.SplitSeq(patch, "\n") {
		if strings.HasPrefix(line, "new file mode ") {
			added = true
		}
		if !strings.HasPrefix(line, "diff --git ") {
			continue
		}
		flush()
		m := diffLine.FindStringSubmatch(line)
		if m == nil {
			return t, fmt.Errorf("%.200q is not a header that is understood", line)
		}
		for _, name := range m[1:] {
			if !plain.MatchString(name) || strings.Contains(name, "..") {
				return t, fmt.Errorf("file name %.200q is not plain", name)
			}
		}
		if m[1] != m[2] {
			t.changed = append(t.changed, m[1])
			added = true
		}
		last = m[2]
	}
	flush()
	if len(t.changed)+len(t.added) == 0 {
		return t, fmt.Errorf("it touches no file")
	}
	return t, nil
}

var word = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)

// testCommand is the test line of the script. The row describes one of three
// runners; anything else is refused rather than guessed.
func (r *Row) testCommand() (string, error) {
	cmd := r.Release.TestCmd
	args, err := r.testArgs()
	if err != nil {
		return "", err
	}
	switch {
	case strings.Contains(cmd, "sympy.test("):
		// The release has no bin/test; this is the runner that it calls.
		return `SYMPY_USE_CACHE=no python -c "import sympy, sys; sys.exit(not sympy.test(` + "'" + strings.Join(args, "', '") + "'" + `, verbose=True, subprocess=False))"`, nil
	case strings.Contains(cmd, "runtests.py"):
		return "python ./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 " + strings.Join(args, " "), nil
	case strings.HasPrefix(cmd, "python -m pytest "):
		return "python -m pytest -rA -p no:cacheprovider " + strings.Join(args, " "), nil
	}
	return "", fmt.Errorf("release.test_cmd %.200q is of no known runner (sympy.test, runtests.py, pytest)", cmd)
}

// testArgs are words, separated by blanks or written as a Python list.
func (r *Row) testArgs() ([]string, error) {
	text := strings.TrimSpace(r.Release.TestArgs)
	var args []string
	if list, ok := strings.CutPrefix(text, "["); ok {
		for item := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ",") {
			args = append(args, strings.Trim(strings.TrimSpace(item), `'"`))
		}
	} else {
		args = strings.Fields(text)
	}
	for _, a := range args {
		if !word.MatchString(a) {
			return nil, fmt.Errorf("release.test_args: %.200q is not a plain name", a)
		}
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("release.test_args is empty")
	}
	return args, nil
}
