package datasets

import (
	"cmp"
	"fmt"
	"strings"

	"harness/datasets/evalscript"
	"harness/datasets/internal/strictjson"
	"harness/eval"
)

const proLacks = "SWE-bench Pro keeps each task's run_script.sh and parser.py in the run_scripts folder of its own repository; " +
	"add their text to the row as run_script and parser_script"

// ProParser is the log parser of SWE-bench Pro's tasks. It reads the results that
// the task's own parser wrote in the sandbox.
const ProParser = "pro_json"

// pro: rows of SWE-bench Pro as published, and with its scripts joined to them.
var pro = family{
	id:    eval.FamilyPro,
	name:  "SWE-bench Pro",
	signs: [][]string{{"fail_to_pass", "pass_to_pass"}},
	reads: map[string]string{"language": "repo_language"},
	names: map[string]string{
		"FAIL_TO_PASS": "fail_to_pass", "PASS_TO_PASS": "pass_to_pass",
		"image": "dockerhub_tag", "eval_script": "run_script", "files": "run_script",
	},
	fills: []string{"FAIL_TO_PASS", "PASS_TO_PASS", "problem_statement"},
	fill:  (*filling).pro,
	lacks: proLacks,
}

// proInfo: the instance_info files of SWE-bench Pro's repository, which have the
// tests and no patches.
var proInfo = family{
	id:    eval.FamilyPro,
	name:  "SWE-bench Pro (instance info)",
	signs: [][]string{{"Test Files"}},
	fills: []string{"patch", "test_patch"},
	fill:  (*filling).proInfo,
	lacks: proLacks,
}

func (in *filling) pro() {
	t := in.task
	t.FailToPass, t.PassToPass = in.pythonList("fail_to_pass", "FAIL_TO_PASS"), in.pythonList("pass_to_pass", "PASS_TO_PASS")
	in.proStatement()
	in.proImage(in.text("dockerhub_tag"))

	run, parser := in.text("run_script"), in.text("parser_script")
	if run == "" || parser == "" {
		return // Runnable tells where they are
	}
	tests := in.pythonList("selected_test_files_to_run")
	before := in.text("before_repo_set_cmd")
	if before == "" {
		in.need("before_repo_set_cmd")
		return
	}
	t.Files = append(t.Files,
		eval.TaskFile{Path: evalscript.ProRunScript, Mode: 0o755, Data: []byte(run)},
		eval.TaskFile{Path: evalscript.ProParser, Mode: 0o644, Data: []byte(parser)},
	)
	if t.EvalScript == "" {
		t.EvalScript = evalscript.Pro(t, evalscript.ProRun{
			BeforeTests: before, Tests: tests, Dockerfiles: []string{in.text("base_dockerfile"), in.text("instance_dockerfile")},
		})
	}
	if t.LogParser == "" {
		t.LogParser = ProParser
	}
}

func (in *filling) proInfo() {
	in.task.Patch, in.task.TestPatch = in.text("patch"), in.text("test_patch")
	in.pythonList("Test Files")
	in.proImage("")
}

// proStatement puts requirements and interface behind the issue: the official
// prompt has all three.
func (in *filling) proStatement() {
	text := in.text("problem_statement")
	for _, part := range []struct{ member, title string }{
		{"requirements", "Requirements:"}, {"interface", "New interfaces introduced:"},
	} {
		if s := in.text(part.member); strings.TrimSpace(s) != "" {
			text += "\n\n" + part.title + "\n" + s
		}
	}
	in.task.ProblemStatement = text
}

// proImage names the published image. Tags are cut at 128 bytes; the suffix -vnan
// is no part of them, and element-web is shortened, but for one task.
func (in *filling) proImage(tag string) {
	t := in.task
	t.WorkDir = cmp.Or(t.WorkDir, "/app")
	owner, name, ok := cutRepo(strings.ToLower(t.Repo))
	if t.Image != "" || tag == "" && !ok {
		return
	}
	if tag == "" {
		id := strings.TrimPrefix(t.InstanceID, "instance_")
		if id != "element-hq__element-web-ec0f940ef0e8e3b61078f145f34dc40d1938e6c5-vnan" {
			id = strings.TrimSuffix(id, "-vnan")
			if owner == "element-hq" && name == "element-web" {
				name = "element"
			}
		}
		tag = owner + "." + name + "-" + id
		tag = tag[:min(len(tag), 128)]
	}
	t.Image = "jefzda/sweap-images:" + tag
}

// pythonList returns a list of strings that may be written in a string as JSON or
// as Python writes it.
func (in *filling) pythonList(member string, fields ...string) []string {
	c := in.row.at(member)
	fix := `write it as ["test one", "test two"]`
	var list []string
	err := c.err
	switch {
	case err != nil:
	case c.missing():
		in.need(member, fields...)
		return nil
	case c.kind == strictjson.Array:
		list, err = stringList(c.raw)
	case c.kind == strictjson.String:
		list, err = stringList([]byte(c.text))
		if err != nil {
			list, err = parsePythonList(c.text)
		}
		if err != nil {
			err = fmt.Errorf("the string holds a list of strings neither as JSON nor as Python writes it: %w", err)
		}
	default:
		err = fmt.Errorf("it is %s, a list of strings (or a string of one) is expected", c.kind)
	}
	if err != nil {
		in.bad(member, err.Error(), fix, fields...)
		return nil
	}
	return list
}
