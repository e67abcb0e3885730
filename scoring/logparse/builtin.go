package logparse

import "strings"

// Builtin returns all parsers, in the order in which lists show them. Names are
// those of dataset rows; several repositories have a name of their own for a
// shared format.
func Builtin() []Parser {
	return []Parser{
		{"parse_log_pytest", "pytest -rA", parsePytest},
		{"parse_log_astroid", "pytest -rA", parsePytest},
		{"parse_log_flask", "pytest -rA", parsePytest},
		{"parse_log_marshmallow", "pytest -rA", parsePytest},
		{"parse_log_pvlib", "pytest -rA", parsePytest},
		{"parse_log_pyvista", "pytest -rA", parsePytest},
		{"parse_log_sqlfluff", "pytest -rA", parsePytest},
		{"parse_log_xarray", "pytest -rA", parsePytest},
		{"parse_log_pytest_options", "pytest -rA, paths in parameters shortened", parsePytestOptions},
		{"parse_log_pydicom", "pytest -rA, paths in parameters shortened", parsePytestOptions},
		{"parse_log_pylint", "pytest -rA, paths in parameters shortened", parsePytestOptions},
		{"parse_log_requests", "pytest -rA, paths in parameters shortened", parsePytestOptions},
		{"parse_log_pytest_v2", "pytest -rA or -v, coloured", parsePytestV2},
		{"parse_log_astropy", "pytest -rA or -v, coloured", parsePytestV2},
		{"parse_log_scikit", "pytest -rA or -v, coloured", parsePytestV2},
		{"parse_log_sphinx", "pytest -rA or -v, coloured", parsePytestV2},
		{"parse_log_matplotlib", "pytest -rA, mouse buttons by number", parseMatplotlib},
		{"parse_log_seaborn", "pytest --no-header -rA", parseSeaborn},
		{"parse_log_django", "Django's runtests.py --verbosity 2", parseDjango},
		{"parse_log_sympy", "sympy's bin/test -C --verbose", parseSympy},
		{"parse_log_gotest", "go test -v", gotestRule.parse},
		{"parse_log_tap", "TAP", tapRule.parse},
		{"harness_sh", "PASS: name, FAIL: name ... of shell tests (ours)", shellRule.parse},
	}
}

var builtin = func() map[string]Parser {
	m := make(map[string]Parser)
	for _, p := range Builtin() {
		m[p.Name] = p
	}
	return m
}()

// Lookup finds a parser by the name that dataset rows use, e.g.
// "parse_log_django".
func Lookup(name string) (Parser, bool) {
	p, ok := builtin[name]
	return p, ok
}

// Names lists all parsers, comma separated, for messages.
func Names() string {
	var names []string
	for _, p := range Builtin() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
