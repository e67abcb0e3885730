package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"harness/datasets/evalscript"
	"harness/eval"
)

// Runnable says what a task lacks in order to be executed: rows of the older
// SWE-bench form have no image, eval_script and log_parser. The error is a
// *NotRunnableError.
func Runnable(t *eval.Task) error {
	e := &NotRunnableError{InstanceID: t.InstanceID}
	for _, need := range []struct{ field, value string }{{"image", t.Image}, {"eval_script", t.EvalScript}, {"log_parser", t.LogParser}} {
		if need.value == "" {
			e.Missing = append(e.Missing, need.field)
		}
	}
	for _, a := range MissingPictures(t) {
		e.Pictures = append(e.Pictures, a.Path)
	}
	switch {
	case len(e.Missing) == 0 && len(e.Pictures) == 0:
		return nil
	case len(e.Missing) == 0:
		e.Hint = "tests compare with them, and a run fetches nothing: `harness dataset import DATASET --pictures` does, and the dataset's task repository has them in test_assets"
	case t.Family == eval.FamilyHarbor:
		e.Hint = folderHint(t)
	case t.Family == "":
		attempt := *t
		_, e.Why = evalscript.Complete(&attempt, evalscript.V5)
	default:
		e.Hint = lackHint(t.Family)
	}
	return e
}

// folderHint says what to do about a task of a folder that lacks something.
func folderHint(t *eval.Task) string {
	if t.EvalScript == "" {
		return "it asks for something that sandboxes do not have; `harness dataset validate` says what"
	}
	return "sandboxes start from images and Dockerfiles are not built here: build the task's with any tool, `harness image import` the result, " +
		"and name it in the task (docker_image under [environment] of task.toml, image of the service in docker-compose.yaml)"
}

// NotRunnableError names what a task lacks in order to be executed.
type NotRunnableError struct {
	InstanceID string
	Missing    []string // names of row fields
	Pictures   []string // of the patches, by their places in the repository
	Why        error    // why Complete can't add the fields; nil when it can
	Hint       string   // where what is missing can be had; "" when nothing is known
}

func (e *NotRunnableError) Error() string {
	what := strings.Join(e.Missing, ", ")
	if what == "" {
		what = "picture " + quote(e.Pictures[0])
		if n := len(e.Pictures) - 1; n > 0 {
			what += ", " + plural(n, "more picture")
		}
	}
	return "task " + e.InstanceID + " can't be executed: it has " + e.reason(what)
}

// kind is the reason in words that do for every task with the same one.
func (e *NotRunnableError) kind() string {
	return e.reason(cmp.Or(strings.Join(e.Missing, ", "), "pictures of the patches"))
}

func (e *NotRunnableError) reason(what string) string {
	s := "no " + what
	if e.Why != nil {
		s += ", and they can't be generated: " + e.Why.Error()
	}
	return s + "; " + cmp.Or(e.Hint, "use the dataset's newer form, whose rows carry these fields, or add them")
}

func (e *NotRunnableError) Unwrap() error { return e.Why }

// UnrunnableError lists the tasks that can't be executed, by reason.
type UnrunnableError struct {
	Tasks  int          // all that were looked at
	Groups []Unrunnable // never empty
}

// Unrunnable are tasks that can't be executed for the same reason.
type Unrunnable struct {
	Reason string   `json:"reason"`
	IDs    []string `json:"instance_ids"`
}

// AllRunnable is nil when each task can be executed, else an *UnrunnableError.
func AllRunnable(tasks []eval.Task) error {
	if groups := Unrunnables(tasks); len(groups) > 0 {
		return &UnrunnableError{Tasks: len(tasks), Groups: groups}
	}
	return nil
}

// Unrunnables are the tasks that can't be executed, by reason.
func Unrunnables(tasks []eval.Task) []Unrunnable {
	return ByReason(tasks, func(t *eval.Task) string {
		var lack *NotRunnableError
		if !errors.As(Runnable(t), &lack) {
			return ""
		}
		return lack.kind()
	})
}

// ByReason groups the tasks for which there is a reason, most tasks first.
func ByReason(tasks []eval.Task, reason func(*eval.Task) string) []Unrunnable {
	var groups []Unrunnable
	place := map[string]int{}
	for i := range tasks {
		why := reason(&tasks[i])
		if why == "" {
			continue
		}
		at, ok := place[why]
		if !ok {
			at = len(groups)
			place[why] = at
			groups = append(groups, Unrunnable{Reason: why})
		}
		groups[at].IDs = append(groups[at].IDs, tasks[i].InstanceID)
	}
	slices.SortStableFunc(groups, func(a, b Unrunnable) int { return cmp.Compare(len(b.IDs), len(a.IDs)) })
	return groups
}

// IDs are those of all groups.
func (e *UnrunnableError) IDs() []string {
	var out []string
	for _, g := range e.Groups {
		out = append(out, g.IDs...)
	}
	return out
}

const (
	shownReasons = 10
	shownIDs     = 3
)

func (e *UnrunnableError) Error() string {
	return fmt.Sprintf("%d of %s can't be executed:\n%s", len(e.IDs()), plural(e.Tasks, "task"), e.List())
}

// List has a line for each reason, with some of its tasks.
func (e *UnrunnableError) List() string {
	var lines []string
	for i, g := range e.Groups {
		if i == shownReasons {
			lines = append(lines, fmt.Sprintf("  and %s; `harness dataset validate --json` has all of them", plural(len(e.Groups)-i, "more reason")))
			break
		}
		ids := strings.Join(g.IDs[:min(shownIDs, len(g.IDs))], ", ")
		if more := len(g.IDs) - shownIDs; more > 0 {
			ids += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, "  "+ids+": "+g.Reason)
	}
	return strings.Join(lines, "\n")
}
