package logparse

import (
	"slices"
	"strings"
	"sync"
)

// Builtin returns all parsers, in the order in which lists show them. Names are
// those of dataset rows; several repositories have a name of their own for a
// shared format.
func Builtin() []Parser {
	return slices.Concat(officialParsers(), rebenchParsers(), multiParsers())
}

// officialParsers are those of SWE-bench, and the shell's.
func officialParsers() []Parser {
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
		{"parse_log_cargo", "cargo test", cargoRule.parse},
		{"parse_log_maven", "mvn test, one call a test, traced", parseMaven},
		{"parse_log_ant", "ant with the junit task", antRule.parse},
		{"parse_log_gradle_custom", "gradle test with results logged", parseGradleCustom},
		{"parse_log_redis", "the Tcl runner of redis and valkey", redisRule.parse},
		{"parse_log_jq", "Automake's PASS: and FAIL: lines", jqRule.parse},
		{"parse_log_doctest", "doctest (C++) with -s -r=xml", parseDoctest},
		{"parse_log_micropython_test", "MicroPython's run-tests.py", micropythonRule.parse},
		{"parse_log_googletest", "GoogleTest", googletestRule.parse},
		{"parse_log_phpunit", "phpunit --testdox", parsePHPUnit},
		{"parse_log_minitest", "minitest --verbose", minitestRule.parse},
		{"parse_log_cucumber", "cucumber --format progress", cucumberRule.parse},
		{"parse_log_ruby_unit", "test-unit --verbose", rubyUnitRule.parse},
		{"parse_log_rspec_transformed_json", "rspec's JSON as \"name - passed\" lines", rspecRule.parse},
		{"parse_log_jekyll", "minitest or cucumber, by pull request", parseJekyll},
		{"parse_log_jest", "jest --verbose", jestRule.parse},
		{"parse_log_jest_json", "jest's JSON as \"[PASSED] name\" lines", jestJSONRule.parse},
		{"parse_log_immutable_js", "either of jest's, by pull request", parseImmutableJS},
		{"parse_log_vitest", "vitest --reporter=verbose", vitestRule.parse},
		{"parse_log_karma", "karma's mocha reporter", parseKarma},
		{"parse_log_tap", "TAP", tapRule.parse},
		{"parse_log_carbon", "jest, by file", parseCarbon},
		{"parse_log_react_pdf", "jest, by file", parseCarbon},
		{"parse_log_grommet", "jest, by file, failures first", parseGrommet},
		{"parse_log_calypso", "jest --verbose, traced", parseCalypso},
		{"parse_log_next", "cypress or karma, by version", parseNext},
		{"parse_log_highlightjs", "mocha's spec reporter", parseHighlightJS},
		{"parse_log_prismjs", "mocha's JSON reporter, traced", parsePrismJS},
		{"parse_log_lighthouse", "mocha or jest, by version", parseLighthouse},
		{"parse_log_quarto_cli", "deno test, coloured", parseQuarto},
		{"parse_log_chart_js", "karma's dots reporter, failures only", parseChartJS},
		{"parse_log_marked", "jasmine, failures only", markedRule.parse},
		{"parse_log_p5js", "mocha, failures only", parseP5JS},
		{"parse_log_bpmn_js", "karma, failures only", parseBpmnJS},
		{"parse_log_openlayers", "karma and mocha, failures only", parseOpenlayers},
		{"parse_log_eslint", "mocha, failures only", parseESLint},
		{"junit_xml", "JUnit XML, any number of documents (ours)", parseJUnitXML},
		{"tap", "TAP 12 to 14 with subtests (ours)", parseTAP},
		{"ctrf", "Common Test Report Format (ours)", parseCTRF},
		{"gotest_json", "go test -json (ours)", parseGoTestJSON},
		{"pytest_json", "pytest-json-report or pytest-reportlog (ours)", parsePytestJSON},
		{"pro_json", "what the parsers of SWE-bench Pro's tasks write (ours)", parsePro},
		{"harness_sh", "PASS: name, FAIL: name ... of shell tests (ours)", shellRule.parse},
	}
}

var byName = sync.OnceValue(func() map[string]Parser {
	m := make(map[string]Parser)
	for _, p := range Builtin() {
		m[p.Name] = p
	}
	return m
})

// Lookup finds a parser by the name that dataset rows use, e.g.
// "parse_log_django". A task of Multi-SWE-bench names its pull request instead:
// multi/ORG/REPO:pr-NUMBER.
func Lookup(name string) (Parser, bool) {
	p, ok := byName()[resolve(name)]
	return p, ok
}

// Names lists the parsers for messages, comma separated. Of those that stand for
// other benchmarks' rows it tells only how they are named.
func Names() string {
	var names []string
	for _, p := range officialParsers() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ") + ", " + rebenchPrefix + "NAME, " + multiPrefix + "ORG/REPO:pr-NUMBER"
}
