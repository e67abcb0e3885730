package datasets

import (
	"fmt"

	"harness/datasets/evalscript"
	"harness/eval"
)

// Complete gives tasks of the form before SWE-bench 5 the image, eval script and
// log parser that their rows lack, where the spec table knows how (see package
// evalscript). It is a step of its own, not of loading: a dataset's digest speaks
// of what its rows say. Tasks that it can't complete stay as they are, and
// Runnable says why.
func Complete(tasks []eval.Task) Completed {
	var c Completed
	for i := range tasks {
		t := &tasks[i]
		if t.Family != "" {
			continue
		}
		said := t.EvalType
		filled, err := evalscript.Complete(t)
		if err != nil || len(filled) == 0 {
			continue
		}
		if said == eval.EvalFailOnly {
			t.EvalType = said // the other one is what every row that says nothing gets
		}
		for _, f := range filled {
			if f == "eval_script" {
				c.Scripts++
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
}

// Notice is one sentence for people; "" when nothing was done.
func (c Completed) Notice() string {
	if c.Tasks == 0 {
		return ""
	}
	return fmt.Sprintf("note: the rows of %s lack what it takes to run them; it comes from the spec table, with %s generated",
		plural(c.Tasks, "task"), plural(c.Scripts, "eval script"))
}
