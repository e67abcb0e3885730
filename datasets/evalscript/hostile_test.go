package evalscript_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/datasets/evalscript"
	"harness/eval"
)

// oddNames are file names that git, a shell or rm could take for something else.
var oddNames = []string{
	"-rf", "--", "--source=HEAD", ":!x", ":(top)", ":x", "~", "*", "it's", `"`, "$(touch pwned)", "`touch pwned`", "a b", " lead", "trail ", "ü", "new\nline", `back\slash`,
	"d/-rf", "d/[id].js", "#", "a;touch pwned", "c d/e f",
}

// oddPatch makes a repository that holds the odd names, and a patch that changes
// them all and adds as many, as git writes it.
func oddPatch(t *testing.T) (repository, string) {
	t.Helper()
	r := newPlaces(t)
	write := func(name, text string) {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(oddNames, "code") {
		write(name, "old\n")
	}
	r.run(t, "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -q -m one")
	for _, name := range oddNames {
		write(name, "new\n")
		write(filepath.Join(filepath.Dir(name), "-"+filepath.Base(name)+".added"), "new\n")
	}
	patch := r.run(t, "git add -A && git diff --cached && git reset -q --hard")
	if strings.Count(patch, "\ndiff --git ")+1 != 2*len(oddNames) {
		t.Fatalf("the patch is\n%s", patch)
	}
	return r, patch
}

// Files with odd names are reset, patched and reset again like others, and
// nothing else is.
func TestOddNames(t *testing.T) {
	one, patch := oddPatch(t)
	odd := func() *eval.Task {
		return &eval.Task{InstanceID: "a__b-1", Repo: "apache/druid", Version: "13704", BaseCommit: base, TestPatch: patch}
	}
	see := `grep -rLx new . --exclude-dir=.git; echo seen`
	for name, write := range map[string]func() (string, error){
		"official": func() (string, error) {
			return evalscript.Official(odd(), evalscript.V5)
		},
		"live": func() (string, error) {
			return evalscript.Live(odd(), evalscript.LiveCommands{Test: []string{see}})
		},
		"rebench": func() (string, error) {
			return evalscript.Rebench(odd(), evalscript.InstallConfig{Test: []string{see + "; :"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			script, err := write()
			if err != nil {
				t.Fatal(err)
			}
			if name == "official" { // its tests need tools; their place is what matters
				before, rest, _ := strings.Cut(script, "Start Test Output'\n")
				_, after, _ := strings.Cut(rest, ": '>>>>> End")
				script = before + "Start Test Output'\n" + see + "\n: '>>>>> End" + after
			}
			r := newRepository(t, one)
			r.run(t, `echo candidate > code; echo cheat > ./-rf; echo cheat > ./:x; rm ./--; echo cheat > './---.added'`)
			log := r.run(t, script)
			if got := section(t, log); strings.Count(got, "\n./") != 1 || !strings.Contains(got, "\n./code\n") || !strings.Contains(got, "\nseen\n") {
				t.Errorf("the tests saw other files\n%s\nlog\n%.6000s", got, log)
			}
			if after := r.run(t, "git status --porcelain; cat code"); after != " M code\ncandidate\n" {
				t.Errorf("left behind: %s\nlog\n%.6000s", after, log)
			}
		})
	}
}

// Reading a patch takes time by its length, not by the square of its files: a row
// of a megabyte would keep a dataset from being loaded for half a minute.
func BenchmarkManyFiles(b *testing.B) {
	var patch strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&patch, "diff --git a/%d b/%d\nnew file mode 100644\n", i, i)
	}
	for _, repo := range [][2]string{{"chartjs/Chart.js", "4.0"}, {"apache/druid", "13704"}, {"django/django", "4.2"}} {
		b.Run(repo[0], func(b *testing.B) {
			b.SetBytes(int64(patch.Len()))
			row := oldRow()
			row.Repo, row.Version, row.TestPatch = repo[0], repo[1], patch.String()
			for b.Loop() {
				if _, err := evalscript.Official(&row, evalscript.V5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
