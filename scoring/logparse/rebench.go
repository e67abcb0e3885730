package logparse

import "strings"

// SWE-rebench V2 names its parsers as SWE-bench does, but several of the same
// name read other logs, and it has no XFAIL. All of them are therefore here
// under rebenchPrefix, whatever the official harness has.

const rebenchPrefix = "rebench2/"

// ForSWERebenchV2 returns the parser for install_config.log_parser of a row of
// SWE-rebench V2.
func ForSWERebenchV2(logParser string) (name string, ok bool) {
	name = rebenchPrefix + logParser
	_, ok = Lookup(name)
	return name, ok
}

// rebenchDialect is how SWE-rebench V2 reads the formats that it shares with
// SWE-bench.
var rebenchDialect = Dialect{
	Name: "SWE-rebench-V2", CutSummary: true, ShortLinesRaise: true, ShortV2LinesRaise: true, NoXFail: true,
}

// rebenchShared are its functions that read a log as SWE-bench's of the same name
// do, but for the dialect.
const rebenchShared = "pytest pytest_options pytest_v2 gotest redis jq doctest micropython_test googletest minitest cucumber " +
	"ruby_unit rspec_transformed_json cargo maven ant calypso chart_js marked p5js jest jest_json vitest karma tap " +
	"django seaborn sympy matplotlib astroid flask marshmallow pvlib pyvista sqlfluff xarray pydicom requests " +
	"pylint astropy scikit sphinx"

// rebenchParsers lists those, and then its own.
func rebenchParsers() []Parser {
	official := make(map[string]Parser)
	for _, p := range officialParsers() {
		official[p.Name] = p
	}
	var ps []Parser
	for _, name := range strings.Fields(rebenchShared) {
		ps = append(ps, official["parse_log_"+name])
	}
	ps = append(ps, []Parser{
		{"parse_log_pydantic", "pytest -rA", parsePytest},
		{"parse_log_dvc", "pytest -rA", parsePytest},
		{"parse_log_pytest_nebo", "pytest -v, perhaps of several workers", parsePytestNebo},
		{"parse_combined_test_reports", "JUnit XML, several documents with testsuites", parseTestReports},
		{"parse_log_phpunit", "phpunit --testdox, times taken off", parseRebenchPHPUnit},
		{"parse_log_gradle_custom", "gradle test with results logged, times taken off", rebenchGradleRule.parse},
		{"parse_log_react_pdf", "jest, by file", rebenchJestFiles.parse},
		{"parse_log_elixir", "ExUnit --trace", elixirCases.parse},
		{"parse_log_ruby_v1", "minitest, one suite a heading", parseRubyV1},
		{"parse_log_cpp", "pytest -v, names without their file", parseCpp},
		{"parse_log_cpp_v2", "\"Test name passed\" lines", cppV2Cases.parse},
		{"parse_log_cpp_v3", "\"[1/9] name... OK\" lines, Botan's summary", parseCppV3},
		{"parse_log_cpp_v4", "CTest", parseCppV4},
		{"parse_lue_nvim", "plenary.nvim", nvimCases.parse},
		{"parse_lua_nvim", "plenary.nvim", nvimCases.parse},
		{"parse_log_lua_nvim", "plenary.nvim", nvimCases.parse},
		{"parse_java_mvn", "Surefire, JUnit XML or traced Maven calls", parseJavaMvn},
		{"parse_log_java_mvn", "Surefire, JUnit XML or traced Maven calls", parseJavaMvn},
		{"parse_java_mvn_v2", "Maven's summary of modules", parseJavaMvnV2},
		{"parse_log_java_mvn_v2", "Maven's summary of modules", parseJavaMvnV2},
		{"parse_log_php_v1", "Pest", parsePHPV1},
		{"parse_log_ruby_v2", "minitest --verbose, with times", parseRubyV2},
		{"parse_log_haskell", "tasty, hspec or HUnit", parseHaskell},
		{"parse_log_haskell_v2", "hspec, as a tree", parseHaskellV2},
		{"parse_log_js", "mocha, with its list of failures", jsCases.parse},
		{"parse_log_js_2", "mocha", js2Cases.parse},
		{"parse_log_js_3", "node-tap with nested blocks", parseJS3},
		{"parse_log_js_4", "runners with a mark before the name", parseJS4},
		{"parse_log_gradlew_v1", "JUnit XML of Gradle, one document a suite", parseGradlewV1},
		{"parse_log_julia", "Julia's Test Summary", parseJulia},
		{"parse_log_npx", "mocha", parseNpx},
		{"parse_log_r", "testthat", parseR},
		{"parse_log_r_v2", "R CMD check", parseRV2},
		{"parse_log_lein", "lein test, by namespace", parseLein},
		{"parse_log_dart", "dart test --reporter json", parseDart},
		{"parse_log_dart_v2", "dart test of several packages", parseDartV2},
		{"parse_log_dart_v3", "flutter test", parseDartV3},
		{"parse_log_scala", "ScalaTest with times", scalaCases.parse},
		{"parse_log_scala_v2", "munit, coloured", parseScalaV2},
		{"parse_log_scala_v3", "ScalaTest with suites", parseScalaV3},
		{"parse_log_ocaml", "Alcotest", parseOCaml},
		{"parse_log_ocaml_v2", "dune's log, by binary", parseOCamlV2},
		{"parse_log_ocaml_v3", "\"[OK] name\" lines", parseOCamlV3},
		{"parse_log_ocaml_v4", "ocamlbuild", parseOCamlV4},
		{"parse_log_ocaml_v5", "ocamlbuild", parseOCamlV4},
		{"parse_log_sbt", "JUnit XML anywhere in a log", parseTestcases},
		{"parse_log_junit", "JUnit XML anywhere in a log", parseTestcases},
		{"parse_logs_r_junit", "JUnit XML of testthat", parseRJUnit},
		{"parse_logs_kotlin_junit", "Surefire, by class", parseKotlinJUnit},
		{"parse_log_r_junit", "JUnit XML of testthat", parseRJUnit},
		{"parse_log_kotlin_junit", "Surefire, by class", parseKotlinJUnit},
		{"parse_log_swift", "XCTest", swiftCases.parse},
		{"parse_log_csharp", "dotnet test", csharpCases.parse},
	}...)
	for i := range ps {
		run := ps[i].run
		ps[i].Name = rebenchPrefix + ps[i].Name
		ps[i].run = func(in *input) error {
			goesOn := in.opt.Dialect.GoesOn
			in.opt.Dialect = rebenchDialect
			in.opt.Dialect.GoesOn = goesOn
			return run(in)
		}
	}
	return ps
}
