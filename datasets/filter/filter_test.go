package filter_test

import (
	"errors"
	"strings"
	"testing"

	"harness/datasets/filter"
	"harness/eval"
)

var task = eval.Task{
	InstanceID: "django__django-11099", Repo: "django/django", Version: "3.0", Language: "python",
	Difficulty: "<15 min fix", LogParser: "parse_log_django", CreatedAt: "2019-03-20T03:46:18Z",
	EvalType: eval.EvalPassAndFail, FailToPass: []string{"a", "b"}, PassToPass: []string{"c"}, Patch: "diff",
}

func TestMatch(t *testing.T) {
	tests := []struct {
		in   string
		want bool
	}{
		{`repo == "django/django"`, true},
		{`repo != 'django/django'`, false},
		{`repo == "django/django" && difficulty != "<15 min fix"`, false},
		{`repo == "x/y" || version == "3.0" && language == "python"`, true},
		{`(repo == "x/y" || version == "3.0") && language == "go"`, false},
		{`!(language == "go") and not language == "rust" or repo == "q/q"`, true},
		{`!!(language == "python")`, true},
		{`instance_id ~ "^django__.*-1\d+$"`, true},
		{`instance_id !~ "sympy"`, true},
		{`repo in ["a/b", "django/django"]`, true},
		{`repo not in ["a/b"]`, true},
		{`repo !in ["django/django"]`, false},
		{`created_at >= "2019-01-01" && created_at < "2020"`, true},
		{`len(FAIL_TO_PASS) == 2 && len(PASS_TO_PASS) <= 1 && len(patch) > 3`, true},
		{`len(FAIL_TO_PASS) > 2`, false},
		{`eval_type == "fail_only"`, false},
		{`log_parser == "parse_log_django"`, true},
		{`difficulty == "a\"b\\c"`, false},
	}
	for _, tt := range tests {
		f, err := filter.Parse(tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if got := f.Match(&task); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.in, got, tt.want)
		}
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		in     string
		offset int
		reason string
	}{
		{``, 0, "a field is expected, not the end"},
		{`repo`, 4, "a comparison is expected"},
		{`repo = "x"`, 5, "write =="},
		{`repo == x`, 8, "a string in quotes"},
		{`repo == "x`, 8, "not closed"},
		{`rep == "x"`, 0, "there is no field rep"},
		{`repo == "x" repo == "y"`, 12, "join conditions"},
		{`(repo == "x"`, 12, `")" is expected`},
		{`repo ~ "("`, 7, "regular expression"},
		{`repo in "x"`, 8, "a list like"},
		{`repo in []`, 9, "a string in quotes"},
		{`repo in ["a" "b"]`, 13, `"," or "]"`},
		{`len(repo) > 1`, 4, "len takes one of"},
		{`len(patch) > "1"`, 13, "a whole number"},
		{`len(patch) > 9999999999`, 13, "not a whole number"},
		{`len(patch) ~ 1`, 11, "a comparison"},
		{`repo == "x" & version == "1"`, 12, "write &&"},
		{`repo == "x" && ü == "1"`, 15, "'ü' means nothing"},
		{strings.Repeat("(", 5000), 101, "deeper"},
		{strings.Repeat("!", 5000), 101, "deeper"},
		{strings.Repeat(" ", 1<<17), 0, "longer than"},
	}
	for _, tt := range tests {
		_, err := filter.Parse(tt.in)
		var fe *filter.Error
		if !errors.As(err, &fe) || fe.Offset != tt.offset || !strings.Contains(fe.Reason, tt.reason) {
			t.Errorf("%.40q: %v; want offset %d, %q", tt.in, err, tt.offset, tt.reason)
		}
	}
	_, err := filter.Parse(`repo == "ü" oops`)
	want := "filter, column 13: \"oops\" is not expected here; join conditions with && or ||\n  repo == \"ü\" oops\n              ^"
	if err == nil || err.Error() != want {
		t.Errorf("message is\n%v\nwant\n%v", err, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`repo == "a" && !(len(patch) > 3 || version in ["1", '2'])`, `repo !in ["x"]`, "\x80", `repo ~ "[a-"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := filter.Parse(s)
		if err != nil {
			_ = err.Error()
			if !errors.As(err, new(*filter.Error)) {
				t.Fatalf("%q: error without position: %v", s, err)
			}
			return
		}
		m.Match(&task)
	})
}
