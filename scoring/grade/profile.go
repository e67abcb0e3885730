package grade

import (
	"fmt"
	"strings"

	"harness/eval"
	"harness/scoring/logparse"
)

// Profile is a recipe and rules by name.
type Profile struct {
	Name   string
	Recipe eval.Recipe
	Rules  Rules
}

// Rules say how a log is read and judged. Every field is a difference between
// graders; the zero value is the simplest of them.
type Rules struct {
	// Name appears as a verdict's rules.
	Name string
	// Dialect is the release whose parsers are used.
	Dialect logparse.Dialect
	// Markers: results are read between the start and end marker, and a log
	// without both is not gradable.
	Markers bool
	// BadCodes make a log not gradable wherever they occur.
	BadCodes []string
	// NeedText must occur somewhere in the log, in any case of ASCII letters.
	NeedText string
	// AfterLast: only what follows the last occurrence of this text is read.
	AfterLast string
	// WholeLog: with no result between the markers the whole log is parsed.
	WholeLog bool
	// NeedEvidence: a log without results is gradable only if a test runner's
	// summary shows that a suite ran.
	NeedEvidence bool
	// CheckExitCode: a log whose recorded exit code is not zero and that has
	// results but no failure is not gradable.
	CheckExitCode bool
	// SkipRules: an expected test that is skipped is a failure in FAIL_TO_PASS
	// and a success in PASS_TO_PASS; otherwise it is left out of both lists.
	SkipRules bool
	// TruncatedIDs: an expected name that was cut inside brackets stands for the
	// names that start with it, if they agree.
	TruncatedIDs bool
	// FailOnly says which tasks count absent tests as passed.
	FailOnly FailOnly
	// StrictUTF8: bytes that are not UTF-8 end in an error, not in U+FFFD.
	StrictUTF8 bool
	// InfraLabels adds the advisory infra_failure fields to the official report.
	InfraLabels bool
	// Lacks names parsers that this grader does not have; a task that needs one
	// ends in an error there.
	Lacks []string
}

// FailOnly tells which tasks use the fail_only rule.
type FailOnly struct {
	ByTask bool     // those whose eval_type says so
	Repos  []string // those of these repositories (lower case)
}

// applies reports whether the task's tests count as passed unless seen to fail.
func (f FailOnly) applies(t *eval.Task) bool {
	if f.ByTask && t.EvalType == eval.EvalFailOnly {
		return true
	}
	repo := strings.ToLower(t.Repo)
	for _, r := range f.Repos {
		if r == repo {
			return true
		}
	}
	return false
}

// Text that eval scripts and harnesses write into logs.
const (
	startMarker  = ">>>>> Start Test Output"
	endMarker    = ">>>>> End Test Output"
	exitMarker   = ">>>>> Test Exit Code"
	markerPrefix = ">>>>> "
)

var officialBadCodes = []string{
	">>>>> Patch Apply Failed", ">>>>> Reset Failed", ">>>>> Tests Errored", ">>>>> Tests Timed Out",
}

// Profiles returns all profiles, in the order in which lists show them.
func Profiles() []Profile {
	return []Profile{
		{
			Name: "swebench",
			Recipe: eval.Recipe{
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
			},
			Rules: Rules{
				Name:          "swebench",
				Dialect:       logparse.V5,
				Markers:       true,
				BadCodes:      officialBadCodes,
				WholeLog:      true,
				NeedEvidence:  true,
				CheckExitCode: true,
				SkipRules:     true,
				TruncatedIDs:  true,
				FailOnly:      FailOnly{ByTask: true},
				InfraLabels:   true,
			},
		},
		{
			Name: "swebench-4",
			Recipe: eval.Recipe{
				Name: "swebench-4",
				Apply: []eval.ApplyStep{
					{Name: "git-apply", Command: []string{"git", "apply", "--verbose", eval.PatchFile}},
					{Name: "git-apply-reject", Command: []string{"git", "apply", "--verbose", "--reject", eval.PatchFile}},
					{Name: "patch", Command: []string{"patch", "--batch", "--fuzz=5", "-p1", "-i", eval.PatchFile}},
				},
			},
			Rules: Rules{
				Name:       "swebench-4",
				Dialect:    logparse.V4,
				Markers:    true,
				BadCodes:   officialBadCodes,
				WholeLog:   true,
				StrictUTF8: true,
				FailOnly:   FailOnly{Repos: []string{"chartjs/chart.js", "processing/p5.js", "markedjs/marked"}},
				Lacks:      newIn5,
			},
		},
		{
			Name: "swebench-2",
			Recipe: eval.Recipe{
				Name: "swebench-2",
				Apply: []eval.ApplyStep{
					{Name: "git-apply", Command: []string{"git", "apply", "--allow-empty", "-v", eval.PatchFile}},
					{Name: "patch", Command: []string{"patch", "--batch", "--fuzz=5", "-p1", "-i", eval.PatchFile}},
				},
			},
			Rules: Rules{
				Name:       "swebench-2",
				Dialect:    logparse.V2,
				BadCodes:   append([]string{"Failed to reset task environment"}, officialBadCodes...),
				NeedText:   "applied patch",
				AfterLast:  ">>>>> Applied Patch (pred)",
				StrictUTF8: true,
				Lacks:      append(append([]string(nil), newIn3...), newIn5...),
			},
		},
	}
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

// ByName finds a profile.
func ByName(name string) (Profile, error) {
	var known []string
	for _, p := range Profiles() {
		if p.Name == name {
			return p, nil
		}
		known = append(known, p.Name)
	}
	return Profile{}, fmt.Errorf("grading profile %q is not known; known are %s", name, strings.Join(known, ", "))
}
