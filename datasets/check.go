package datasets

import (
	"errors"
	"path"
	"strings"
	"unicode"

	"harness/eval"
)

// check looks at the values of a row whose types are right.
func check(t *eval.Task) []rowProblem {
	var out []rowProblem
	bad := func(field, reason, fix string) {
		out = append(out, rowProblem{field: field, reason: reason, fix: fix})
	}
	warn := func(field, reason, fix string) {
		out = append(out, rowProblem{field: field, reason: reason, fix: fix, warning: true})
	}
	if err := eval.ValidateInstanceID(t.InstanceID); err != nil {
		bad("instance_id", err.Error(), "rename the task")
	}
	if !isRepo(t.Repo) {
		bad("repo", quote(t.Repo)+" is not owner/name", `write two words of letters, digits, "." "_" "-" around one "/"`)
	}
	switch {
	case !isRevision(t.BaseCommit):
		bad("base_commit", quote(t.BaseCommit)+" can't name a commit", "give the 40 hex digits of the commit, or an empty string when there is none")
	case t.BaseCommit != "" && !isCommit(t.BaseCommit):
		warn("base_commit", quote(t.BaseCommit)+" may move: it is not a full commit id", "give all 40 hex digits")
	}
	if t.Patch == "" {
		warn("patch", "the task has no gold patch", "runs with --gold and calibration will leave it out")
	}
	if len(t.FailToPass) == 0 {
		warn("FAIL_TO_PASS", "the list is empty: nothing has to be fixed to resolve the task", "list the tests that the gold patch fixes")
	}
	checkTests(t, warn)
	if strings.ContainsFunc(t.Image, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) || strings.HasPrefix(t.Image, "-") {
		bad("image", quote(t.Image)+" is not an image reference", "write it like swebench/name:tag")
	}
	switch t.EvalType {
	case "", eval.EvalPassAndFail, eval.EvalFailOnly:
	default:
		bad("eval_type", quote(t.EvalType)+" is unknown", "use "+eval.EvalPassAndFail+" or "+eval.EvalFailOnly)
	}
	if t.WorkDir != "" && (!path.IsAbs(t.WorkDir) || path.Clean(t.WorkDir) != t.WorkDir || strings.ContainsRune(t.WorkDir, 0)) {
		bad("workdir", quote(t.WorkDir)+" is not a clean absolute path", "write it like "+eval.DefaultWorkDir)
	}
	if !isWord(t.Language, "+#-") {
		bad("language", quote(t.Language)+" is not one word", "write it like python, javascript, c++")
	}
	if err := t.Limits.Apply(eval.DefaultLimits()).Validate(); err != nil {
		for _, e := range unjoin(err) {
			bad("limits", e.Error(), "correct the value or leave it out")
		}
	}
	return out
}

func checkTests(t *eval.Task, warn func(field, reason, fix string)) {
	seen := make(map[string]bool, len(t.FailToPass))
	for _, id := range t.FailToPass {
		seen[id] = true
	}
	if seen[""] {
		warn("FAIL_TO_PASS", "a test id is empty", "remove it: no log can name it")
	}
	for _, id := range t.PassToPass {
		if id == "" {
			warn("PASS_TO_PASS", "a test id is empty", "remove it: no log can name it")
			break
		}
	}
	for _, id := range t.PassToPass {
		if id != "" && seen[id] {
			warn("PASS_TO_PASS", quote(id)+" is in FAIL_TO_PASS too", "a test is in one of the lists")
			break
		}
	}
}

// Runnable says what a task lacks in order to be executed: rows of the older
// SWE-bench form have no image, eval_script and log_parser.
func Runnable(t *eval.Task) error {
	var missing []string
	if t.Image == "" {
		missing = append(missing, "image")
	}
	if t.EvalScript == "" {
		missing = append(missing, "eval_script")
	}
	if t.LogParser == "" {
		missing = append(missing, "log_parser")
	}
	if len(missing) == 0 {
		return nil
	}
	return &NotRunnableError{InstanceID: t.InstanceID, Missing: missing}
}

// NotRunnableError names what a task lacks in order to be executed.
type NotRunnableError struct {
	InstanceID string
	Missing    []string // names of row fields
}

func (e *NotRunnableError) Error() string {
	return "task " + e.InstanceID + " can't be executed: it has no " + strings.Join(e.Missing, ", ") +
		"; use the dataset's newer form, whose rows carry these fields, or add them"
}

func isRepo(s string) bool {
	owner, name, ok := strings.Cut(s, "/")
	return ok && isName(owner) && isName(name)
}

func isName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= 200 && isASCIIWord(s, "._-")
}

func isRevision(s string) bool {
	return len(s) <= 200 && !strings.HasPrefix(s, "-") && !strings.Contains(s, "..") && isASCIIWord(s, "._-/")
}

func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// isWord accepts "" too.
func isWord(s, punct string) bool { return len(s) <= 50 && isASCIIWord(s, punct) }

func isASCIIWord(s, punct string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(punct, c) >= 0) {
			return false
		}
	}
	return true
}

func unjoin(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}
