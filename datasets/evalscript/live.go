package evalscript

import "harness/eval"

// LiveCommands are what a row of SWE-bench-Live says of its tests.
type LiveCommands struct {
	Rebuild []string // after the patches
	Test    []string
	// Print shows the tests' results when they leave them in files; without it,
	// what the tests print are the results.
	Print []string
}

// Live writes the script of a SWE-bench-Live task. The official evaluation
// applies the test patch first and what it can of the candidate's patch on top;
// here the candidate's is in the tree, so its changes to test files are undone.
func Live(t *eval.Task, c LiveCommands) (string, error) {
	files, err := testFiles(t)
	if err != nil {
		return "", err
	}
	reset := files.Reset(t.BaseCommit)
	apply, err := ApplyTestPatch("git apply --reject --whitespace=nowarn -", t.TestPatch)
	if err != nil {
		return "", err
	}
	run := []string{"exec 3>&1 4>&2 > " + quietLog + " 2>&1"}
	run = append(run, c.Rebuild...)
	if len(c.Print) == 0 {
		run = append(append(run, "exec 1>&3 2>&4"), c.Test...)
	} else {
		run = append(append(append(run, c.Test...), "exec 1>&3 2>&4"), c.Print...)
	}
	tests, err := writeFile(testsFile, Join(run))
	if err != nil {
		return "", err
	}
	// In some images the repository is a folder inside /testbed.
	enter := []string{
		"cd " + Quote(t.Dir()),
		`[ -d .git ] || { g=$(find . -maxdepth 2 -mindepth 2 -type d -name .git -print -quit); [ -n "$g" ] && cd "${g%/.git}"; }`,
		`git config --global --add safe.directory "$PWD"`,
		`repository=$PWD`,
	}
	return Join(
		Header, enter, reset, apply, []string{tests, "cd " + Quote(t.Dir())},
		Between("bash "+testsFile), told, []string{`cd "$repository"`}, reset,
	), nil
}
