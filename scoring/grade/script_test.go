package grade_test

import (
	"strings"
	"testing"

	"harness/eval"
	"harness/scoring/grade"
)

func TestPrepareScript(t *testing.T) {
	const script = "#!/bin/bash\nset -uxo pipefail\n: '>>>>> Start Test Output'\npytest -rA\n: '>>>>> End Test Output'\ngit checkout abc t.py\n"
	const recorded = "#!/bin/bash\nset -uxo pipefail\n: '>>>>> Start Test Output'\npytest -rA\nSWEBENCH_TEST_EXIT_CODE=$?\n: '>>>>> End Test Output'\n" +
		"echo \">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE\"\ngit checkout abc t.py\n"
	record := eval.Recipe{RecordExitCode: true}
	tests := []struct {
		name, in, want string
		recipe         eval.Recipe
	}{
		{"recorded", script, recorded, record},
		{"not asked for", script, script, eval.Recipe{}},
		{"no end marker", "echo hi\n", "echo hi\n", record},
		{"marker on the last line", "x\n: '>>>>> End Test Output'", "x\nSWEBENCH_TEST_EXIT_CODE=$?\n: '>>>>> End Test Output'\necho \">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE\"\n", record},
		{"every line ends in CRLF", strings.ReplaceAll(script, "\n", "\r\n"), recorded, record},
		{"a patch inside has CRLF", "cat <<E\na\r\nE\n", "cat <<E\na\r\nE\n", record},
		{"empty", "", "", record},
	}
	for _, tt := range tests {
		if got := grade.PrepareScript(&eval.Task{EvalScript: tt.in}, tt.recipe); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
