package releasepinned

import (
	"slices"
	"strings"
	"testing"
)

const testPatch = `diff --git a/tests/test_a.py b/tests/test_a.py
--- a/tests/test_a.py
+++ b/tests/test_a.py
@@ -1 +1,2 @@
 x
+diff --git a/no b/header
diff --git a/tests/new.py b/tests/new.py
new file mode 100644
--- /dev/null
+++ b/tests/new.py
@@ -0,0 +1 @@
+EOF_114329324912
`

func row(cmd, args string) *Row {
	return &Row{InstanceID: "x__x-1", TestPatch: testPatch, Release: Release{TestCmd: cmd, TestArgs: args}}
}

func TestEvalScript(t *testing.T) {
	got, err := row("python -m pytest -rA -p no:cacheprovider FILES", "tests/test_a.py tests/new.py").evalScript()
	if err != nil {
		t.Fatal(err)
	}
	eof := delimiter(testPatch)
	want := `#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
git status
git show --no-patch
git -c core.fileMode=false diff HEAD
git checkout HEAD tests/test_a.py
rm -f tests/new.py
git apply -v - <<'` + eof + `'
` + testPatch + eof + `
: '>>>>> Start Test Output'
python -m pytest -rA -p no:cacheprovider tests/test_a.py tests/new.py
: '>>>>> End Test Output'
git checkout HEAD tests/test_a.py
rm -f tests/new.py
`
	if got != want {
		t.Errorf("script:\n%s\nwant:\n%s", got, want)
	}
}

func TestTestCommand(t *testing.T) {
	for name, tc := range map[string]struct{ cmd, args, want, err string }{
		"django": {"cd tests && ./runtests.py --verbosity 2 LABELS", "a.tests b.tests", "python ./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 a.tests b.tests", ""},
		"sympy": {`python -c "import sympy,sys; sys.exit(not sympy.test(FILES...))"`, "['sympy/a.py', 'sympy/b.py']",
			`SYMPY_USE_CACHE=no python -c "import sympy, sys; sys.exit(not sympy.test('sympy/a.py', 'sympy/b.py', verbose=True, subprocess=False))"`, ""},
		"unknown runner": {"tox -e py", "a", "", "no known runner"},
		"shell in args":  {"python -m pytest FILES", "a.py;id", "", "not a plain name"},
		"flag in args":   {"python -m pytest FILES", "--pdb", "", "not a plain name"},
		"no args":        {"python -m pytest FILES", " ", "", "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := row(tc.cmd, tc.args).testCommand()
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("= %q, %v\nwant %q, %q", got, err, tc.want, tc.err)
			}
		})
	}
}

func TestTouchedFiles(t *testing.T) {
	for name, tc := range map[string]struct {
		patch          string
		changed, added []string
		bad            bool
	}{
		"rename":    {"diff --git a/x.py b/y.py\nsimilarity index 100%\nrename from x.py\nrename to y.py\n", []string{"x.py"}, []string{"y.py"}, false},
		"quoted":    {"diff --git \"a/x\\n.py\" \"b/x\\n.py\"\n", nil, nil, true},
		"substitut": {"diff --git a/$(id) b/$(id)\n", nil, nil, true},
		"parent":    {"diff --git a/../x b/../x\n", nil, nil, true},
		"flag":      {"diff --git a/-x b/-x\n", nil, nil, true},
		"empty":     {"", nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := touchedFiles(tc.patch)
			if (err != nil) != tc.bad || err == nil && (!slices.Equal(got.changed, tc.changed) || !slices.Equal(got.added, tc.added)) {
				t.Errorf("= %+v, %v", got, err)
			}
		})
	}
}

func TestDelimiterIsNotInThePatch(t *testing.T) {
	first := delimiter("x\n")
	if second := delimiter("x\n" + first + "\n"); second == first {
		t.Error("the delimiter is a line of the patch")
	}
}
