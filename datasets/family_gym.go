package datasets

import (
	"strings"

	"harness/datasets/evalscript"
	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// gym: rows of SWE-Gym. They have the members of SWE-bench's older form, so it is
// the repository that tells them apart.
var gym = family{
	id:    eval.FamilyGym,
	name:  "SWE-Gym",
	signs: [][]string{{"setup_script", "test_script"}},
	looks: looksLikeGym,
	reads: map[string]string{"patch": "golden_patch"},
	fill:  (*filling).gym,
	lacks: "rows of SWE-Gym do not say how their tests are run; add setup_script and test_script, or eval_script and log_parser",
}

// gymParsers are SWE-Gym's repositories and the parsers of their logs. Pydantic's
// is a variant that is not among ours.
var gymParsers = map[string]string{
	"bokeh/bokeh": "parse_log_pytest", "conan-io/conan": "parse_log_pytest", "dask/dask": "parse_log_pytest",
	"facebookresearch/hydra": "parse_log_pytest", "getmoto/moto": "parse_log_pytest", "iterative/dvc": "parse_log_pytest",
	"modin-project/modin": "parse_log_pytest", "pandas-dev/pandas": "parse_log_pytest", "project-monai/monai": "parse_log_pytest",
	"pydantic/pydantic": "", "python/mypy": "parse_log_pytest",
}

func looksLikeGym(r *row) bool {
	if c := r.at("dataset_name"); c.kind == strictjson.String && strings.HasPrefix(c.text, "SWE-Gym/") {
		return true
	}
	if _, known := gymParsers[strings.ToLower(r.at("repo").text)]; !known {
		return false
	}
	// Rows of other sets have these repositories, too: they bring an image, a
	// commit for the environment, or a date as the standard has it.
	for _, other := range []string{"image", "eval_script", "image_name", "docker_image", "environment_setup_commit"} {
		if r.at(other).kind != strictjson.Absent {
			return false
		}
	}
	created := r.at("created_at")
	return created.kind == strictjson.String && !strings.Contains(created.text, "T")
}

func (in *filling) gym() {
	t := in.task
	if t.Image == "" && t.InstanceID != "" {
		t.Image = "xingyaoww/sweb.eval.x86_64." + strings.ReplaceAll(strings.ToLower(t.InstanceID), "__", "_s_") + ":latest"
	}
	if t.LogParser == "" {
		t.LogParser = gymParsers[strings.ToLower(t.Repo)]
	}
	setup, tests := in.text("setup_script"), in.text("test_script")
	if setup != "" && tests != "" {
		in.script(evalscript.Gym(setup, tests))
	}
}
