package datasets

import (
	"strings"

	"harness/eval"
)

// normalise brings a task to the one form that is compared, stored and hashed:
// lists are never nil, defaults are spelled out.
func normalise(t *eval.Task) {
	if t.FailToPass == nil {
		t.FailToPass = []string{}
	}
	if t.PassToPass == nil {
		t.PassToPass = []string{}
	}
	if t.EvalType == "" {
		t.EvalType = eval.EvalPassAndFail
	}
	if t.Language == "" {
		t.Language = language(t)
	}
	t.Language = strings.ToLower(t.Language)
	if t.Limits != nil && *t.Limits == (eval.LimitsSpec{}) {
		t.Limits = nil
	}
	if t.Frozen != nil && len(t.Frozen.Missing) == 0 && t.Frozen.Missing != nil {
		f := *t.Frozen
		f.Missing = nil
		t.Frozen = &f
	}
	normaliseObjects(t)
}

// language tells the language where the log parser, or for rows without one
// the repository, leaves no doubt. Parsers for formats that several languages
// share (TAP, cucumber, vitest ...) tell nothing.
func language(t *eval.Task) string {
	if t.Family == eval.FamilyHarbor {
		return "" // the parser is that of the tests, whatever the task is about
	}
	if t.LogParser == "" {
		if pythonRepos[t.Repo] {
			return "python"
		}
		return ""
	}
	return parserLanguage[strings.TrimPrefix(strings.TrimPrefix(t.LogParser, "rebench2/"), "parse_log_")]
}

var parserLanguage = func() map[string]string {
	m := make(map[string]string)
	for lang, parsers := range map[string]string{
		"python": "pytest pytest_options pytest_v2 astroid astropy django flask marshmallow matplotlib pvlib pydicom " +
			"pylint pyvista requests scikit seaborn sphinx sqlfluff sympy xarray",
		"go":   "gotest",
		"rust": "cargo",
		"java": "maven ant gradle_custom",
		"php":  "phpunit",
		"ruby": "minitest ruby_unit rspec_transformed_json jekyll",
		"c":    "jq redis",
		"c++":  "doctest googletest",
		"javascript": "jest jest_json karma immutable_js chart_js marked p5js bpmn_js openlayers eslint prismjs " +
			"highlightjs grommet calypso next lighthouse",
	} {
		for name := range strings.FieldsSeq(parsers) {
			m[name] = lang
		}
	}
	return m
}()

var pythonRepos = func() map[string]bool {
	m := make(map[string]bool)
	for repo := range strings.FieldsSeq(`
		astropy/astropy django/django matplotlib/matplotlib mwaskom/seaborn pallets/flask psf/requests
		pydata/xarray pylint-dev/pylint pytest-dev/pytest scikit-learn/scikit-learn sphinx-doc/sphinx sympy/sympy
		marshmallow-code/marshmallow pvlib/pvlib-python pydicom/pydicom pylint-dev/astroid pyvista/pyvista sqlfluff/sqlfluff`) {
		m[repo] = true
	}
	return m
}()
