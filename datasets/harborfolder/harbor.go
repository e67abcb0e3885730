package harborfolder

import (
	"fmt"
	"path"
	"regexp"
	"slices"

	"harness/datasets/evalscript"
	"harness/eval"
)

// settings is task.toml, with the keys of schema versions up to 1.4. Tables whose
// content does not matter here are left open.
type settings struct {
	SchemaVersion any            `toml:"schema_version"`
	Version       any            `toml:"version"` // the older name of schema_version
	Source        any            `toml:"source"`
	Task          packageInfo    `toml:"task"`
	Metadata      map[string]any `toml:"metadata"`
	Verifier      verifier       `toml:"verifier"`
	Agent         agent          `toml:"agent"`
	Environment   environment    `toml:"environment"`
	Solution      struct {
		Env map[string]string `toml:"env"`
	} `toml:"solution"`
	Artifacts any `toml:"artifacts"`
	Steps     any `toml:"steps"`
	Strategy  any `toml:"multi_step_reward_strategy"`
}

type packageInfo struct {
	Name        string `toml:"name"`
	Version     any    `toml:"version"`
	Description any    `toml:"description"`
	Authors     any    `toml:"authors"`
	Keywords    any    `toml:"keywords"`
}

type agent struct {
	TimeoutSec   *float64 `toml:"timeout_sec"`
	User         any      `toml:"user"`
	NetworkMode  any      `toml:"network_mode"`
	AllowedHosts any      `toml:"allowed_hosts"`
}

type verifier struct {
	TimeoutSec   *float64          `toml:"timeout_sec"`
	Env          map[string]string `toml:"env"`
	User         any               `toml:"user"`
	NetworkMode  string            `toml:"network_mode"`
	AllowedHosts any               `toml:"allowed_hosts"`
	Mode         string            `toml:"environment_mode"`
	Environment  map[string]any    `toml:"environment"`
	Collect      []any             `toml:"collect"`
}

type environment struct {
	DockerImage   string            `toml:"docker_image"`
	OS            string            `toml:"os"`
	CPUs          *float64          `toml:"cpus"`
	MemoryMB      *int64            `toml:"memory_mb"`
	StorageMB     *int64            `toml:"storage_mb"`
	Memory        string            `toml:"memory"`  // the older "2G"
	Storage       string            `toml:"storage"` // likewise
	GPUs          *int64            `toml:"gpus"`
	GPUTypes      any               `toml:"gpu_types"`
	TPU           map[string]any    `toml:"tpu"`
	Env           map[string]string `toml:"env"`
	WorkDir       string            `toml:"workdir"`
	NetworkMode   string            `toml:"network_mode"`
	AllowInternet *bool             `toml:"allow_internet"` // the older form of network_mode
	AllowedHosts  any               `toml:"allowed_hosts"`
	Healthcheck   map[string]any    `toml:"healthcheck"`
	BuildTimeout  any               `toml:"build_timeout_sec"`
	MCPServers    any               `toml:"mcp_servers"`
	SkillsDir     any               `toml:"skills_dir"`
}

const (
	testsDir    = "tests"
	testScript  = "test.sh"
	solutionDir = "solution"
	solveScript = "solve.sh"
	composeFile = "environment/docker-compose.yaml"
	networkNone = "no-network"
	// defaultTestSeconds is how long tests may take when task.toml does not say.
	defaultTestSeconds = 600
)

// harbor reads a task of Harbor's form.
func (r *reader) harbor() {
	r.l.File = r.f.Path(harborFile)
	var s settings
	unknown, err := r.f.TOML(harborFile, &s)
	if err != nil {
		r.failed(err)
		return
	}
	r.l.Problems = append(r.l.Problems, unknown...)
	t := &r.l.Task
	t.Repo = repoOf("harbor", t.InstanceID)
	if repoName.MatchString(s.Task.Name) {
		t.Repo = s.Task.Name
	}
	t.Difficulty, _ = s.Metadata["difficulty"].(string)
	t.Image = s.Environment.DockerImage
	if s.Environment.WorkDir != "" {
		t.WorkDir = s.Environment.WorkDir
	}
	t.ProblemStatement = r.text("instruction.md")
	r.unsupported(&s)
	r.limits(&s)

	env := r.env("environment.env", s.Environment.Env)
	t.Files = r.files(testsDir, testsTarget, testScript)
	if len(t.Files) > 0 && !r.f.Has(path.Join(testsDir, testScript)) {
		r.bad("", "there is no "+testsDir+"/"+testScript+", which tests the task", "add it")
	}
	test := append(slices.Clone(env), r.env("verifier.env", s.Verifier.Env)...)
	if r.f.Has(path.Join(solutionDir, solveScript)) {
		solve := append(slices.Clone(env), evalscript.EnvVar{Name: "DEBIAN_FRONTEND", Value: "noninteractive"})
		solve = append(solve, r.env("solution.env", s.Solution.Env)...)
		t.Solution = &eval.Solution{
			Script:         evalscript.RunScript(solve, solutionTarget+"/"+solveScript),
			Files:          r.files(solutionDir, solutionTarget, solveScript),
			TimeoutSeconds: r.seconds("agent.timeout_sec", s.Agent.TimeoutSec, 0),
		}
	}
	if !r.cannot {
		t.EvalScript = evalscript.Harbor{Env: test, Test: []string{testsTarget + "/" + testScript}}.Script()
	}
}

var repoName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*/[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)

// unsupported names what the settings ask for and sandboxes here do not have.
func (r *reader) unsupported(s *settings) {
	e := &s.Environment
	switch {
	case e.OS != "" && e.OS != "linux":
		r.needs("environment.os", fmt.Sprintf("it is for %.50q, sandboxes run Linux", e.OS))
	case r.f.Has(composeFile):
		r.needs("", composeFile+" describes several services, and a sandbox is a single one")
	}
	if e.GPUs != nil && *e.GPUs > 0 || len(e.TPU) > 0 {
		r.needs("environment", "it asks for accelerators (gpus, tpu)")
	}
	if s.Steps != nil {
		r.needs("steps", "it has several steps")
	}
	if len(e.Healthcheck) > 0 {
		r.needs("environment.healthcheck", "the image's own services are not started")
	}
	if s.Verifier.Mode == "separate" || len(s.Verifier.Environment) > 0 {
		r.needs("verifier.environment", "its tests run in an environment of their own")
	}
	if len(s.Verifier.Collect) > 0 {
		r.needs("verifier.collect", "commands between the solution and the tests are not run")
	}
	for _, u := range []struct {
		field string
		user  any
	}{{"agent.user", s.Agent.User}, {"verifier.user", s.Verifier.User}} {
		if u.user != nil && u.user != "root" && u.user != int64(0) {
			r.needs(u.field, "everything runs as root")
		}
	}
	public := e.NetworkMode != networkNone
	if e.NetworkMode == "" && e.AllowInternet != nil {
		public = *e.AllowInternet
	}
	if s.Verifier.NetworkMode != "" {
		public = s.Verifier.NetworkMode != networkNone
	}
	if public {
		r.warn("environment.network_mode", "the task expects a network, and sandboxes have none: tests that install packages will fail",
			`put what the tests need into the image and say network_mode = "no-network"`)
	}
}

// limits takes over what the task asks for.
func (r *reader) limits(s *settings) {
	var l eval.LimitsSpec
	wall := r.seconds("verifier.timeout_sec", s.Verifier.TimeoutSec, defaultTestSeconds)
	l.WallSeconds = &wall
	l.CPUs = s.Environment.CPUs
	l.MemoryBytes = r.size("memory", s.Environment.MemoryMB, s.Environment.Memory)
	l.DiskBytes = r.size("storage", s.Environment.StorageMB, s.Environment.Storage)
	r.l.Task.Limits = &l
}
