package grade

import (
	"harness/eval"
	"harness/scoring/logparse"
)

// strictName is the profile whose rules give every other one a second opinion.
const strictName = "strict"

// Profiles returns all profiles, in the order in which lists show them.
func Profiles() []Profile {
	also := []string{strictName}
	return []Profile{
		{Name: "swebench", Recipe: swebenchRecipe, Rules: swebenchRules, Also: also},
		{Name: "swebench-4", Recipe: swebench4Recipe, Rules: swebench4Rules, Also: also},
		{Name: "swebench-2", Recipe: swebench2Recipe, Rules: swebench2Rules, Also: also},
		{Name: "live", Recipe: liveRecipe, Rules: liveRules, Families: []string{eval.FamilyLive}, Also: also},
		{Name: "rebench", Recipe: rebenchRecipe, Rules: rebenchRules, Families: []string{eval.FamilyRebench2}, Also: also},
		{Name: "multi-swe-bench", Recipe: multiRecipe, Rules: multiRules, Families: []string{eval.FamilyMultiSWEBench}, Also: also},
		{Name: "pro", Recipe: proRecipe, Rules: proRules, Families: []string{eval.FamilyPro}, Also: also},
		harborProfile,
		{Name: strictName, Recipe: swebenchRecipe, Rules: strictRules},
	}
}

// How each mark is written where FAIL_TO_PASS and PASS_TO_PASS agree.
var (
	bothPass    = Marks{Passes, Passes}
	bothLeftOut = Marks{LeftOut, LeftOut}
)

// Texts by which the scripts around a test command say that they failed.
var (
	badCodes  = []string{">>>>> Patch Apply Failed", ">>>>> Reset Failed", ">>>>> Tests Errored", ">>>>> Tests Timed Out"}
	badCodes2 = append([]string{"Failed to reset task environment"}, badCodes...)
)

// The official SWE-bench harness, releases 5.0.0 to 5.0.2.
var (
	swebenchRecipe = eval.Recipe{
		Name: "swebench",
		Apply: []eval.ApplyStep{
			{Name: "git-apply", Command: []string{"git", "apply", "--verbose", eval.PatchFile}},
			{Name: "git-apply-3way", Command: []string{"git", "apply", "--verbose", "--3way", eval.PatchFile}},
			{Name: "git-apply-reject", Command: []string{"git", "apply", "--verbose", "--reject", eval.PatchFile}},
			{Name: "patch", Command: []string{"patch", "--batch", "--forward", "--fuzz=5", "-p1", "-i", eval.PatchFile}},
		},
		ResetBetween:   true,
		AcceptReverse:  true,
		RecordExitCode: true,
	}
	swebenchRules = Rules{
		Name:          "swebench",
		Dialect:       logparse.V5,
		Markers:       true,
		WholeLog:      true,
		BadCodes:      badCodes,
		NeedEvidence:  true,
		CheckExitCode: true,
		Truncated:     TruncatedAgree,
		XFail:         bothPass,
		Skipped:       Marks{F2P: Fails, P2P: Passes},
		Odd:           bothLeftOut,
		FailOnly:      FailOnly{ByTask: true},
		InfraLabels:   true,
	}
)

// Its 4.1 series.
var (
	swebench4Recipe = eval.Recipe{
		Name: "swebench-4",
		Apply: []eval.ApplyStep{
			{Name: "git-apply", Command: []string{"git", "apply", "--verbose", eval.PatchFile}},
			{Name: "git-apply-reject", Command: []string{"git", "apply", "--verbose", "--reject", eval.PatchFile}},
			{Name: "patch", Command: []string{"patch", "--batch", "--fuzz=5", "-p1", "-i", eval.PatchFile}},
		},
		OlderScripts: true,
	}
	swebench4Rules = Rules{
		Name:       "swebench-4",
		Dialect:    logparse.V4,
		Lacks:      newIn5,
		StrictUTF8: true,
		Markers:    true,
		WholeLog:   true,
		BadCodes:   badCodes,
		XFail:      bothPass,
		Skipped:    bothLeftOut,
		Odd:        bothLeftOut,
		FailOnly:   FailOnly{Repos: []string{"chartjs/chart.js", "processing/p5.js", "markedjs/marked"}},
	}
)

// Its 2.1 series.
var (
	swebench2Recipe = eval.Recipe{
		Name: "swebench-2",
		Apply: []eval.ApplyStep{
			{Name: "git-apply", Command: []string{"git", "apply", "--allow-empty", "-v", eval.PatchFile}},
			{Name: "patch", Command: []string{"patch", "--batch", "--fuzz=5", "-p1", "-i", eval.PatchFile}},
		},
		OlderScripts: true,
	}
	swebench2Rules = Rules{
		Name:       "swebench-2",
		Dialect:    logparse.V2,
		Lacks:      append(append([]string(nil), newIn3...), newIn5...),
		StrictUTF8: true,
		AfterLast:  ">>>>> Applied Patch (pred)",
		BadCodes:   badCodes2,
		NeedText:   "applied patch",
		XFail:      bothPass,
		Skipped:    bothLeftOut,
		Odd:        bothLeftOut,
	}
)

// SWE-bench-Live's evaluation.py of June 2026, for its Python and its
// multi-language sets.
var (
	liveRecipe = eval.Recipe{
		Name: "live",
		Apply: []eval.ApplyStep{
			{Name: "git-apply-reject", Command: []string{"git", "apply", "--reject", "--whitespace=nowarn", eval.PatchFile}},
		},
		KeepPartial: true,
	}
	liveRules = Rules{
		Name:       "live",
		Dialect:    logparse.V4, // its pytest parser is a copy of that release's
		Terminal:   true,
		Markers:    true,
		Unmarked:   true,
		LooseWords: true,
		Skipped:    Marks{F2P: Unseen, P2P: LeftOut},
		Absent:     Marks{F2P: Unseen, P2P: LeftOut},
	}
)

// SWE-rebench V2's eval.py of March 2026.
var (
	rebenchRecipe = eval.Recipe{
		Name: "rebench",
		Apply: []eval.ApplyStep{
			{Name: "git-apply-3way", Command: []string{
				"git", "apply", "-v", "--3way", "--recount", "--ignore-space-change", "--whitespace=nowarn", eval.PatchFile,
			}},
		},
	}
	rebenchRules = Rules{
		Name:         "rebench",
		Dialect:      logparse.V5,
		StrictUTF8:   true,
		Markers:      true,
		Unmarked:     true,
		StripTiming:  true,
		OnlyExpected: true,
	}
)

// Multi-SWE-bench's report builder of December 2025.
var (
	multiRecipe = eval.Recipe{
		Name: "multi-swe-bench",
		Apply: []eval.ApplyStep{
			{Name: "git-apply", Command: []string{"git", "apply", "--whitespace=nowarn", eval.PatchFile}},
		},
	}
	multiRules = Rules{
		Name:        "multi-swe-bench",
		Dialect:     logparse.V5,
		Markers:     true,
		Unmarked:    true,
		NeedResults: true,
		XFail:       bothPass,
		Transitions: true,
	}
)

// SWE-bench Pro's swe_bench_pro_eval.py of May 2026.
var (
	proRecipe = eval.Recipe{
		Name: "pro",
		Apply: []eval.ApplyStep{
			{Name: "git-apply", Command: []string{"git", "apply", "-v", eval.PatchFile}},
		},
		DropBinary: true,
	}
	proRules = Rules{
		Name:     "pro",
		Dialect:  logparse.V5,
		Markers:  true,
		Unmarked: true,
		Repeated: BestCounts,
	}
)

// Our own rules: an expected test counts when it was seen to pass, and nothing
// that a test can print voids a trial or makes up for a test.
var strictRules = Rules{
	Name:        strictName,
	Dialect:     logparse.Ours,
	Markers:     true,
	OneMarker:   true,
	Complete:    true,
	NeedResults: true,
	StripTiming: true,
	Truncated:   TruncatedPassed,
	Repeated:    WorstCounts,
	FailOnly:    FailOnly{ByTask: true, Careful: true},
	NeedTarget:  true,
}

// Parsers by the release of the official harness that brought them.
var (
	newIn3 = []string{
		"parse_log_gotest", "parse_log_cargo", "parse_log_maven", "parse_log_ant", "parse_log_gradle_custom",
		"parse_log_redis", "parse_log_jq", "parse_log_doctest", "parse_log_micropython_test", "parse_log_googletest",
		"parse_log_phpunit", "parse_log_minitest", "parse_log_cucumber", "parse_log_ruby_unit",
		"parse_log_rspec_transformed_json", "parse_log_jekyll", "parse_log_jest", "parse_log_jest_json",
		"parse_log_vitest", "parse_log_karma", "parse_log_tap", "parse_log_immutable_js", "parse_log_calypso",
		"parse_log_chart_js", "parse_log_marked", "parse_log_p5js", "parse_log_react_pdf",
	}
	newIn5 = []string{
		"parse_log_bpmn_js", "parse_log_carbon", "parse_log_eslint", "parse_log_grommet", "parse_log_highlightjs",
		"parse_log_lighthouse", "parse_log_next", "parse_log_openlayers", "parse_log_prismjs", "parse_log_quarto_cli",
	}
)
