package evalscript

import (
	"strings"

	"harness/eval"
)

// Where the official evaluation of SWE-bench Pro keeps what it brings along.
const (
	ProRunScript = "/workspace/run_script.sh"
	ProParser    = "/workspace/parser.py"

	proStdout, proStderr = "/workspace/stdout.log", "/workspace/stderr.log"
	proResults           = "/workspace/output.json"
)

// ProRun is what a row of SWE-bench Pro says of its tests, besides the two
// scripts that the task brings as files.
type ProRun struct {
	BeforeTests string   // before_repo_set_cmd: its last line brings the tests
	Tests       []string // files to run
	Dockerfiles []string // of the image, whose ENV lines hold for the tests
}

// Pro writes the script of a SWE-bench Pro task. The task's own parser reads what
// the tests printed, inside the sandbox, and its JSON stands between the markers:
// {"tests": [{"name": ..., "status": "PASSED"}, ...]}. Of before_repo_set_cmd
// only the last line counts, as officially: the others would undo the patch.
func Pro(t *eval.Task, c ProRun) string {
	var env []string
	for _, file := range c.Dockerfiles {
		for line := range strings.SplitSeq(file, "\n") {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "ENV "); ok && !strings.HasSuffix(rest, `\`) {
				env = append(env, "export "+rest)
			}
		}
	}
	before := strings.TrimSpace(c.BeforeTests)
	before = before[strings.LastIndexByte(before, '\n')+1:]
	return Join(
		traced, env, repository(t), []string{before},
		[]string{
			"bash " + ProRunScript + " " + Quote(strings.Join(c.Tests, ",")) + " > " + proStdout + " 2> " + proStderr,
			"python " + ProParser + " " + proStdout + " " + proStderr + " " + proResults + " > /workspace/parser.log 2>&1",
		},
		Between("cat "+proResults),
		[]string{"cat /workspace/parser.log " + proStdout + " " + proStderr},
	)
}
