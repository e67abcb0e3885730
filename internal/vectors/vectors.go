// Package vectors reads worked verdicts: small logs with what a grading profile
// makes of them, and why. The files are scoring/grade/testdata/vectors/PROFILE.txt;
// the tests of package grade hold the profiles to them, and those of package
// oracle the official releases.
//
// It knows the format of the files, and nothing of how a log is graded. Each
// verdict begins with a line that says why it is as it is:
//
//	-- WHY
//	task ID VERSION      sphinx-doc__sphinx-1 3.1 unless said; names the repository, too
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
//	infra KIND REASON    the advice about a log that is not gradable; KIND is
//	                     environment or ambiguous
//	log                  or results, which puts what follows between markers
//	LINE ...             a line in quotes is one of Go's string literals
//	want OUTCOME FLAGS
package vectors

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"harness/eval"
)

// Vector is one worked verdict.
type Vector struct {
	Line    int // of the file
	Why     string
	Task    eval.Task
	Log     []byte
	Placed  map[string]string // sign and group to names, each with a newline, in order
	Outcome string
	Flags   string // separated by blanks
	Infra   string // kind and reason; "" for none

	marked bool // the log's lines are to stand between markers
}

// The markers as the trace of an eval script has them.
const (
	startLine = "+ : '>>>>> Start Test Output'\n"
	endLine   = "+ : '>>>>> End Test Output'\n"
)

// Read returns the verdicts of a file in their order.
func Read(file string) ([]*Vector, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var all []*Vector
	var v *Vector
	inLog := false
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		bad := func(what string) error { return fmt.Errorf("%s:%d: %q %s", file, n, line, what) }
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "--" && !inLog:
			v = newVector(n, rest)
			all = append(all, v)
		case line == "" && !inLog || strings.HasPrefix(line, "#") && !inLog:
		case v == nil:
			return nil, bad("stands in front of the first verdict")
		case word == "want":
			v.Outcome, v.Flags, _ = strings.Cut(rest, " ")
			if v.marked {
				v.Log = []byte(startLine + string(v.Log) + endLine)
			}
			inLog = false
		case inLog:
			if strings.HasPrefix(line, `"`) {
				if line, err = strconv.Unquote(line); err != nil {
					return nil, bad("is no string literal")
				}
			}
			v.Log = append(append(v.Log, line...), '\n')
		case line == "log" || line == "results":
			inLog, v.marked = true, line == "results"
		case !v.field(word, rest):
			return nil, bad("is no line of a verdict")
		}
	}
	if inLog {
		return nil, fmt.Errorf("%s: the last verdict has no line that begins with want", file)
	}
	return all, lines.Err()
}

func newVector(line int, why string) *Vector {
	v := &Vector{Line: line, Why: why, Placed: make(map[string]string)}
	v.Task = eval.Task{LogParser: "parse_log_pytest_v2", EvalType: eval.EvalPassAndFail, FailToPass: []string{}, PassToPass: []string{}}
	v.named("sphinx-doc__sphinx-1", "3.1")
	return v
}

// named sets what an instance id says.
func (v *Vector) named(id, version string) {
	repo := id
	if i := strings.LastIndexByte(id, '-'); i >= 0 {
		repo = id[:i]
	}
	v.Task.InstanceID, v.Task.Repo, v.Task.Version = id, strings.Replace(repo, "__", "/", 1), version
}

func (v *Vector) field(word, rest string) bool {
	t := &v.Task
	baseline := func() *eval.Baseline {
		if t.Baseline == nil {
			t.Baseline = &eval.Baseline{Run: &eval.TestStates{}, Test: &eval.TestStates{}}
		}
		return t.Baseline
	}
	expect := func(group string) string {
		sign, name, _ := strings.Cut(rest, " ")
		v.Placed[sign+group] += name + "\n"
		return name
	}
	switch word {
	case "task":
		id, version, _ := strings.Cut(rest, " ")
		v.named(id, version)
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
		v.Placed["-"+eval.GroupP2F] += rest + "\n"
	case "infra":
		v.Infra = rest
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
