package datasets

import (
	"errors"
	"fmt"
	"slices"

	"harness/datasets/evalscript"
	"harness/eval"
)

// Complete gives tasks of the form before SWE-bench 5 the image, eval script and
// log parser that their rows lack, where the spec table knows how (see package
// evalscript). It is a step of its own, not of loading: a dataset's digest speaks
// of what its rows say. Tasks that it can't complete stay as they are, and
// Runnable says why. The scripts are of the form that the recipe asks for.
func Complete(tasks []eval.Task, r eval.Recipe) Completed {
	c := Completed{older: r.OlderScripts}
	form := evalscript.V5
	if r.OlderScripts {
		form = evalscript.V4
	}
	for i := range tasks {
		t := &tasks[i]
		if t.Family != "" {
			continue
		}
		said := t.EvalType
		filled, err := evalscript.Complete(t, form)
		newer := errors.Is(err, evalscript.ErrNewerOnly)
		if newer {
			filled, err = evalscript.Complete(t, evalscript.V5)
		}
		if err != nil || len(filled) == 0 {
			continue
		}
		if said == eval.EvalFailOnly {
			t.EvalType = said // the other one is what every row that says nothing gets
		}
		if slices.Contains(filled, "eval_script") {
			c.Scripts++
			if newer {
				c.Newer++
			}
		}
		c.Tasks++
		normalise(t)
	}
	return c
}

// Completed counts what Complete did.
type Completed struct {
	Tasks   int // tasks that were given anything
	Scripts int // tasks whose eval script was generated
	Newer   int // of these, the ones that have no script of the older form, which was asked for
	older   bool
}

// Notice is one sentence for people; "" when nothing was done.
func (c Completed) Notice() string {
	if c.Tasks == 0 {
		return ""
	}
	note := fmt.Sprintf("note: the rows of %s lack what it takes to run them; it comes from the spec table, with %s generated",
		plural(c.Tasks, "task"), plural(c.Scripts, "eval script"))
	if c.older && c.Scripts > 0 {
		note += " in the form of SWE-bench 4"
	}
	if c.Newer > 0 {
		note += fmt.Sprintf(", but for those of %s in the form of SWE-bench 5: the older one fetches pictures while tests run", plural(c.Newer, "multimodal task"))
	}
	return note
}
