package grade_test

import (
	"bufio"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"harness/eval"
	"harness/scoring/grade"
)

// A file of worked verdicts, testdata/vectors/PROFILE.txt. Each begins with a
// line that says why the verdict is as it is:
//
//	-- WHY
//	parser NAME          parse_log_pytest_v2 unless said
//	type fail_only       pass_and_fail unless said
//	run STATE a, b       the publisher's execution without a patch; STATE is
//	test STATE a, b      passed, failed or skipped; test: with the test patch alone
//	skip-to-pass NAME    a test of the publisher's list of this name
//	none-to-pass NAME
//	fix SIGN NAME        a FAIL_TO_PASS test, and where it is to be counted:
//	keep SIGN NAME       a PASS_TO_PASS test   + success, - failure, 0 neither
//	also SIGN NAME       a test that counts with the first though it is not listed
//	p2f NAME             a test that is to be reported as broken
//	log                  or results, which puts what follows between markers
//	LINE ...             a line in quotes is one of Go's string literals
//	want OUTCOME FLAGS
type vector struct {
	line    int
	why     string
	task    eval.Task
	log     strings.Builder
	marked  bool
	placed  map[string]string // sign and group to names, in order
	outcome string
	flags   string
}

func vectors(t *testing.T, file string) []*vector {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []*vector
	var v *vector
	inLog, n := false, 0
	for s := bufio.NewScanner(f); s.Scan(); {
		n++
		line := s.Text()
		if why, ok := strings.CutPrefix(line, "-- "); ok && !inLog {
			v = &vector{line: n, why: why, placed: map[string]string{}}
			v.task = *task([]string{}, []string{})
			v.task.LogParser = "parse_log_pytest_v2"
			all = append(all, v)
			continue
		}
		if want, ok := strings.CutPrefix(line, "want "); ok {
			v.outcome, v.flags, _ = strings.Cut(want, " ")
			inLog = false
			continue
		}
		if inLog {
			if strings.HasPrefix(line, `"`) {
				if line, err = strconv.Unquote(line); err != nil {
					t.Fatalf("%s:%d: %v", file, n, err)
				}
			}
			v.log.WriteString(line + "\n")
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if inLog = word == "log" || word == "results"; inLog {
			v.marked = word == "results"
		} else if !v.field(word, rest) {
			t.Fatalf("%s:%d: %q is no line of a vector", file, n, line)
		}
	}
	return all
}

func (v *vector) field(word, rest string) bool {
	t := &v.task
	baseline := func() *eval.Baseline {
		if t.Baseline == nil {
			t.Baseline = &eval.Baseline{Run: &eval.TestStates{}, Test: &eval.TestStates{}}
		}
		return t.Baseline
	}
	expect := func(group string) string {
		sign, name, _ := strings.Cut(rest, " ")
		v.placed[sign+group] += name + "\n"
		return name
	}
	switch word {
	case "parser":
		t.LogParser = rest
	case "type":
		t.EvalType = rest
	case "run":
		addStates(baseline().Run, rest)
	case "test":
		addStates(baseline().Test, rest)
	case "skip-to-pass":
		baseline().SkipToPass = append(baseline().SkipToPass, rest)
	case "none-to-pass":
		baseline().NoneToPass = append(baseline().NoneToPass, rest)
	case "fix":
		t.FailToPass = append(t.FailToPass, expect(eval.GroupF2P))
	case "keep":
		t.PassToPass = append(t.PassToPass, expect(eval.GroupP2P))
	case "also":
		expect(eval.GroupF2P)
	case "p2f":
		v.placed["-"+eval.GroupP2F] += rest + "\n"
	default:
		return false
	}
	return true
}

func addStates(s *eval.TestStates, rest string) {
	state, names, _ := strings.Cut(rest, " ")
	list := map[string]*[]string{"passed": &s.Passed, "failed": &s.Failed, "skipped": &s.Skipped}[state]
	*list = append(*list, strings.Split(names, ", ")...)
}

// Every profile that judges lists of tests has worked examples, and judges them as
// they say. Those of the official releases have TestRealLogs instead.
func TestVectors(t *testing.T) {
	const least = 20
	files, err := filepath.Glob("testdata/vectors/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range grade.Profiles() {
		file := filepath.Join("testdata", "vectors", p.Name+".txt")
		if official := strings.HasPrefix(p.Name, "swebench"); !official && !p.Rules.Reward && !slices.Contains(files, file) {
			t.Errorf("the profile %s has no %s", p.Name, file)
		}
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			all := vectors(t, file)
			if len(all) < least {
				t.Errorf("%d vectors, want at least %d", len(all), least)
			}
			for _, v := range all {
				v.check(t, profile(t, name))
			}
		})
	}
}

func (v *vector) check(t *testing.T, p grade.Profile) {
	t.Helper()
	log := v.log.String()
	if v.marked {
		log = marked(log)
	}
	if p.Rules.Transitions && v.task.Baseline == nil {
		v.task.Baseline = &eval.Baseline{Run: &eval.TestStates{}, Test: &eval.TestStates{}}
	}
	res, err := p.Grade(grade.Input{Task: &v.task, PatchGiven: true, Applied: true, Log: opener(log)})
	if err != nil {
		t.Errorf("line %d: %v", v.line, err)
		return
	}
	if got := res.Verdict.Outcome.String(); got != v.outcome || strings.Join(res.Verdict.Flags, " ") != v.flags {
		t.Errorf("line %d: %s\ngot  %s %v (%s)\nwant %s [%s]", v.line, v.why, got, res.Verdict.Flags, res.Reason, v.outcome, v.flags)
	}
	if off := res.Verdict.Official; off == nil || off.TestsStatus == nil {
		return // nothing was judged
	}
	if got := placed(res); !reflect.DeepEqual(got, v.placed) {
		t.Errorf("line %d: %s\ngot  %q\nwant %q", v.line, v.why, got, v.placed)
	}
}

// placed says where the report puts each test.
func placed(res grade.Result) map[string]string {
	out := map[string]string{}
	st := res.Verdict.Official.TestsStatus
	in := map[string]int{}
	for _, l := range []struct {
		key   string
		names []string
	}{
		{"+" + eval.GroupF2P, st.FailToPass.Success}, {"-" + eval.GroupF2P, st.FailToPass.Failure},
		{"+" + eval.GroupP2P, st.PassToPass.Success}, {"-" + eval.GroupP2P, st.PassToPass.Failure},
		{"-" + eval.GroupP2F, st.PassToFail.Failure},
	} {
		for _, n := range l.names {
			out[l.key] += n + "\n"
			in[l.key[1:]+n]++
		}
	}
	for _, r := range res.Tests {
		if (r.Group == eval.GroupF2P || r.Group == eval.GroupP2P) && in[r.Group+r.Name] == 0 {
			out["0"+r.Group] += r.Name + "\n"
		}
	}
	return out
}
