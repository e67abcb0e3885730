package grade

import (
	"fmt"
	"path"
	"strings"

	"harness/eval"
)

// exitVariable is the shell variable that holds the test command's exit code
// until the end marker is written.
const exitVariable = "SWEBENCH_TEST_EXIT_CODE"

// PrepareScript returns the task's eval script as it is run under a recipe.
// Pictures of the patches, which the task brings as files, are put in place just
// before the first start marker: the script has applied the tests' patch by then,
// and removed what that patch is to bring. With RecordExitCode, the exit code of the command before the first end marker is
// kept and printed behind the marker, outside of the text that parsers see. A
// script without an end marker is left as it is, and grading trusts the log.
//
// A script whose every line ends in "\r\n" was damaged on its way and is
// repaired; single such lines may belong to a patch inside the script and stay.
func PrepareScript(task *eval.Task, recipe eval.Recipe) string {
	script := placeAssets(undoCRLF(task.EvalScript), task)
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

// placeAssets adds a line for each picture. A script without a start marker gets
// them at its end, as in the official harness.
func placeAssets(script string, task *eval.Task) string {
	there := make(map[string]bool, len(task.Files))
	for _, f := range task.Files {
		there[f.Path] = true
	}
	var b strings.Builder
	for _, a := range task.ImageAssets.OfPatches() {
		if there[a.Staged()] {
			fmt.Fprintf(&b, "mkdir -p %s && cp %s %s\n", shellPath(path.Dir(a.Path)), shellPath(a.Staged()), shellPath(a.Path))
		}
	}
	if b.Len() == 0 {
		return script
	}
	at := strings.Index(script, startMarker)
	if at < 0 {
		return strings.TrimSuffix(script, "\n") + "\n" + b.String()
	}
	begin := strings.LastIndexByte(script[:at], '\n') + 1
	return script[:begin] + b.String() + script[begin:]
}

// shellPath makes one word of a shell command. Paths are clean and relative, so none
// starts with "-" once "./" stands before it.
func shellPath(s string) string {
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func undoCRLF(script string) string {
	lines := strings.Count(script, "\n")
	if lines == 0 || strings.Count(script, "\r\n") != lines {
		return script
	}
	return strings.ReplaceAll(script, "\r\n", "\n")
}
