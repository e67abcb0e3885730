package evalscript_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"harness/datasets/evalscript"
	"harness/eval"
)

const onePatch = "diff --git a/tests/basic/tests.py b/tests/basic/tests.py\n--- a/tests/basic/tests.py\n+++ b/tests/basic/tests.py\n@@ -1 +1 @@\n-a\n+b\n"

func oldRow() eval.Task {
	return eval.Task{
		InstanceID: "django__django-1", Repo: "django/django", Version: "4.2",
		BaseCommit: strings.Repeat("a", 40), TestPatch: onePatch,
	}
}

func TestComplete(t *testing.T) {
	tests := []struct {
		name   string
		change func(*eval.Task)
		filled []string
		check  func(eval.Task) bool
	}{
		{
			name: "a row without any", change: func(*eval.Task) {},
			filled: []string{"eval_script", "eval_type", "image", "log_parser"},
			check: func(r eval.Task) bool {
				return strings.Contains(r.EvalScript, "\n./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 basic.tests\n") &&
					r.Image == "swebench/sweb.eval.x86_64.django_1776_django-1:latest" && r.LogParser == "parse_log_django" &&
					r.EvalType == eval.EvalPassAndFail
			},
		},
		{
			name:   "its own image stays",
			change: func(r *eval.Task) { r.Image = "mine:1" },
			filled: []string{"eval_script", "eval_type", "log_parser"},
			check:  func(r eval.Task) bool { return r.Image == "mine:1" },
		},
		{
			name:   "its own script keeps its type",
			change: func(r *eval.Task) { r.EvalScript, r.EvalType = "true\n", eval.EvalFailOnly },
			filled: []string{"image", "log_parser"},
			check:  func(r eval.Task) bool { return r.EvalScript == "true\n" && r.EvalType == eval.EvalFailOnly },
		},
		{
			name: "a complete row of a repository nobody knows",
			change: func(r *eval.Task) {
				r.Repo, r.Image, r.EvalScript, r.LogParser = "a/b", "i", "true\n", "parse_log_pytest"
			},
			check: func(r eval.Task) bool { return r.EvalScript == "true\n" },
		},
		{
			name:   "a repository that reports failures only",
			change: func(r *eval.Task) { r.Repo, r.Version = "markedjs/marked", "0.7" },
			filled: []string{"eval_script", "eval_type", "image", "log_parser"},
			check:  func(r eval.Task) bool { return r.EvalType == eval.EvalFailOnly },
		},
		{
			name:   "the end mark inside the patch",
			change: func(r *eval.Task) { r.TestPatch += "+EOF_114329324912\n" },
			filled: []string{"eval_script", "eval_type", "image", "log_parser"},
			check: func(r eval.Task) bool {
				return strings.Count(r.EvalScript, "EOF_114329324912") == 1 && strings.Contains(r.EvalScript, onePatch)
			},
		},
		{
			name: "a file name that a shell would run",
			change: func(r *eval.Task) {
				r.TestPatch = strings.ReplaceAll(onePatch, "basic/tests.py", "$(reboot).py")
			},
			filled: []string{"eval_script", "eval_type", "image", "log_parser"},
			check: func(r eval.Task) bool {
				return strings.Contains(r.EvalScript, " 'tests/$(reboot).py'\n") && strings.Contains(r.EvalScript, " '$(reboot)'\n")
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			row := oldRow()
			tt.change(&row)
			filled, err := evalscript.Complete(&row, evalscript.V5)
			if err != nil || !slices.Equal(filled, tt.filled) {
				t.Errorf("filled %v, error %v; want %v", filled, err, tt.filled)
			}
			if !tt.check(row) {
				t.Errorf("the row became %+v", row)
			}
		})
	}
}

func TestCompleteRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*eval.Task)
		want   string
	}{
		{"repository", func(r *eval.Task) { r.Repo = "octo/unknown" }, "no entry for repository octo/unknown"},
		{"version", func(r *eval.Task) { r.Version = "77" }, `no entry for version "77" of django/django`},
		{"NUL", func(r *eval.Task) { r.TestPatch += "+\x00\n" }, "NUL"},
		{"a patch that leaves the repository", func(r *eval.Task) {
			r.TestPatch = strings.ReplaceAll(onePatch, "tests/basic/tests.py", "../../etc/passwd")
		}, "leaves the repository"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			row := oldRow()
			tt.change(&row)
			filled, err := evalscript.Complete(&row, evalscript.V5)
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(filled) > 0 {
				t.Errorf("filled %v, error %v; want one with %q", filled, err, tt.want)
			}
			if row.EvalScript != "" || row.Image != "" || row.LogParser != "" {
				t.Errorf("the row was changed: %+v", row)
			}
			if unknown := errors.As(err, new(*evalscript.UnknownSpecError)); unknown != strings.Contains(tt.want, "entry") {
				t.Errorf("unknown spec: %v", unknown)
			}
		})
	}
}
