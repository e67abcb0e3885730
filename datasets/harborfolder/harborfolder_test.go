package harborfolder_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/datasets/harborfolder"
	"harness/datasets/internal/tree"
	"harness/eval"
)

const settings = `schema_version = "1.4"
[task]
name = "acme/hello"
[metadata]
difficulty = "easy"
tags = ["a"]
[verifier]
timeout_sec = 120.5
env = {B = "it's", A = "${HOME:-x y}"}
[agent]
timeout_sec = 900.0
[environment]
docker_image = "acme/hello:1"
cpus = 2
memory_mb = 2048
storage_mb = 10240
gpus = 0
network_mode = "no-network"
env = {C = "1"}
[solution.env]
D = "2"
`

// harbor are the files of a small good task of Harbor's form.
func harbor() map[string]string {
	return map[string]string{
		"task.toml": settings, "instruction.md": "Do\r\nit\n", "environment/Dockerfile": "FROM scratch\n",
		"tests/test.sh": "#!/bin/bash\n", "tests/more/test_a.py": "a", "solution/solve.sh": "#!/bin/bash\n", "solution/data": "\x00\xff",
	}
}

// terminal are those of one of Terminal-Bench's older form.
func terminal() map[string]string {
	return map[string]string{
		"task.yaml": "instruction: |-\n  Do\n  it\ndifficulty: hard\nparser_name: pytest\nmax_agent_timeout_sec: 360\nmax_test_timeout_sec: 30.0\nrun_tests_in_same_shell: false\n",
		"docker-compose.yaml": "services:\n  client:\n    build: {dockerfile: Dockerfile}\n    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}\n" +
			"    environment:\n    - TEST_DIR=${T_BENCH_TEST_DIR}\n    - X=1\n",
		"run-tests.sh": "pytest $TEST_DIR\n", "tests/test_outputs.py": "b", "solution.sh": "echo\n", "Dockerfile": "FROM scratch\n",
	}
}

func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t *testing.T, dir string) []tree.Loaded {
	t.Helper()
	if !harborfolder.Is(dir) {
		t.Error("the folder is not recognised")
	}
	var out []tree.Loaded
	err := harborfolder.Load(t.Context(), dir, tree.Options{}, func(l tree.Loaded) error {
		out = append(out, l)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// one loads a single task from the folder itself.
func one(t *testing.T, files map[string]string) tree.Loaded {
	t.Helper()
	all := load(t, write(t, filepath.Join(t.TempDir(), "hello"), files))
	if len(all) != 1 {
		t.Fatalf("%d tasks", len(all))
	}
	return all[0]
}

func problems(l tree.Loaded) string {
	var out []string
	for i := range l.Problems {
		p := &l.Problems[i]
		kind := "problem: "
		if p.Warning {
			kind = "warning: "
		}
		out = append(out, kind+p.Error())
	}
	return strings.Join(out, "\n")
}

func paths(files []eval.TaskFile) string {
	var out []string
	for _, f := range files {
		if f.Mode == 0o755 {
			f.Path += "*"
		}
		out = append(out, f.Path)
	}
	return strings.Join(out, " ")
}

func TestHarbor(t *testing.T) {
	l := one(t, harbor())
	if len(l.Problems) != 0 {
		t.Error(problems(l))
	}
	got := l.Task
	if got.InstanceID != "hello" || got.Repo != "acme/hello" || got.Family != eval.FamilyHarbor || got.Difficulty != "easy" ||
		got.Image != "acme/hello:1" || got.WorkDir != eval.ImageWorkDir || got.ProblemStatement != "Do\r\nit\n" || got.LogParser != "parse_log_pytest" {
		t.Errorf("%+v", got)
	}
	if lim := got.Limits; *lim.WallSeconds != 121 || *lim.CPUs != 2 || *lim.MemoryBytes != 2*eval.GiB || *lim.DiskBytes != 10*eval.GiB {
		t.Errorf("limits %+v", lim)
	}
	if s := paths(got.Files); s != "/tests/more/test_a.py /tests/test.sh*" {
		t.Errorf("files %s", s)
	}
	s := got.Solution
	if s == nil || s.TimeoutSeconds != 900 || paths(s.Files) != "/solution/data /solution/solve.sh*" || string(s.Files[0].Data) != "\x00\xff" {
		t.Fatalf("solution %+v", s)
	}
	if want := "#!/bin/bash\nexport C=1\nexport DEBIAN_FRONTEND=noninteractive\nexport D=2\nexec /solution/solve.sh\n"; s.Script != want {
		t.Errorf("solution script\n%s", s.Script)
	}
	for _, want := range []string{"\nexport C=1\nexport A='x y'\nexport B='it'\\''s'\n", "\n/tests/test.sh\ncode=$?\n"} {
		if !strings.Contains(got.EvalScript, want) {
			t.Errorf("eval script lacks %q:\n%s", want, got.EvalScript)
		}
	}
}

func TestTerminal(t *testing.T) {
	l := one(t, terminal())
	if len(l.Problems) != 0 {
		t.Error(problems(l))
	}
	got := l.Task
	if got.InstanceID != "hello" || got.Repo != "terminal-bench/hello" || got.Difficulty != "hard" || got.Image != "" || got.WorkDir != eval.ImageWorkDir ||
		got.ProblemStatement != "Do\nit" || *got.Limits.WallSeconds != 30 || got.Limits.MemoryBytes != nil {
		t.Errorf("%+v", got)
	}
	if s := paths(got.Files); s != "/tests/test_outputs.py /tests/run-tests.sh*" {
		t.Errorf("files %s", s)
	}
	if s := got.Solution; s == nil || s.TimeoutSeconds != 360 || paths(s.Files) != "/solution/solution.sh*" || !strings.HasSuffix(s.Script, "\nexec bash /solution/solution.sh\n") {
		t.Errorf("solution %+v", s)
	}
	for _, want := range []string{"\nexport TEST_DIR=/tests\nexport X=1\n", "\nbash /tests/run-tests.sh\ncode=$?\n", "if [ $code -eq 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"} {
		if !strings.Contains(got.EvalScript, want) {
			t.Errorf("eval script lacks %q:\n%s", want, got.EvalScript)
		}
	}
	named := terminal()
	named["docker-compose.yaml"] = "services:\n  client: {image: 'acme/x:1', working_dir: /app, environment: {Y: 2}}\n"
	if got := one(t, named).Task; got.Image != "acme/x:1" || got.WorkDir != "/app" || !strings.Contains(got.EvalScript, "export Y=2\n") {
		t.Errorf("%+v", got)
	}
}

// Tasks are found in the folder, or in its folder of tasks; other folders are not theirs.
func TestFolders(t *testing.T) {
	for _, below := range []string{"", "tasks"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, below, "b"), harbor())
		write(t, filepath.Join(dir, below, "a"), terminal())
		write(t, filepath.Join(dir, below, "docs"), map[string]string{"task.yaml": "x"})
		write(t, filepath.Join(dir, below, ".git"), harbor())
		if err := os.Symlink(write(t, t.TempDir(), harbor()), filepath.Join(dir, below, "out")); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range load(t, dir) {
			got = append(got, l.Task.InstanceID)
		}
		if strings.Join(got, " ") != "a b" {
			t.Errorf("tasks %v", got)
		}
	}
	if harborfolder.Is(t.TempDir()) {
		t.Error("an empty folder is taken for tasks")
	}
	err := harborfolder.Load(t.Context(), write(t, t.TempDir(), harbor()), tree.Options{Split: "dev"}, nil)
	if err == nil || !strings.Contains(err.Error(), `there is no split "dev"`) {
		t.Errorf("a split: %v", err)
	}
}

// What settings ask for and is not to be had keeps the one task from being run,
// not its folder from being loaded.
func TestUnsupported(t *testing.T) {
	add := func(table, line string) func(map[string]string) {
		return func(f map[string]string) {
			f["task.toml"] = strings.Replace(f["task.toml"], "["+table+"]\n", "["+table+"]\n"+line+"\n", 1)
		}
	}
	end := func(text string) func(map[string]string) {
		return func(f map[string]string) { f["task.toml"] += text }
	}
	file := func(name, text string) func(map[string]string) {
		return func(f map[string]string) { f[name] = text }
	}
	for _, tt := range []struct {
		name   string
		files  func() map[string]string
		change func(map[string]string)
		want   string
	}{
		{"windows", harbor, add("environment", `os = "windows"`), `field environment.os: the task can't be executed here: it is for "windows"`},
		{"compose", harbor, file("environment/docker-compose.yaml", ""), "describes several services"},
		{"gpu", harbor, func(f map[string]string) { f["task.toml"] = strings.Replace(settings, "gpus = 0", "gpus = 1", 1) }, "accelerators"},
		{"tpu", harbor, add("environment", `tpu = {type = "v6e", topology = "2x4"}`), "accelerators"},
		{"steps", harbor, end("[[steps]]\nname = 'a'\n"), "several steps"},
		{"healthcheck", harbor, add("environment", `healthcheck = {command = "true"}`), "field environment.healthcheck"},
		{"separate", harbor, add("verifier", `environment_mode = "separate"`), "an environment of their own"},
		{"own environment", harbor, end("[verifier.environment]\ndocker_image = 'x'\n"), "an environment of their own"},
		{"collect", harbor, end("[[verifier.collect]]\ncommand = 'x'\n"), "field verifier.collect"},
		{"user", harbor, add("agent", `user = "me"`), "field agent.user: the task can't be executed here: everything runs as root"},
		{"uid", harbor, add("verifier", `user = 1000`), "field verifier.user"},
		{"host variable", harbor, func(f map[string]string) { f["task.toml"] = strings.Replace(settings, "${HOME:-x y}", "${HOME}", 1) }, "A is to be taken from the machine's environment"},
		{"parser", terminal, func(f map[string]string) {
			f["task.yaml"] = strings.Replace(f["task.yaml"], ": pytest", ": swebench", 1)
		}, "field parser_name"},
		{"shell", terminal, func(f map[string]string) { f["task.yaml"] = strings.Replace(f["task.yaml"], ": false", ": true", 1) }, "field run_tests_in_same_shell"},
		{"services", terminal, func(f map[string]string) { f["docker-compose.yaml"] += "  db: {image: 'postgres:16'}\n" }, "describes several services"},
		{"privileged", terminal, func(f map[string]string) { f["docker-compose.yaml"] += "    privileged: true\n" }, "privileged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := tt.files()
			tt.change(files)
			l := one(t, files)
			if got := problems(l); len(l.Problems) != 1 || !strings.HasPrefix(got, "warning: ") || !strings.Contains(got, tt.want) {
				t.Errorf("got %s; want one warning with %q", got, tt.want)
			}
			if l.Task.EvalScript != "" {
				t.Error("there is an eval script")
			}
		})
	}
}

// Root is what everything runs as, so asking for it changes nothing.
func TestRootIsFine(t *testing.T) {
	files := harbor()
	files["task.toml"] = strings.Replace(strings.Replace(settings, "[agent]\n", "[agent]\nuser = \"root\"\n", 1), "[verifier]\n", "[verifier]\nuser = 0\nenvironment_mode = \"shared\"\n", 1)
	if l := one(t, files); len(l.Problems) != 0 || l.Task.EvalScript == "" {
		t.Error(problems(l))
	}
}

func TestNetworkIsWarnedOf(t *testing.T) {
	for text, warned := range map[string]bool{
		`network_mode = "no-network"`: false, `network_mode = "public"`: true, "": true, `allow_internet = true`: true, `allow_internet = false`: false,
		"network_mode = \"allowlist\"\nallowed_hosts = [\"pypi.org\"]": true,
	} {
		files := harbor()
		files["task.toml"] = strings.Replace(settings, `network_mode = "no-network"`, text, 1)
		l := one(t, files)
		if got := strings.Contains(problems(l), "warning: ") && strings.Contains(problems(l), "expects a network"); got != warned || l.Task.EvalScript == "" {
			t.Errorf("%q: %s", text, problems(l))
		}
	}
}

func TestProblems(t *testing.T) {
	drop := func(name string) func(map[string]string) { return func(f map[string]string) { delete(f, name) } }
	set := func(old, with string) func(map[string]string) {
		return func(f map[string]string) {
			f["task.toml"] = strings.Replace(f["task.toml"], old, with, 1)
		}
	}
	for _, tt := range []struct {
		name   string
		files  func() map[string]string
		change func(map[string]string)
		want   string
	}{
		{"syntax", harbor, set("cpus = 2", "cpus ="), "problem: hello/task.toml:14: it can't be read as TOML"},
		{"type", harbor, set("cpus = 2", `cpus = "two"`), "problem: hello/task.toml:14: field environment.cpus: it is a TOML string, another type is expected"},
		{"unknown key", harbor, set("cpus = 2", "cpu = 2"), "warning: hello/task.toml:14: field environment.cpu: this key is not known and is ignored"},
		{"time", harbor, set("120.5", "-1.0"), "problem: hello/task.toml: field verifier.timeout_sec: -1 is not a number of seconds"},
		{"no number", harbor, set("120.5", "nan"), "problem: hello/task.toml: field verifier.timeout_sec: NaN is not"},
		{"agent time", harbor, set("900.0", "inf"), "problem: hello/task.toml: field agent.timeout_sec: +Inf is not"},
		{"memory", harbor, set("2048", "9999999999999"), "problem: hello/task.toml: field environment.memory_mb"},
		{"old memory", harbor, set("memory_mb = 2048", `memory = "2 gigabytes"`), "problem: hello/task.toml: field environment.memory: "},
		{"variable", harbor, set("{C =", `{"C D" =`), `problem: hello/task.toml: field environment.env: "C D" can't be the name of a variable`},
		{"variable's value", harbor, set(`C = "1"`, `C = "\u0000"`), "problem: hello/task.toml: field environment.env: the value of C has a NUL byte"},
		{"no instruction", harbor, drop("instruction.md"), "problem: hello/instruction.md: there is no such file"},
		{"no tests", harbor, func(f map[string]string) { delete(f, "tests/test.sh"); delete(f, "tests/more/test_a.py") }, "problem: hello/tests: there is no such file"},
		{"no test script", harbor, drop("tests/test.sh"), "problem: hello/task.toml: there is no tests/test.sh, which tests the task"},
		{"YAML", terminal, func(f map[string]string) { f["task.yaml"] = "instruction: x\na: [\n" }, "problem: hello/task.yaml:"},
		{"compose", terminal, func(f map[string]string) { f["docker-compose.yaml"] = "services: [1]\n" }, "problem: hello/docker-compose.yaml:1: "},
		{"no instruction key", terminal, func(f map[string]string) { f["task.yaml"] = "difficulty: easy\n" }, "problem: hello/task.yaml: field instruction: the key is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := tt.files()
			tt.change(files)
			l := one(t, files)
			got := problems(l)
			if i := strings.Index(got, "/hello"); i > 0 { // the folder's path
				got = got[:len("problem: ")] + got[i+1:]
			}
			if len(l.Problems) != 1 || !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s; want %q", got, tt.want)
			}
		})
	}
}

func TestOldSizes(t *testing.T) {
	for text, want := range map[string]int64{`"2G"`: 2 * eval.GiB, `"512M"`: 512 * eval.MiB, `"1.5g"`: 1536 * eval.MiB, `"65536K"`: 64 * eval.MiB} {
		files := harbor()
		files["task.toml"] = strings.Replace(settings, "memory_mb = 2048", "memory = "+text, 1)
		if l := one(t, files); len(l.Problems) != 0 || *l.Task.Limits.MemoryBytes != want {
			t.Errorf("%s: %s", text, problems(l))
		}
	}
}

func TestNoSolution(t *testing.T) {
	files := harbor()
	delete(files, "solution/solve.sh")
	delete(files, "solution/data")
	if l := one(t, files); len(l.Problems) != 0 || l.Task.Solution != nil {
		t.Errorf("%+v, %s", l.Task.Solution, problems(l))
	}
}

func TestHostile(t *testing.T) {
	secret := write(t, t.TempDir(), map[string]string{"secret": "secret"})
	for name, tt := range map[string]struct {
		spoil func(task string) error
		want  string
	}{
		"test leads out":     {func(d string) error { return relink(d+"/tests/test.sh", secret+"/secret") }, "test.sh: it is a link that leads out of the folder"},
		"settings lead out":  {func(d string) error { return relink(d+"/task.toml", secret+"/secret") }, "task.toml: it is a link that leads out of the folder"},
		"to its neighbour":   {func(d string) error { return relink(d+"/solution/data", "../../other/solution/data") }, "data: it is a link that leads out of the folder"},
		"folder leads out":   {func(d string) error { return os.Symlink(secret, d+"/tests/more2") }, "more2: it is a link that leads out of the folder"},
		"all tests lead out": {func(d string) error { return errors.Join(os.RemoveAll(d+"/tests"), os.Symlink(secret, d+"/tests")) }, "tests: it is a link that leads out of the folder"},
		"pipe":               {func(d string) error { return syscall.Mkfifo(d+"/tests/pipe", 0o600) }, "pipe: it is a pipe"},
		"huge":               {func(d string) error { return os.Truncate(d+"/tests/test.sh", 1<<40) }, "test.sh: it has more than"},
		"huge together": {func(d string) error {
			for _, n := range []string{"a", "b", "c"} {
				if err := errors.Join(os.WriteFile(d+"/tests/"+n, nil, 0o600), os.Truncate(d+"/tests/"+n, 15<<20)); err != nil {
					return err
				}
			}
			return nil
		}, "the files of the task hold more than"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "other"), harbor())
			if err := tt.spoil(write(t, filepath.Join(dir, "bad"), harbor())); err != nil {
				t.Fatal(err)
			}
			all := load(t, dir)
			if len(all) != 2 || len(all[1].Problems) != 0 {
				t.Fatalf("%d tasks", len(all))
			}
			if got := problems(all[0]); !strings.Contains(got, "problem: ") || !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %q", got, tt.want)
			}
			for _, f := range all[0].Task.Files {
				if string(f.Data) == "secret" {
					t.Error("a file from outside became one of the task")
				}
			}
		})
	}
}

func relink(path, target string) error { return errors.Join(os.Remove(path), os.Symlink(target, path)) }
