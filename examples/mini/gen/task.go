package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"harness/eval"
)

// source is one tasks/<name>/ folder as written by a person.
type source struct {
	dir string

	ID          string   `yaml:"id"`
	Repo        string   `yaml:"repo"` // images/<repo>.yaml and images/repos/<repo>
	Language    string   `yaml:"language"`
	Difficulty  string   `yaml:"difficulty"`
	CreatedAt   string   `yaml:"created_at"`
	Version     string   `yaml:"version"`
	TestCommand string   `yaml:"test_command"`
	Hints       string   `yaml:"hints"`
	FailToPass  []string `yaml:"fail_to_pass"`
	PassToPass  []string `yaml:"pass_to_pass"`
	Limits      *limits  `yaml:"limits"`

	// Predictions maps the name of a predictions file to this task's line in it.
	Predictions map[string]prediction `yaml:"predictions"`

	problem, gold, test string
}

// limits are eval.LimitsSpec in the units that people write.
type limits struct {
	WallSeconds *int64 `yaml:"wall_seconds"`
	MemoryMiB   *int64 `yaml:"memory_mib"`
	DiskMiB     *int64 `yaml:"disk_mib"`
	Processes   *int64 `yaml:"processes"`
	OutputKiB   *int64 `yaml:"output_kib"`
}

// prediction is one line of a predictions file and how its trial must end.
// Exactly one of File, Literal and SameAs is given.
type prediction struct {
	File    string   `yaml:"file"`    // a patch in the task's folder
	Literal string   `yaml:"literal"` // "null" or "empty"
	SameAs  string   `yaml:"same_as"` // the prediction of another file, outcome included
	Outcome []string `yaml:"outcome"` // more than one only where the platform decides
	Why     string   `yaml:"why"`
}

// languages says which parser of the official harness reads the log of a
// language's test runner, and what the test command needs around it.
var languages = map[string]struct {
	parser string
	setup  []string
	piped  bool // as the official rows of languages other than Python do it
}{
	"python":     {parser: "parse_log_pytest"},
	"go":         {parser: "parse_log_gotest", setup: []string{"export GOCACHE=/tmp/go-cache GOFLAGS=-mod=mod GOPROXY=off CGO_ENABLED=0"}, piped: true},
	"javascript": {parser: "parse_log_tap", piped: true},
	"shell":      {parser: "parse_log_jq", piped: true},
}

func loadTasks(root string) ([]*source, error) {
	dirs, err := filepath.Glob(filepath.Join(root, "tasks", "*", "task.yaml"))
	if err != nil {
		return nil, err
	}
	var tasks []*source
	var errs []error
	for _, path := range dirs {
		t, err := loadTask(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b *source) int { return strings.Compare(a.ID, b.ID) })
	for i := 1; i < len(tasks); i++ {
		if tasks[i].ID == tasks[i-1].ID {
			errs = append(errs, fmt.Errorf("id %s is given twice: in %s and %s", tasks[i].ID, tasks[i-1].dir, tasks[i].dir))
		}
	}
	return tasks, errors.Join(errs...)
}

func loadTask(path string) (*source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &source{dir: filepath.Dir(path)}
	if err := yaml.UnmarshalWithOptions(data, t, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for name, into := range map[string]*string{"problem.md": &t.problem, "gold.patch": &t.gold, "test.patch": &t.test} {
		text, err := os.ReadFile(filepath.Join(t.dir, name))
		if err != nil {
			return nil, err
		}
		*into = string(text)
	}
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func (t *source) check() error {
	var errs []error
	errs = append(errs, eval.ValidateInstanceID(t.ID))
	if _, ok := languages[t.Language]; !ok {
		errs = append(errs, fmt.Errorf("language %q has no entry in the table of gen/task.go", t.Language))
	}
	if t.Repo == "" || t.TestCommand == "" || t.CreatedAt == "" {
		errs = append(errs, errors.New("repo, test_command and created_at must be given"))
	}
	if len(t.FailToPass) == 0 || len(t.PassToPass) == 0 {
		errs = append(errs, errors.New("fail_to_pass and pass_to_pass must name at least one test each"))
	}
	for _, id := range t.FailToPass {
		if slices.Contains(t.PassToPass, id) {
			errs = append(errs, fmt.Errorf("test %q is in both lists", id))
		}
	}
	if err := t.Limits.spec().Apply(eval.DefaultLimits()).Validate(); err != nil {
		errs = append(errs, err)
	}
	for name := range t.Predictions {
		if _, err := t.resolve(name); err != nil {
			errs = append(errs, fmt.Errorf("prediction %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (l *limits) spec() *eval.LimitsSpec {
	if l == nil {
		return nil
	}
	return &eval.LimitsSpec{
		WallSeconds: l.WallSeconds,
		MemoryBytes: times(l.MemoryMiB, eval.MiB),
		DiskBytes:   times(l.DiskMiB, eval.MiB),
		Processes:   l.Processes,
		OutputBytes: times(l.OutputKiB, eval.KiB),
	}
}

func times(n *int64, unit int64) *int64 {
	if n == nil {
		return nil
	}
	v := *n * unit
	return &v
}

// resolved is a prediction with its patch read; patch is nil for null.
type resolved struct {
	patch   *string
	outcome []string
	why     string
}

func (t *source) resolve(name string) (resolved, error) {
	p, ok := t.Predictions[name]
	if !ok {
		return resolved{}, fmt.Errorf("task %s has none for %s", t.ID, name)
	}
	if p.SameAs != "" {
		if p.File != "" || p.Literal != "" || len(p.Outcome) > 0 || t.Predictions[p.SameAs].SameAs != "" {
			return resolved{}, errors.New("same_as stands alone and names a prediction with a patch of its own")
		}
		r, err := t.resolve(p.SameAs)
		return r, err
	}
	r := resolved{outcome: p.Outcome, why: p.Why}
	switch {
	case p.File != "" && p.Literal == "":
		data, err := os.ReadFile(filepath.Join(t.dir, p.File))
		if err != nil {
			return r, err
		}
		text := string(data)
		r.patch = &text
	case p.File == "" && p.Literal == "empty":
		r.patch = new(string)
	case p.File == "" && p.Literal == "null":
	default:
		return r, errors.New("give one of: file, literal (null or empty), same_as")
	}
	if len(r.outcome) == 0 || r.why == "" {
		return r, errors.New("outcome and why must be given")
	}
	for _, o := range r.outcome {
		if _, err := eval.ParseOutcome(o); err != nil {
			return r, err
		}
	}
	return r, nil
}
