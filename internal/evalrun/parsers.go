package evalrun

import (
	"harness/datasets"
	"harness/eval"
	"harness/scoring/logparse"
)

// UnknownParsers lists tasks that name a log parser which this build does not
// have, by parser: nobody could read their logs. Nil when there are none.
func UnknownParsers(tasks []eval.Task) []datasets.Unrunnable {
	var out []datasets.Unrunnable
	place := map[string]int{}
	for i := range tasks {
		t := &tasks[i]
		if _, ok := logparse.Lookup(t.LogParser); ok || t.LogParser == "" || t.Family == eval.FamilyHarbor {
			continue
		}
		at, ok := place[t.LogParser]
		if !ok {
			at = len(out)
			place[t.LogParser] = at
			out = append(out, datasets.Unrunnable{Reason: "no log parser is called \"" + t.LogParser + "\"; correct log_parser, or add the parser (docs/grading.md)"})
		}
		out[at].IDs = append(out[at].IDs, t.InstanceID)
	}
	return out
}
