// Package harborfolder loads tasks that are folders of Harbor's form, and of the
// older one of Terminal-Bench:
//
//	<task>/task.toml                     <task>/task.yaml
//	       instruction.md                       (the instruction is in task.yaml)
//	       environment/Dockerfile               Dockerfile, docker-compose.yaml
//	       tests/test.sh, ...                   run-tests.sh, tests/...
//	       solution/solve.sh, ...               solution.sh
//
// Such a task has no repository and no lists of tests: its tests look at the
// state of the sandbox and write a reward. The folder that is loaded is one task,
// or holds tasks directly or below "tasks".
//
// It owns both layouts and what of their settings can be honoured here. Nothing
// of a task is executed or interpreted.
package harborfolder
