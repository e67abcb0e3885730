package datasets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"harness/datasets/evalscript"
	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// multiSWEBench: rows of ByteDance's Multi-SWE-bench, also its mini, flash and
// RL sets. A row has pull request and results; how tests are run is in the image.
//
// Its grader takes the tests of f2p_tests, s2p_tests and n2p_tests alike: each
// has to pass with the candidate's patch. They are FAIL_TO_PASS here, in this
// order; the baseline keeps what the grader needs besides, the three executions.
var multiSWEBench = family{
	id:    eval.FamilyMultiSWEBench,
	name:  "Multi-SWE-bench",
	signs: [][]string{{"org", "number", "fix_patch"}, {"org", "fix_patch", "base"}},
	reads: map[string]string{"patch": "fix_patch", "hints_text": "hints", "language": "lang"},
	names: map[string]string{
		"instance_id": "number", "base_commit": "base",
		"FAIL_TO_PASS": "f2p_tests", "PASS_TO_PASS": "p2p_tests", "baseline": "run_result",
	},
	fills: []string{"instance_id", "repo", "base_commit", "FAIL_TO_PASS", "PASS_TO_PASS", "problem_statement"},
	fill:  (*filling).multi,
	lacks: "rows of Multi-SWE-bench with a number_interval are read by parsers of their own, which are not known here; add the name of a parser as log_parser",
}

func (in *filling) multi() {
	t := in.task
	in.multiID()
	in.multiBase()
	in.multiIssues()

	var b eval.Baseline
	var f2p []string
	f2p, b.SkipToPass, b.NoneToPass = in.testMap("f2p_tests"), in.testMap("s2p_tests"), in.testMap("n2p_tests")
	t.PassToPass = in.testMap("p2p_tests")
	t.FailToPass = slices.Concat(f2p, b.SkipToPass, b.NoneToPass)
	b.Run, b.Test, b.Gold = in.states("run_result"), in.states("test_patch_result"), in.states("fix_patch_result")
	t.Baseline = &b
	if t.EvalScript == "" {
		t.EvalScript = evalscript.MultiSWEBench(t)
	}
}

// multiID makes id, repository, folder and image of org, repo and number.
func (in *filling) multiID() {
	t := in.task
	org, number := in.text("org"), in.number("number")
	repo := in.text("repo")
	complete := true
	for _, m := range []struct{ member, value string }{{"org", org}, {"repo", repo}, {"number", number}} {
		if m.value == "" {
			in.need(m.member, "instance_id", "repo")
			complete = false
		}
	}
	if !complete {
		return
	}
	t.Repo = org + "/" + repo
	own := org + "__" + repo + "-" + number
	t.InstanceID = own
	if c := in.row.at("instance_id"); !c.missing() {
		t.InstanceID = in.text("instance_id")
		if t.InstanceID != own && !strings.EqualFold(t.InstanceID, own) {
			in.warn("instance_id", quote(t.InstanceID)+" is not the id of org, repo and number, "+quote(own), "correct one of them: predictions name the task by it")
		}
	}
	if !isName(repo) {
		return // check tells it; nothing is named after it
	}
	if t.WorkDir == "" {
		t.WorkDir = "/home/" + repo
	}
	if t.LogParser == "" && in.text("number_interval") == "" {
		// Which of its grammars a pull request has is known where logs are read.
		t.LogParser = "multi/" + t.Repo + ":pr-" + number
	}
	if t.Image == "" {
		t.Image = strings.ToLower("mswebench/"+org+"_m_"+repo) + ":pr-" + number
	}
}

func (in *filling) multiBase() {
	raw, ok := in.value("base", strictjson.Object)
	if !ok {
		in.need("base", "base_commit")
		return
	}
	sha, found := in.textMember("base", raw, "sha")
	if !found {
		in.bad("base", "it has no sha that is text", `write it as {"label": ..., "ref": ..., "sha": ...}`, "base_commit")
	}
	in.task.BaseCommit = sha
}

// multiIssues makes the problem statement: the issues that the pull request
// resolves. What the pull request says of itself would give the solution away.
func (in *filling) multiIssues() {
	raw, ok := in.value("resolved_issues", strictjson.Array)
	if !ok {
		return
	}
	var issues []string
	err := strictjson.Elements(raw, func(v strictjson.Value) error {
		if v.Kind != strictjson.Object {
			return fmt.Errorf("element %d is %s, an object is expected", len(issues)+1, v.Kind)
		}
		title, _ := in.textMember("resolved_issues", v.Raw, "title")
		body, _ := in.textMember("resolved_issues", v.Raw, "body")
		issues = append(issues, strings.TrimSpace(title+"\n"+body))
		return nil
	})
	if err != nil {
		in.bad("resolved_issues", err.Error(), `write it as [{"number": 1, "title": "...", "body": "..."}]`)
	}
	in.task.ProblemStatement = strings.Join(issues, "\n\n")
}

// testMap returns the names in an object of tests, in its order. A test that is
// null is not there: a Parquet file has the tests of all rows as columns.
func (in *filling) testMap(member string) []string {
	names := []string{}
	raw, ok := in.value(member, strictjson.Object)
	if !ok {
		in.need(member)
		return names
	}
	seen := make(map[string]bool)
	err := strictjson.Members(raw, func(key []byte, v strictjson.Value) error {
		name := string(key)
		switch {
		case v.Kind == strictjson.Null:
			return nil
		case v.Kind != strictjson.Object:
			return fmt.Errorf("test %s is %s, an object is expected", quote(name), v.Kind)
		case seen[name]:
			return fmt.Errorf("test %s is given twice", quote(name))
		}
		seen[name] = true
		names = append(names, name)
		return nil
	})
	if err != nil {
		in.bad(member, err.Error(), `write it as {"test": {"run": "PASS", "test": "FAIL", "fix": "PASS"}}`)
	}
	return names
}

// states returns what one execution gave. The official loader refuses a row whose
// counts do not fit its lists, or whose test is in two of them.
func (in *filling) states(member string) *eval.TestStates {
	raw, ok := in.value(member, strictjson.Object)
	if !ok {
		in.need(member)
		return nil
	}
	var s eval.TestStates
	lists := map[string]*[]string{"passed_tests": &s.Passed, "failed_tests": &s.Failed, "skipped_tests": &s.Skipped}
	counts := make(map[string]string)
	err := strictjson.Members(raw, func(key []byte, v strictjson.Value) (err error) {
		name := string(key)
		switch into := lists[name]; {
		case into != nil && v.Kind == strictjson.Array:
			if *into, err = stringList(v.Raw); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		case into != nil && v.Kind == strictjson.Null:
		case into != nil:
			err = fmt.Errorf("%s is %s, a list is expected", name, v.Kind)
		case strings.HasSuffix(name, "_count") && v.Kind == strictjson.Number:
			counts[strings.TrimSuffix(name, "_count")+"_tests"] = string(v.Raw)
		}
		return err
	})
	fix := "write it as the lists passed_tests, failed_tests and skipped_tests with their counts"
	if err != nil {
		in.bad(member, err.Error(), fix)
		return nil
	}
	seen := make(map[string]string)
	for _, name := range []string{"passed_tests", "failed_tests", "skipped_tests"} {
		list := *lists[name]
		if list == nil {
			in.bad(member, "it has no "+name, fix)
			return nil
		}
		distinct := 0
		for _, test := range list {
			switch before, twice := seen[test]; {
			case !twice:
				seen[test] = name
				distinct++
			case before != name:
				in.bad(member, fmt.Sprintf("test %s is in %s and in %s", quote(test), before, name), "a test has one state")
				return nil
			}
		}
		if n, said := counts[name]; said && n != strconv.Itoa(distinct) {
			in.bad(member, fmt.Sprintf("%s has %d different tests, its count is %s", name, distinct, quote(n)), "correct the list or the count")
			return nil
		}
	}
	return &s
}

// textMember returns a text inside an object of the row.
func (in *filling) textMember(member string, raw []byte, key string) (text string, found bool) {
	err := strictjson.Members(raw, func(k []byte, v strictjson.Value) (err error) {
		if string(k) == key && v.Kind == strictjson.String && !found {
			found = true
			text, err = v.Text()
		}
		return err
	})
	if err != nil {
		in.bad(member, key+": "+err.Error(), "write the text as valid UTF-8")
	}
	return text, found
}
