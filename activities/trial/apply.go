package trial

import (
	"fmt"
	"strings"

	"harness/eval"
)

// Exit codes of the apply script. The script is ours and runs before any code
// of the candidate, so its exit status can be believed.
const (
	exitNotApplied     = 1
	exitAlreadyApplied = 90
	exitFirstMethod    = 100 // plus the index of the way that worked
)

// Values of apply_method besides the names of a recipe's ways.
const (
	ApplyReversed = "already-applied" // the patch was in the tree already
	ApplySolution = "solution"        // there is no patch; the task's own solution ran
)

// applyScript tries the recipe's ways in order and tells by its exit code which
// one worked.
func applyScript(rec eval.Recipe, workDir string) []byte {
	var b strings.Builder
	if workDir != "" {
		fmt.Fprintf(&b, "cd %s || exit %d\n", quote(workDir), exitNotApplied)
	}
	b.WriteString("export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'\n")
	for i, step := range rec.Apply {
		if i > 0 && rec.ResetBetween {
			b.WriteString("git checkout -- . ; git clean -fd\n")
		}
		words := make([]string, 0, len(step.Command))
		for _, w := range step.Command {
			words = append(words, quote(w))
		}
		then := "&&"
		if rec.KeepPartial && i == len(rec.Apply)-1 {
			then = ";"
		}
		fmt.Fprintf(&b, "echo %s\n%s %s exit %d\n", quote("+ "+strings.Join(step.Command, " ")), strings.Join(words, " "), then, exitFirstMethod+i)
	}
	if rec.AcceptReverse {
		if rec.ResetBetween {
			b.WriteString("git checkout -- . ; git clean -fd\n")
		}
		fmt.Fprintf(&b, "git apply --check --reverse %s && exit %d\n", quote(eval.PatchFile), exitAlreadyApplied)
	}
	fmt.Fprintf(&b, "exit %d\n", exitNotApplied)
	return []byte(b.String())
}

func applyMethod(rec eval.Recipe, code int) (string, bool) {
	if code == exitAlreadyApplied {
		return ApplyReversed, true
	}
	if i := code - exitFirstMethod; i >= 0 && i < len(rec.Apply) {
		return rec.Apply[i].Name, true
	}
	return "", false
}

// quote makes one shell word of s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
