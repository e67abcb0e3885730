package tasktree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"harness/datasets/internal/strictjson"
	"harness/datasets/internal/tree"
)

// meta is task.yaml.
type meta struct {
	InstanceID string   `yaml:"instance_id"`
	Repo       string   `yaml:"repo"`
	BaseCommit string   `yaml:"base_commit"`
	Version    string   `yaml:"version"`
	CreatedAt  string   `yaml:"created_at"`
	Difficulty string   `yaml:"difficulty"`
	Language   string   `yaml:"language"`
	Image      string   `yaml:"image"`
	LogParser  string   `yaml:"log_parser"`
	EvalType   string   `yaml:"eval_type"`
	Split      string   `yaml:"split"`
	Datasets   []string `yaml:"datasets"`
	Assets     assets   `yaml:"image_assets"`

	unread bool
}

// maxText bounds a prose file, a patch or a script. Some gold patches have
// several MiB.
const maxText = 32 << 20

// reader collects what one task's files hold and what is wrong with them.
type reader struct {
	f  *tree.Folder
	at *tree.Loaded
}

// readTask reads one task. The error is for a folder that can't be opened.
func readTask(repo *tree.Folder, id string) (tree.Loaded, meta, error) {
	var l tree.Loaded
	f, err := repo.Sub(path.Join(tasksDir, id), tree.MaxTaskBytes)
	if err != nil {
		return l, meta{}, err
	}
	defer func() { _ = f.Close() }()
	l.File = f.Path(taskFile)
	l.Task.InstanceID = id
	r := reader{f, &l}
	m := r.meta(id)
	if m.unread {
		return l, m, nil
	}
	t := &l.Task
	t.Repo, t.BaseCommit, t.Version, t.CreatedAt = m.Repo, m.BaseCommit, m.Version, m.CreatedAt
	t.Difficulty, t.Language = m.Difficulty, m.Language
	t.Image, t.LogParser, t.EvalType = m.Image, m.LogParser, m.EvalType
	t.Patch = r.text("gold.patch")
	t.TestPatch = r.text("test.patch")
	t.EvalScript = r.text("eval.sh")
	t.ProblemStatement = r.text("problem_statement.md")
	if f.Has("hints.md") {
		t.HintsText = r.text("hints.md")
	}
	r.tests()
	r.assets(m.Assets)
	return l, m, nil
}

func (r *reader) bad(p tree.Problem) { r.at.Problems = append(r.at.Problems, p) }

func (r *reader) failed(err error) {
	var p *tree.Problem
	if !errors.As(err, &p) {
		p = &tree.Problem{File: r.at.File, Reason: err.Error()}
	}
	r.bad(*p)
}

func (r *reader) text(name string) string {
	text, err := r.f.Text(name, maxText)
	if err != nil {
		r.failed(err)
	}
	return text
}

// meta reads task.yaml and checks what is particular to this form.
func (r *reader) meta(id string) meta {
	var m meta
	if err := r.f.YAML(taskFile, &m); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = &tree.Problem{File: r.f.Path(""), Reason: "there is no " + taskFile + ", so it is not a task", Fix: "add the file or remove the folder"}
		}
		r.failed(err)
		return meta{unread: true}
	}
	for _, need := range []struct{ key, value string }{
		{"instance_id", m.InstanceID}, {"repo", m.Repo}, {"base_commit", m.BaseCommit}, {"split", m.Split},
		{"image", m.Image}, {"log_parser", m.LogParser}, {"eval_type", m.EvalType},
	} {
		if need.value == "" {
			r.bad(tree.Problem{File: r.at.File, Field: need.key, Reason: "the key is missing or empty", Fix: "add it"})
		}
	}
	if m.InstanceID != "" && m.InstanceID != id {
		r.bad(tree.Problem{File: r.at.File, Field: "instance_id", Reason: fmt.Sprintf("it is %.200q, its folder is called %.200q", m.InstanceID, id), Fix: "rename one of them"})
	}
	return m
}

// tests reads the two lists. They are JSON, so that no name is taken for a
// number or a truth value.
func (r *reader) tests() {
	raw, err := r.f.Read(testsFile, maxText)
	if err != nil {
		r.failed(err)
		return
	}
	file := r.f.Path(testsFile)
	lists := map[string]*[]string{"FAIL_TO_PASS": &r.at.Task.FailToPass, "PASS_TO_PASS": &r.at.Task.PassToPass}
	err = strictjson.Members(raw, func(key []byte, v strictjson.Value) error {
		name := string(key)
		into, ok := lists[name]
		if !ok {
			return nil
		}
		if *into != nil {
			return fmt.Errorf("%s is given twice", name)
		}
		if v.Kind != strictjson.Array {
			return fmt.Errorf("%s is %s, a list of strings is expected", name, v.Kind)
		}
		*into = []string{}
		return strictjson.Elements(v.Raw, func(v strictjson.Value) error {
			if v.Kind != strictjson.String {
				return fmt.Errorf("element %d of %s is %s, a string is expected", len(*into)+1, name, v.Kind)
			}
			s, err := v.Text()
			if err != nil {
				return fmt.Errorf("element %d of %s has %w", len(*into)+1, name, err)
			}
			*into = append(*into, s)
			return nil
		})
	})
	if err != nil {
		r.bad(tree.Problem{File: file, Line: jsonLine(raw, err), Reason: err.Error(), Fix: `write it as {"FAIL_TO_PASS": ["test one"], "PASS_TO_PASS": []}`})
		return
	}
	for _, name := range []string{"FAIL_TO_PASS", "PASS_TO_PASS"} {
		if *lists[name] == nil {
			r.bad(tree.Problem{File: file, Field: name, Reason: "the list is missing", Fix: "add it, empty if there are no such tests"})
		}
	}
}

// jsonLine is the line of a syntax error, 0 when it is not known.
func jsonLine(raw []byte, err error) int {
	var se *strictjson.SyntaxError
	if !errors.As(err, &se) || se.Offset < 0 || se.Offset > len(raw) {
		return 0
	}
	return 1 + strings.Count(string(raw[:se.Offset]), "\n")
}
