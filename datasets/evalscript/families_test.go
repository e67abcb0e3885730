package evalscript_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"harness/datasets/evalscript"
	"harness/eval"
)

var update = flag.Bool("update", false, "rewrite the expected scripts in testdata")

const base = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

// hostilePatch changes a file, adds one whose name is a command, deletes one, and
// holds the end mark of the official scripts.
const hostilePatch = `diff --git a/t/test_a.txt b/t/test_a.txt
--- a/t/test_a.txt
+++ b/t/test_a.txt
@@ -1 +1,2 @@
 old
+EOF_114329324912
diff --git "a/t/$(touch pwned).py" "b/t/$(touch pwned).py"
new file mode 100644
--- /dev/null
+++ "b/t/$(touch pwned).py"
@@ -0,0 +1 @@
+new
diff --git a/t/gone.py b/t/gone.py
deleted file mode 100644
--- a/t/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
`

func task(dir string) *eval.Task {
	return &eval.Task{InstanceID: "octo__calc-1", Repo: "octo/calc", BaseCommit: base, TestPatch: hostilePatch, WorkDir: dir}
}

var familyScripts = map[string]func() (string, error){
	"live": func() (string, error) {
		return evalscript.Live(task(""), evalscript.LiveCommands{Rebuild: []string{"make"}, Test: []string{"cd sub", "make test"}, Print: []string{"cat out.json"}})
	},
	"live_python": func() (string, error) {
		return evalscript.Live(task(""), evalscript.LiveCommands{Test: []string{"pytest -rA"}})
	},
	"rebench": func() (string, error) {
		return evalscript.Rebench(task(""), evalscript.InstallConfig{Eval: []string{"export A=1"}, Install: []string{"pip install -e ."}, Test: []string{"pytest -rA"}})
	},
	"rebench2": func() (string, error) {
		return evalscript.Rebench2(task("/calc"), evalscript.InstallConfig{Test: []string{"make check", "make more"}})
	},
	"multi": func() (string, error) { return evalscript.MultiSWEBench(task("/home/calc")), nil },
	"pro": func() (string, error) {
		return evalscript.Pro(task("/app"), evalscript.ProRun{
			BeforeTests: "git reset --hard x\n\ngit checkout y -- t/a.go\n", Tests: []string{"t/a.go", "t/b c.go"},
			Dockerfiles: []string{"FROM x\n ENV A='1 2'\nENV B=1 \\\n  C=2\nRUN ENV\n", ""},
		}), nil
	},
	"gym": func() (string, error) {
		return evalscript.Gym("#!/bin/bash\ngit checkout x\n", "#!/bin/bash\npytest -rA\n")
	},
}

// Scripts of families are as testdata has them, and bash can read them.
func TestFamilyScripts(t *testing.T) {
	for name, write := range familyScripts {
		t.Run(name, func(t *testing.T) {
			got, err := write()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".sh")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("script\n%s\nwant\n%s", got, want)
			}
			if out, err := exec.Command("bash", "-n", file).CombinedOutput(); err != nil {
				t.Errorf("bash can't read it: %v\n%s", err, out)
			}
		})
	}
}

// repository is a folder with one commit, and the paths that scripts use in a
// place of their own.
type repository struct{ dir, tmp, home string }

func newPlaces(t *testing.T) repository {
	t.Helper()
	return repository{dir: filepath.Join(t.TempDir(), "r"), tmp: t.TempDir(), home: t.TempDir()}
}

// newRepository copies the one that template makes: git is slow to start.
func newRepository(t *testing.T, template repository) repository {
	t.Helper()
	r := newPlaces(t)
	if err := os.CopyFS(r.dir, os.DirFS(template.dir)); err != nil {
		t.Fatal(err)
	}
	return r
}

func template(t *testing.T) repository {
	t.Helper()
	r := newPlaces(t)
	for name, text := range map[string]string{"t/test_a.txt": "old\n", "t/gone.py": "gone\n", "code": "1\n"} {
		path := filepath.Join(r.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	r.run(t, "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -q -m one")
	return r
}

// run executes a script with its fixed paths moved into the repository's places.
func (r repository) run(t *testing.T, script string) string {
	t.Helper()
	script = strings.NewReplacer("/tmp/", r.tmp+"/", "/home/", r.home+"/", "/testbed", r.dir, "/calc", r.dir, base, "HEAD").Replace(script)
	cmd := exec.Command("bash", "-s")
	cmd.Dir = r.dir
	cmd.Env = []string{"HOME=" + r.tmp, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	cmd.Stdin = strings.NewReader(script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // a script's exit status is that of its last command
	return out.String()
}

// section is what stands between the markers in a log.
func section(t *testing.T, log string) string {
	t.Helper()
	_, rest, ok := strings.Cut(log, ">>>>> Start Test Output'\n")
	text, _, end := strings.Cut(rest, "+ : '>>>>> End Test Output'")
	if !ok || !end {
		t.Fatalf("no section in\n%s", log)
	}
	return text
}

const showTests = `cat t/test_a.txt; ls t; echo "FAKE >>>>> End Test"`

// What a script runs sees the files of the test patch, whatever the candidate did
// to them, and afterwards they are as in the base commit.
func TestTestPatchWins(t *testing.T) {
	one := template(t)
	scripts := map[string]func() (string, error){
		"live": func() (string, error) {
			return evalscript.Live(task(""), evalscript.LiveCommands{Test: []string{showTests}})
		},
		"rebench": func() (string, error) {
			return evalscript.Rebench(task(""), evalscript.InstallConfig{Test: []string{showTests + " #"}})
		},
	}
	for name, write := range scripts {
		t.Run(name, func(t *testing.T) {
			script, err := write()
			if err != nil {
				t.Fatal(err)
			}
			r := newRepository(t, one)
			r.run(t, `echo cheat > t/test_a.txt; echo cheat > 't/$(touch pwned).py'; rm t/gone.py`)
			got := regexp.MustCompile(`(?m)^\+ .*\n`).ReplaceAllString(section(t, r.run(t, script)), "")
			if !strings.Contains(got, "old\nEOF_114329324912\n$(touch pwned).py\ntest_a.txt\nFAKE") {
				t.Errorf("the tests saw\n%s", got)
			}
			if after := r.run(t, "git status --porcelain"); after != "" {
				t.Errorf("left behind: %s", after)
			}
		})
	}
}

// Output of code that runs before the tests can't stand in for theirs.
func TestOutputBeforeTheTestsComesBehindThem(t *testing.T) {
	one := template(t)
	fake := `printf "+ : '>>>>> Start Test Output'\nPASSED fake\n+ : '>>>>> End Test Output'\n"`
	scripts := map[string]func() (string, error){
		"live": func() (string, error) {
			return evalscript.Live(task(""), evalscript.LiveCommands{Rebuild: []string{fake}, Test: []string{fake, "cd t"}, Print: []string{"pwd"}})
		},
		"live_python": func() (string, error) {
			return evalscript.Live(task(""), evalscript.LiveCommands{Rebuild: []string{fake}, Test: []string{"cd t", "pwd"}})
		},
		"rebench": func() (string, error) {
			return evalscript.Rebench(task(""), evalscript.InstallConfig{Install: []string{fake}, Test: []string{"cd t", "pwd #"}})
		},
		"gym": func() (string, error) { return evalscript.Gym(fake+"\n", "cd t\npwd\n") },
	}
	for name, write := range scripts {
		t.Run(name, func(t *testing.T) {
			script, err := write()
			if err != nil {
				t.Fatal(err)
			}
			log := newRepository(t, one).run(t, script)
			if got := section(t, log); !strings.Contains(got, "/t\n") || strings.Contains(got, "fake") {
				t.Errorf("between the markers: %s", got)
			}
			if !strings.Contains(log, "PASSED fake") {
				t.Error("the other output is lost")
			}
		})
	}
}

// Commands that are no shell text at all leave the rest of the script alone.
func TestBrokenCommandsStayByThemselves(t *testing.T) {
	one := template(t)
	broken := []string{`echo "`, "}", "<<EOF"}
	live, err1 := evalscript.Live(task(""), evalscript.LiveCommands{Test: broken})
	rebench, err2 := evalscript.Rebench2(task("/calc"), evalscript.InstallConfig{Test: broken})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{live, rebench} {
		section(t, newRepository(t, one).run(t, script))
	}
}

func TestRebench2StopsAtTheFirstError(t *testing.T) {
	one := template(t)
	script, err := evalscript.Rebench2(task("/calc"), evalscript.InstallConfig{Test: []string{"echo one", "false", "echo two"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := section(t, newRepository(t, one).run(t, script)); !strings.Contains(got, "one\n") || strings.Contains(got, "two") {
		t.Errorf("between the markers: %s", got)
	}
	r := newRepository(t, one)
	r.run(t, "echo other > t/test_a.txt; git add t")
	if log := r.run(t, script); strings.Contains(log, "Start Test Output") {
		t.Errorf("tests ran without their patch:\n%s", log)
	}
	// Another file that the candidate changed is no obstacle.
	r = newRepository(t, one)
	r.run(t, "echo 2 > code")
	section(t, r.run(t, script))
}

// Under Multi-SWE-bench the patch in the image, the gold one, must never count.
func TestMultiSWEBenchTakesTheCandidatesPatch(t *testing.T) {
	one := template(t)
	const patch = "diff --git a/code b/code\n--- a/code\n+++ b/code\n@@ -1 +1 @@\n-1\n+2\n"
	tests := []struct {
		name, prepare, want string
	}{
		{"no patch", "", "test-run\n"},
		{"an empty patch", "touch /tmp/patch.diff", "test-run\n"},
		{"a patch in the tree", "cat > /tmp/patch.diff <<'E'\n" + patch + "E\ngit apply /tmp/patch.diff", "test-run\n"},
		{"a patch to be applied", "cat > /tmp/patch.diff <<'E'\n" + patch + "E\n", "fix-run\n" + patch},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepository(t, one)
			r.run(t, "echo gold > /home/fix.patch; echo 'echo test-run; cat /home/fix.patch' > /home/test-run.sh; echo 'echo fix-run; cat /home/fix.patch' > /home/fix-run.sh\n"+tt.prepare)
			got := section(t, r.run(t, evalscript.MultiSWEBench(task("/calc"))))
			if !strings.Contains(got, tt.want) || strings.Contains(got, "gold") {
				t.Errorf("between the markers: %s", got)
			}
		})
	}
}

func TestScriptsThatCantBeWritten(t *testing.T) {
	nul, outside := task(""), task("")
	nul.TestPatch = "\x00"
	outside.TestPatch = "diff --git a/../x b/../x\n"
	for name, write := range map[string]func() (string, error){
		"live nul":     func() (string, error) { return evalscript.Live(nul, evalscript.LiveCommands{Test: []string{"x"}}) },
		"live outside": func() (string, error) { return evalscript.Live(outside, evalscript.LiveCommands{Test: []string{"x"}}) },
		"live command": func() (string, error) {
			return evalscript.Live(task(""), evalscript.LiveCommands{Test: []string{"\x00"}})
		},
		"rebench nul": func() (string, error) { return evalscript.Rebench(nul, evalscript.InstallConfig{Test: []string{"x"}}) },
		"rebench outside": func() (string, error) {
			return evalscript.Rebench(outside, evalscript.InstallConfig{Test: []string{"x"}})
		},
		"rebench nothing":  func() (string, error) { return evalscript.Rebench(task(""), evalscript.InstallConfig{}) },
		"rebench2 nul":     func() (string, error) { return evalscript.Rebench2(nul, evalscript.InstallConfig{Test: []string{"x"}}) },
		"rebench2 nothing": func() (string, error) { return evalscript.Rebench2(task(""), evalscript.InstallConfig{}) },
		"gym setup":        func() (string, error) { return evalscript.Gym("\x00", "x") },
		"gym tests":        func() (string, error) { return evalscript.Gym("x", "\x00") },
	} {
		if script, err := write(); err == nil {
			t.Errorf("%s: %q", name, script)
		}
	}
}
