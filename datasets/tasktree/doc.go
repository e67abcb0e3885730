// Package tasktree loads task repositories, the form in which SWE-bench 5 keeps
// a dataset as source:
//
//	sweb.yaml                   datasets and splits that the repository publishes
//	tasks/<instance id>/
//	    task.yaml               the short fields, the split and the datasets of the task
//	    tests.json              FAIL_TO_PASS and PASS_TO_PASS
//	    problem_statement.md    what a model is told
//	    hints.md                may be missing
//	    gold.patch, test.patch  as they are, line ends included
//	    eval.sh                 runs the tests
//	    Dockerfile              makes the image; not used here, the task names an image
//	    test_assets/            pictures that no text patch can carry
//
// It owns this layout. What a task's values may be is the business of package
// datasets; nothing of a task is executed or interpreted.
package tasktree
