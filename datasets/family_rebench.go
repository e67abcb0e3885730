package datasets

import (
	"fmt"

	"harness/datasets/evalscript"
	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// rebench: rows of SWE-rebench's first release and of its leaderboard sets.
var rebench = family{
	id:    eval.FamilyRebench,
	name:  "SWE-rebench",
	signs: [][]string{{"install_config"}},
	reads: map[string]string{"image": "docker_image"},
	names: map[string]string{"eval_script": "install_config", "log_parser": "install_config"},
	fills: []string{"created_at"},
	fill:  (*filling).rebench,
	lacks: "rows of SWE-rebench without docker_image or image_name have no published image; build one and add its name as image",
}

// rebench2: rows of the second release, in many languages.
var rebench2 = family{
	id:    eval.FamilyRebench2,
	name:  "SWE-rebench V2",
	signs: [][]string{{"install_config", "language"}, {"install_config", "interface"}, {"install_config", "pr_description"}},
	reads: map[string]string{"image": "image_name"},
	names: map[string]string{"eval_script": "install_config", "log_parser": "install_config"},
	fills: []string{"created_at"},
	fill:  (*filling).rebench2,
	lacks: "a row of SWE-rebench V2 needs its image_name",
}

func (in *filling) rebench() {
	in.created()
	if in.task.Image == "" {
		in.task.Image = in.text("image_name")
	}
	if c, ok := in.installConfig(); ok {
		in.script(evalscript.Rebench(in.task, c))
	}
}

func (in *filling) rebench2() {
	t := in.task
	in.created()
	// The images have the repository at the root, under its name.
	if _, name, ok := cutRepo(t.Repo); ok && t.WorkDir == "" {
		t.WorkDir = "/" + name
	}
	own := t.LogParser
	c, ok := in.installConfig()
	if own == "" && t.LogParser != "" {
		// It has parsers of the names of SWE-bench's that read other logs.
		t.LogParser = "rebench2/" + t.LogParser
	}
	if ok {
		in.script(evalscript.Rebench2(t, c))
	}
}

// installConfig reads how tests are run. The parser that it names becomes the
// task's; ok is false when there is no test command.
func (in *filling) installConfig() (c evalscript.InstallConfig, ok bool) {
	raw, ok := in.value("install_config", strictjson.Object)
	if !ok {
		in.need("install_config")
		return c, false
	}
	into := map[string]*[]string{"test_cmd": &c.Test, "install": &c.Install, "eval_commands": &c.Eval}
	err := strictjson.Members(raw, func(key []byte, v strictjson.Value) (err error) {
		name := string(key)
		switch {
		case name == "log_parser" && v.Kind == strictjson.String && in.task.LogParser == "":
			in.task.LogParser, err = v.Text()
		case name == "log_parser" && v.Kind != strictjson.String && v.Kind != strictjson.Null:
			err = fmt.Errorf("log_parser is %s, a string is expected", v.Kind)
		case into[name] != nil:
			*into[name], err = oneOrMany(v)
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
		return err
	})
	if err != nil {
		in.bad("install_config", err.Error(), `write test_cmd as a command or a list of commands, log_parser as a name`)
		return c, false
	}
	if len(c.Test) == 0 {
		in.bad("install_config", "it has no test_cmd", "add the command that runs the tests")
		return c, false
	}
	return c, true
}

// oneOrMany reads a command or a list of them; blank ones do nothing.
func oneOrMany(v strictjson.Value) ([]string, error) {
	switch v.Kind {
	case strictjson.Null:
		return nil, nil
	case strictjson.String:
		s, err := v.Text()
		return dropBlank([]string{s}), err
	case strictjson.Array:
		list, err := stringList(v.Raw)
		return dropBlank(list), err
	}
	return nil, fmt.Errorf("it is %s, a string or a list of strings is expected", v.Kind)
}
