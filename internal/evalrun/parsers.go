package evalrun

import (
	"harness/datasets"
	"harness/eval"
	"harness/scoring/logparse"
)

// UnknownParsers lists tasks that name a log parser which this build does not
// have, by parser: nobody could read their logs. Nil when there are none.
func UnknownParsers(tasks []eval.Task) []datasets.Unrunnable {
	return datasets.ByReason(tasks, func(t *eval.Task) string {
		if _, ok := logparse.Lookup(t.LogParser); ok || t.LogParser == "" || t.Family == eval.FamilyHarbor {
			return ""
		}
		return "no log parser is called \"" + t.LogParser + "\"; correct log_parser, or add the parser (docs/grading.md)"
	})
}
