package trial

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/eval"
	"harness/scoring/grade"
)

func tool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("needs %s: %v", name, err)
	}
}

// tree is a work tree with two commits; the second changed one line of a.txt.
type tree struct {
	t   *testing.T
	dir string
}

const (
	baseText   = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"
	secondText = "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"
)

func newTree(t *testing.T, name string) *tree {
	t.Helper()
	tool(t, "git")
	w := &tree{t, filepath.Join(t.TempDir(), name)}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.git("init", "-q")
	w.write("a.txt", baseText)
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "base")
	w.write("a.txt", secondText)
	w.git("commit", "-q", "-a", "-m", "second")
	return w
}

func (w *tree) git(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (w *tree) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *tree) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// apply runs the script as a sandbox would, with the patch at a path of its own.
func (w *tree) apply(rec eval.Recipe, patch string) (code int, out string) {
	w.t.Helper()
	dir := w.t.TempDir()
	patchFile, scriptFile := filepath.Join(dir, "patch.diff"), filepath.Join(dir, "apply.sh")
	script := strings.ReplaceAll(string(applyScript(rec, w.dir)), eval.PatchFile, patchFile)
	for name, text := range map[string]string{patchFile: patch, scriptFile: script} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(w.t.Context(), "/bin/sh", scriptFile)
	cmd.Dir = "/"
	data, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(data)
}

func recipe(t *testing.T, name string) eval.Recipe {
	t.Helper()
	p, err := grade.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return p.Recipe
}

// diff returns the patch from one text of a.txt to another, made in a tree of its own.
func diff(t *testing.T, from, to string, args ...string) string {
	t.Helper()
	w := newTree(t, "diff")
	w.write("a.txt", from)
	w.git("commit", "-q", "-a", "--allow-empty", "-m", "from")
	w.write("a.txt", to)
	return w.git(append([]string{"diff"}, args...)...)
}

func TestApplyScript(t *testing.T) {
	tool(t, "patch")
	swap := func(s, from, to string) string { return strings.Replace(s, from, to, 1) }
	// stale changes line 2 of the text before "second": its context is not what is there.
	stale := diff(t, baseText, swap(baseText, "two", "TWO"), "--full-index")
	for _, c := range []struct {
		name, recipe, patch string
		code                int
		method              string
		want                string // of a.txt
	}{
		{name: "as it is", recipe: "swebench", patch: diff(t, secondText, swap(secondText, "nine", "NINE")),
			code: 100, method: "git-apply", want: swap(secondText, "nine", "NINE")},
		{name: "three-way", recipe: "swebench", patch: diff(t, baseText, swap(baseText, "three", "THREE"), "--full-index"),
			code: 101, method: "git-apply-3way", want: swap(secondText, "three", "THREE")},
		{name: "fuzzy", recipe: "swebench", patch: dropIndex(diff(t, baseText, swap(baseText, "four", "FOUR"))),
			code: 103, method: "patch", want: swap(secondText, "four", "FOUR")},
		{name: "fuzzy by the older recipe", recipe: "swebench-4", patch: dropIndex(diff(t, baseText, swap(baseText, "four", "FOUR"))),
			code: 102, method: "patch", want: swap(secondText, "four", "FOUR")},
		{name: "there already", recipe: "swebench", patch: dropIndex(diff(t, baseText, secondText)),
			code: 90, method: ApplyReversed, want: secondText},
		// Without --forward, patch takes it back: so does the official harness of that release.
		{name: "there already by the older recipe", recipe: "swebench-4", patch: dropIndex(diff(t, baseText, secondText)),
			code: 102, method: "patch", want: baseText},
		{name: "conflict", recipe: "swebench", patch: swap(stale, "-two", "-zwei"), code: 1, want: secondText},
		{name: "conflict, three-way alone", recipe: "rebench", patch: swap(stale, "-two", "-zwei"), code: 1, want: secondText},
		{name: "three-way alone", recipe: "rebench", patch: diff(t, baseText, swap(baseText, "three", "THREE"), "--full-index"),
			code: 100, method: "git-apply-3way", want: swap(secondText, "three", "THREE")},
		{name: "nothing but as it is", recipe: "multi-swe-bench", patch: diff(t, baseText, swap(baseText, "three", "THREE"), "--full-index"), code: 1, want: secondText},
		// What fitted stays: the tests run on it.
		{name: "in part", recipe: "live", patch: diff(t, baseText, swap(swap(baseText, "two", "TWO"), "ten", "TEN"), "-U1"),
			code: 100, method: "git-apply-reject", want: swap(secondText, "ten", "TEN")},
		{name: "not at all, and the tests run", recipe: "live", patch: "hello\n", code: 100, method: "git-apply-reject", want: secondText},
		{name: "not a patch", recipe: "swebench", patch: "hello\n", code: 1, want: secondText},
		{name: "other file", recipe: "swebench", patch: strings.ReplaceAll(stale, "a.txt", "b.txt"), code: 1, want: secondText},
		{name: "out of the tree", recipe: "swebench", code: 1, want: secondText,
			patch: "--- /dev/null\n+++ b/../escaped.txt\n@@ -0,0 +1 @@\n+x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTree(t, "repo")
			rec := recipe(t, c.recipe)
			code, out := w.apply(rec, c.patch)
			method, ok := applyMethod(rec, code)
			if code != c.code || method != c.method || ok != (c.code != 1) {
				t.Fatalf("exit %d, method %q (%v); want %d, %q\n%s", code, method, ok, c.code, c.method, out)
			}
			if got := w.read("a.txt"); c.want != "" && got != c.want {
				t.Errorf("a.txt is\n%s\nwant\n%s\n%s", got, c.want, out)
			}
			if _, err := os.Stat(filepath.Join(w.dir, "..", "escaped.txt")); err == nil {
				t.Error("the patch wrote outside of the tree")
			}
		})
	}
}

func dropIndex(patch string) string {
	lines := strings.SplitAfter(patch, "\n")
	kept := lines[:0]
	for _, l := range lines {
		if !strings.HasPrefix(l, "index ") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "")
}

func TestApplyScriptReset(t *testing.T) {
	// The first way spoils the tree and fails; the second works on a clean one only.
	rec := eval.Recipe{Apply: []eval.ApplyStep{
		{Name: "spoil", Command: []string{"sh", "-c", "echo spoilt > a.txt; echo new > new.txt; exit 7"}},
		{Name: "clean", Command: []string{"sh", "-c", "git diff --quiet && test ! -e new.txt"}},
	}}
	for _, reset := range []bool{true, false} {
		rec.ResetBetween = reset
		want := 101
		if !reset {
			want = 1
		}
		if code, out := newTree(t, "repo").apply(rec, ""); code != want {
			t.Errorf("reset between %v: exit %d, want %d\n%s", reset, code, want, out)
		}
	}
}

func TestApplyScriptQuotes(t *testing.T) {
	const word = `it's "a" $(touch pwned) ` + "`touch pwned`" + ` \ ; & | *`
	w := newTree(t, "it's $(touch pwned) a; dir")
	rec := eval.Recipe{Apply: []eval.ApplyStep{{Name: "echo", Command: []string{"printf", "%s|", word, eval.PatchFile}}}}
	code, out := w.apply(rec, "")
	if code != 100 || !strings.Contains(out, word+"|") {
		t.Errorf("exit %d, output %q; want 100 and the word as it is", code, out)
	}
	for _, dir := range []string{"/", w.dir} {
		if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
			t.Errorf("the shell ran what a word says, in %s", dir)
		}
	}
}

func TestApplyScriptNoTree(t *testing.T) {
	w := newTree(t, "repo")
	w.dir = filepath.Join(w.dir, "none")
	if code, out := w.apply(recipe(t, "swebench"), ""); code != exitNotApplied {
		t.Errorf("exit %d, want %d\n%s", code, exitNotApplied, out)
	}
}

func TestApplyMethodOfStrangeCodes(t *testing.T) {
	rec := recipe(t, "swebench")
	for _, code := range []int{-1, 0, 1, 2, 89, 91, 99, 100 + len(rec.Apply), 126, 127, 137, 255} {
		if m, ok := applyMethod(rec, code); ok {
			t.Errorf("exit %d counts as %q", code, m)
		}
	}
}
