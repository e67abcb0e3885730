package evalscript

import (
	"fmt"

	"harness/eval"
)

// Files that a script makes for itself.
const (
	testsFile = "/tmp/harness-tests.sh"
	setupFile = "/tmp/harness-setup.sh"
	// quietLog keeps what was said before the tests. Code of the candidate runs
	// there, too, and could print a marker ahead of ours.
	quietLog = "/tmp/harness-before.log"
)

// traced is for commands that expect a shell which goes on over unset variables.
var traced = []string{"#!/bin/bash", "set -x"}

// writeFile puts content into a file inside the sandbox. A script of its own is
// how commands of a row are run: whatever they hold, they can't break the lines
// around them, and their shell is a plain one.
func writeFile(path, content string) (string, error) {
	return HereDoc("cat > "+path, content)
}

// quietly runs commands in the script's own shell, their output kept apart.
func quietly(commands ...string) []string {
	if len(commands) == 0 {
		return nil
	}
	out := append(make([]string, 0, len(commands)+2), "{")
	return append(append(out, commands...), "} > "+quietLog+" 2>&1")
}

// told shows what quietly kept, behind the end marker.
var told = []string{"cat " + quietLog}

// repository enters the task's repository.
func repository(t *eval.Task) []string {
	return []string{"cd " + Quote(t.Dir()), "git config --global --add safe.directory " + Quote(t.Dir())}
}

// testFiles reads which files a task's test patch touches.
func testFiles(t *eval.Task) (Touched, error) {
	files, err := Files(t.TestPatch)
	if err != nil {
		return Touched{}, fmt.Errorf("test_patch: %w", err)
	}
	return files, nil
}
