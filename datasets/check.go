package datasets

import (
	"errors"
	"path"
	"slices"
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
	if t.Patch == "" && t.Solution == nil {
		warn("patch", "the task has no gold patch", "runs with --gold and calibration will leave it out")
	}
	if len(t.FailToPass) == 0 && t.Family != eval.FamilyHarbor {
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
	if t.WorkDir != "" && t.WorkDir != eval.ImageWorkDir && (!path.IsAbs(t.WorkDir) || path.Clean(t.WorkDir) != t.WorkDir || strings.ContainsRune(t.WorkDir, 0)) {
		bad("workdir", quote(t.WorkDir)+" is not a clean absolute path", "write it like "+eval.DefaultWorkDir)
	}
	if len(t.LogParser) > 200 || !isASCIIWord(t.LogParser, "._-/:") {
		bad("log_parser", quote(t.LogParser)+" is not the name of a parser", "write it like parse_log_pytest; parsers are never taken from a row")
	}
	if !isWord(t.Language, "+#-") {
		bad("language", quote(t.Language)+" is not one word", "write it like python, javascript, c++")
	}
	if t.Family != "" && !slices.Contains(knownFamilies, t.Family) {
		bad("family", quote(t.Family)+" is unknown", "use one of "+strings.Join(knownFamilies, ", ")+", or leave it out for SWE-bench's own")
	}
	if err := checkAssets(t.ImageAssets); err != nil {
		bad("image_assets", err.Error(), "correct the value or leave it out")
	}
	if err := checkFiles(t.Files); err != nil {
		bad("files", err.Error(), "correct the list or leave it out")
	}
	if s := t.Solution; s != nil {
		switch err := checkFiles(s.Files); {
		case err != nil:
			bad("solution", err.Error(), "correct the list or leave it out")
		case s.TimeoutSeconds < 0:
			bad("solution", "timeout_seconds is negative", "leave it out for no bound of its own")
		}
	}
	if err := t.Limits.Apply(eval.DefaultLimits()).Validate(); err != nil {
		for _, e := range unjoin(err) {
			bad("limits", e.Error(), "correct the value or leave it out")
		}
	}
	return out
}

// knownFamilies are the values of a task's family.
var knownFamilies = []string{
	eval.FamilyMultiSWEBench, eval.FamilyLive, eval.FamilyRebench, eval.FamilyRebench2, eval.FamilyPro, eval.FamilyGym, eval.FamilyHarbor,
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

// cutRepo splits owner/name.
func cutRepo(s string) (owner, name string, ok bool) {
	if !isRepo(s) {
		return "", "", false
	}
	owner, name, _ = strings.Cut(s, "/")
	return owner, name, true
}
