package harborfolder

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"harness/datasets/evalscript"
	"harness/eval"
)

// terminal is task.yaml of Terminal-Bench. Keys that matter to people only are
// not read.
type terminal struct {
	Instruction string   `yaml:"instruction"`
	Difficulty  string   `yaml:"difficulty"`
	Parser      string   `yaml:"parser_name"`
	AgentSec    *float64 `yaml:"max_agent_timeout_sec"`
	TestSec     *float64 `yaml:"max_test_timeout_sec"`
	SameShell   bool     `yaml:"run_tests_in_same_shell"`
}

// compose is docker-compose.yaml as far as it describes the one container.
type compose struct {
	Services map[string]service `yaml:"services"`
}

type service struct {
	Image       string   `yaml:"image"`
	Environment variable `yaml:"environment"`
	WorkingDir  string   `yaml:"working_dir"`
	Privileged  bool     `yaml:"privileged"`
}

// variable is written as a map, or as a list of NAME=VALUE.
type variable map[string]string

func (v *variable) UnmarshalYAML(node *yaml.Node) error {
	*v = variable{}
	if node.Kind == yaml.MappingNode {
		return node.Decode((*map[string]string)(v))
	}
	var list []string
	if err := node.Decode(&list); err != nil {
		return err
	}
	for _, entry := range list {
		if name, value, ok := strings.Cut(entry, "="); ok {
			(*v)[name] = value
		}
	}
	return nil
}

const (
	terminalCompose  = "docker-compose.yaml"
	terminalSolution = "solution.sh"
	// defaultTerminalSeconds is how long tests may take when task.yaml does not say.
	defaultTerminalSeconds = 60
	testDirVariable        = "TEST_DIR"
)

// terminal reads a task of Terminal-Bench's older form. Its tests write no
// reward: it is 1 when they end with 0, as in Harbor's own conversion of such
// tasks.
func (r *reader) terminal() {
	r.l.File = r.f.Path(terminalFile)
	var s terminal
	if err := r.f.YAML(terminalFile, &s); err != nil {
		r.failed(err)
		return
	}
	t := &r.l.Task
	t.Repo = repoOf("terminal-bench", t.InstanceID)
	t.Difficulty, t.ProblemStatement = s.Difficulty, s.Instruction
	if s.Instruction == "" {
		r.bad("instruction", "the key is missing or empty", "add it")
	}
	wall := r.seconds("max_test_timeout_sec", s.TestSec, defaultTerminalSeconds)
	t.Limits = &eval.LimitsSpec{WallSeconds: &wall}
	if s.Parser != "" && s.Parser != "pytest" {
		r.needs("parser_name", fmt.Sprintf("results are told in the form %.50q, which the exit code of the tests need not follow", s.Parser))
	}
	if s.SameShell {
		r.needs("run_tests_in_same_shell", "tests run in a shell of their own")
	}
	env := r.container()

	if r.f.Has(testsDir) {
		t.Files = r.files(testsDir, testsTarget, "")
	}
	if file, err := r.f.File(runTestsFile, testsTarget+"/"+runTestsFile); err != nil {
		r.failed(err)
	} else {
		file.Mode = 0o755
		t.Files = append(t.Files, file)
	}
	if r.f.Has(terminalSolution) {
		file, err := r.f.File(terminalSolution, solutionTarget+"/"+terminalSolution)
		if err != nil {
			r.failed(err)
		}
		file.Mode = 0o755
		t.Solution = &eval.Solution{
			Script: evalscript.RunScript(env, "bash", file.Path), Files: []eval.TaskFile{file},
			TimeoutSeconds: r.seconds("max_agent_timeout_sec", s.AgentSec, 0),
		}
	}
	if !r.cannot {
		t.EvalScript = evalscript.Harbor{Env: env, Test: []string{"bash", testsTarget + "/" + runTestsFile}, ByExitCode: true}.Script()
	}
}

// container reads what docker-compose.yaml says of the container. Values with
// "${" are filled in by Terminal-Bench with names of its own.
func (r *reader) container() []evalscript.EnvVar {
	vars := map[string]string{testDirVariable: testsTarget}
	if r.f.Has(terminalCompose) {
		var c compose
		if err := r.f.YAML(terminalCompose, &c); err != nil {
			r.failed(err)
			return nil
		}
		if len(c.Services) > 1 {
			r.needs("", terminalCompose+" describes several services, and a sandbox is a single one")
		}
		s, ok := c.Services["client"]
		if names := slices.Sorted(maps.Keys(c.Services)); !ok && len(names) > 0 {
			s = c.Services[names[0]]
		}
		if s.Privileged {
			r.needs("", terminalCompose+" asks for a privileged container")
		}
		if literal(s.Image) {
			r.l.Task.Image = s.Image
		}
		if s.WorkingDir != "" && literal(s.WorkingDir) {
			r.l.Task.WorkDir = s.WorkingDir
		}
		for name, value := range s.Environment {
			if literal(value) {
				vars[name] = value
			}
		}
	}
	return r.env("environment", vars)
}

func literal(s string) bool { return !strings.Contains(s, "${") }
