package grade

import "slices"

// flag is a word that a verdict has besides its outcome. docs/grading.md says
// what each of them means.
type flag string

// Why a log is not gradable.
const (
	flagBadCode      flag = "bad_code"           // it has a text by which scripts say that they failed
	flagMarkers      flag = "markers_missing"    // the eval script did not get to its end
	flagRepeated     flag = "markers_repeated"   // what stands between the markers may have printed one
	flagNotApplied   flag = "test_patch_missing" // nothing says that the test patch was applied
	flagNoResults    flag = "no_results"         // no result, and no sign that a suite ran
	flagSuiteUnseen  flag = "suite_unseen"       // the format tells failures only, and no sign that a suite ran
	flagExitMismatch flag = "exit_code_mismatch" // the test command failed and the log has no failure
	flagRaised       flag = "parser_raised"      // the official parser stops with an exception
)

// How the log was read.
const (
	flagLogTruncated flag = "log_truncated" // its middle was cut when it was recorded; to some rules it is not gradable then
	flagTextCut      flag = "text_cut"      // the text was too long for a parser that needs all of it; the same
	flagLongLines    flag = "long_lines"
	flagMapCapped    flag = "status_map_capped"
	flagOtherCapped  flag = "other_tests_capped"
	flagWholeLog     flag = "whole_log_fallback"
	flagDuplicate    flag = "duplicate_tests"
)

// How expected tests were judged, and what keeps a trial from being resolved
// besides the failure lists.
const (
	flagTruncatedID  flag = "truncated_ids"
	flagAmbiguousID  flag = "truncated_ids_ambiguous"
	flagAbsentPasses flag = "absent_passes"
	flagUncounted    flag = "uncounted_tests"
	flagUnseen       flag = "unseen_tests"
	flagExtraPasses  flag = "extra_passes"
	flagListedTwice  flag = "listed_twice"
	flagNoTarget     flag = "no_target"
	flagRegressed    flag = "regressed_tests"
	flagAnomalous    flag = "anomalous_tests"
	flagNothingFixed flag = "nothing_fixed"
)

// Of a verdict by reward.
const (
	flagNoReward       flag = "no_reward"       // no reward file was there
	flagBadReward      flag = "bad_reward"      // it does not hold a reward
	flagRewardCut      flag = "reward_clamped"  // it was below 0 or above 1
	flagRewardRepeated flag = "reward_repeated" // the log has several: something printed one
)

// flagSet collects a verdict's flags.
type flagSet map[flag]struct{}

func (f *flagSet) add(word flag) {
	if *f == nil {
		*f = make(flagSet)
	}
	(*f)[word] = struct{}{}
}

func (f flagSet) sorted() []string {
	var out []string
	for word := range f {
		out = append(out, string(word))
	}
	slices.Sort(out)
	return out
}
