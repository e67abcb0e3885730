package datasets

import (
	"strings"

	"harness/datasets/evalscript"
	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// live: rows of SWE-bench-Live, the Python sets and MultiLang.
var live = family{
	id:    eval.FamilyLive,
	name:  "SWE-bench-Live",
	signs: [][]string{{"test_cmds"}},
	reads: map[string]string{"image": "docker_image"},
	names: map[string]string{"eval_script": "test_cmds"},
	fills: []string{"log_parser", "difficulty", "created_at"},
	fill:  (*filling).live,
	lacks: "a row of SWE-bench-Live whose log_parser is program text needs the name of a parser there, since programs of rows are never run outside a sandbox; tasks for Windows can't be executed at all",
}

// windowsImage marks the images of the set for Windows.
const windowsImage = "/sweb.eval.win."

func (in *filling) live() {
	t := in.task
	in.created()
	// In the newer sets difficulty is an object of counts.
	if c := in.row.at("difficulty"); c.kind == strictjson.Object {
		t.Difficulty = string(c.raw)
	} else {
		t.Difficulty = in.text("difficulty")
	}
	in.liveParser()
	if t.Image == "" {
		t.Image = "starryzhang/sweb.eval.x86_64." + strings.ReplaceAll(strings.ToLower(t.InstanceID), "__", "_1776_") + ":latest"
	}
	c := evalscript.LiveCommands{Rebuild: in.commands("rebuild_cmds"), Test: in.commands("test_cmds"), Print: in.commands("print_cmds")}
	switch {
	case strings.Contains(t.Image, windowsImage):
		in.warn("docker_image", quote(t.Image)+" is an image for Windows", "leave the task out: it can be loaded, not executed")
	case len(c.Test) == 0:
		in.need("test_cmds")
	default:
		in.script(evalscript.Live(t, c))
	}
}

// liveParser takes the name of a parser. Rows of MultiLang have the text of a
// Python function instead.
func (in *filling) liveParser() {
	name := strings.TrimSpace(in.text("log_parser"))
	switch {
	case strings.EqualFold(name, "pytest"):
		in.task.LogParser = "parse_log_pytest"
	case strings.ContainsAny(name, " \n("):
		in.warn("log_parser", "it is the text of a program, which is never run", "put the name of a parser in its place")
	default:
		in.task.LogParser = name
	}
}
