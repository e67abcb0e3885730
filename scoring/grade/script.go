package grade

import (
	"strings"

	"harness/eval"
)

// exitVariable is the shell variable that holds the test command's exit code
// until the end marker is written.
const exitVariable = "SWEBENCH_TEST_EXIT_CODE"

// PrepareScript returns the task's eval script as it is run under a recipe. With
// RecordExitCode, the exit code of the command before the first end marker is
// kept and printed behind the marker, outside of the text that parsers see. A
// script without an end marker is left as it is, and grading trusts the log.
//
// A script whose every line ends in "\r\n" was damaged on its way and is
// repaired; single such lines may belong to a patch inside the script and stay.
func PrepareScript(task *eval.Task, recipe eval.Recipe) string {
	script := undoCRLF(task.EvalScript)
	if !recipe.RecordExitCode {
		return script
	}
	at := strings.Index(script, endMarker)
	if at < 0 {
		return script
	}
	begin := strings.LastIndexByte(script[:at], '\n') + 1
	line, rest, _ := strings.Cut(script[begin:], "\n")
	return script[:begin] + exitVariable + "=$?\n" + line + "\n" +
		`echo "` + exitMarker + ": $" + exitVariable + "\"\n" + rest
}

func undoCRLF(script string) string {
	lines := strings.Count(script, "\n")
	if lines == 0 || strings.Count(script, "\r\n") != lines {
		return script
	}
	return strings.ReplaceAll(script, "\r\n", "\n")
}
