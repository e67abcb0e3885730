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

func TestPrepareScriptPlacesPictures(t *testing.T) {
	task := &eval.Task{
		EvalScript: "cd /testbed\ngit apply -v - <<'E'\nx\nE\n: '>>>>> Start Test Output'\nnpm test\n: '>>>>> End Test Output'\n",
		ImageAssets: &eval.ImageAssets{
			ProblemStatement: []eval.Asset{{URL: "https://example.org/a.png"}},
			Patch:            []eval.Asset{{Path: "b.png"}, {Path: "-x/it's.png"}},
			TestPatch:        []eval.Asset{{Path: "test/a.png"}, {Path: "test/gone.png"}, {URL: "https://example.org/b.png"}},
		},
		Files: []eval.TaskFile{{Path: "/image_assets/test__a.png"}, {Path: "/image_assets/b.png"}, {Path: "/image_assets/-x__it's.png"}},
	}
	const lines = "mkdir -p 'test' && cp '/image_assets/test__a.png' 'test/a.png'\n" +
		"mkdir -p '.' && cp '/image_assets/b.png' 'b.png'\n" +
		`mkdir -p './-x' && cp '/image_assets/-x__it'\''s.png' './-x/it'\''s.png'` + "\n"
	want := strings.Replace(task.EvalScript, ": '>>>>> Start", lines+": '>>>>> Start", 1)
	if got := grade.PrepareScript(task, eval.Recipe{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	task.EvalScript = "npm test"
	if got := grade.PrepareScript(task, eval.Recipe{}); got != "npm test\n"+lines {
		t.Errorf("without a marker: %q", got)
	}
	task.Files = nil
	if got := grade.PrepareScript(task, eval.Recipe{}); got != "npm test" {
		t.Errorf("without the files: %q", got)
	}
}
