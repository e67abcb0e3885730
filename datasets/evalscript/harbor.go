package evalscript

import (
	"fmt"
	"strings"
)

// Harbor describes how the tests of a Harbor or Terminal-Bench task are run.
type Harbor struct {
	Env  []EnvVar
	Test []string // the command
	// ByExitCode: the tests write no reward; they end with 0 when it is 1.
	ByExitCode bool
}

// EnvVar is an environment variable of a script.
type EnvVar struct{ Name, Value string }

// Files of a Harbor sandbox that its tests write.
const (
	harborLogs       = "/logs/verifier"
	harborRewardText = harborLogs + "/reward.txt"
	harborRewardJSON = harborLogs + "/reward.json"
)

// Lines that the script adds behind the end marker: which file held the reward,
// and its content without line ends. Graders take none if there are several.
const (
	harborReward = ">>>>> Reward"
	// harborMostReward bounds what is copied of a reward file.
	harborMostReward = 64 << 10
)

// Script is the bash file that runs the tests and reports their reward.
// Results of an earlier step are removed first: a reward counts only if these
// tests wrote it.
func (h Harbor) Script() string {
	lines := []string{
		"mkdir -p " + harborLogs + " /logs/agent /logs/artifacts",
		"rm -rf " + harborRewardText + " " + harborRewardJSON,
	}
	lines = append(lines, Exports(h.Env)...)
	lines = append(lines, "echo '>>>>> Start Test Output'", QuoteAll(h.Test), "code=$?", "echo", "echo '>>>>> End Test Output'")
	lines = append(lines, `echo ">>>>> Test Exit Code: $code"`)
	if h.ByExitCode {
		lines = append(lines, fmt.Sprintf(`if [ $code -eq 0 ]; then echo 1; else echo 0; fi > %s`, harborRewardText))
	}
	lines = append(lines,
		fmt.Sprintf("for file in %s %s; do", harborRewardJSON, harborRewardText),
		`  if [ -f "$file" ]; then`,
		fmt.Sprintf(`    echo "%s ${file##*/}: $(head -c %d "$file" | tr '\r\n\000' '   ')"`, harborReward, harborMostReward),
		"    break",
		"  fi",
		"done",
		"exit $code",
	)
	return Join(Header[:1], lines)
}

// Exports sets environment variables. Values are taken as they are.
func Exports(env []EnvVar) []string {
	var out []string
	for _, e := range env {
		out = append(out, "export "+e.Name+"="+Quote(e.Value))
	}
	return out
}

// RunScript is a bash file that sets variables and then becomes the command.
func RunScript(env []EnvVar, command ...string) string {
	return Join(Header[:1], Exports(env), []string{"exec " + QuoteAll(command)})
}

// IsEnvName reports whether a shell can hold a variable of this name.
func IsEnvName(s string) bool {
	if s == "" || len(s) > 200 || strings.Trim(s[:1], "0123456789") == "" {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}
