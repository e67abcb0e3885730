package evalscript

import (
	"errors"
	"slices"
	"strings"

	"harness/eval"
)

// InstallConfig is the part of a SWE-rebench row's install_config that tells how
// its tests are run.
type InstallConfig struct {
	Eval    []string // environment of the test run (first release)
	Install []string // run again after the candidate's patch (first release)
	Test    []string
}

var errNoTestCommand = errors.New("there is no test command")

// Rebench writes the script of a task of SWE-rebench's first release: the
// official one, a Python script of SWE-bench 4, without the listing of changes,
// in which a candidate could show a marker. The last test command gets the files
// that the test patch leaves.
func Rebench(t *eval.Task, c InstallConfig) (string, error) {
	files, err := testFiles(t)
	if err != nil {
		return "", err
	}
	if len(c.Test) == 0 {
		return "", errNoTestCommand
	}
	apply, err := ApplyTestPatch("git apply -v -", t.TestPatch)
	if err != nil {
		return "", err
	}
	tests := slices.Clone(c.Test)
	for _, name := range files.After {
		if !slices.ContainsFunc(notTests, func(end string) bool { return strings.HasSuffix(name, end) }) {
			tests[len(tests)-1] += " " + operands([]string{name})
		}
	}
	reset := files.Reset(t.BaseCommit)
	script := Join(Header, activate, repository(t), c.Eval, quietly(c.Install...), reset, apply, Between(tests...), reset)
	if len(c.Install) > 0 {
		script += Join(told)
	}
	return script, nil
}

// applyRebench2 is how SWE-rebench's second release applies both patches.
const applyRebench2 = "git apply -v --3way --recount --ignore-space-change --whitespace=nowarn"

// Rebench2 writes the script of a task of SWE-rebench's second release. As in the
// official one, nothing is run when the test patch does not apply on top of the
// candidate's, and the first test command that fails is the last.
func Rebench2(t *eval.Task, c InstallConfig) (string, error) {
	if len(c.Test) == 0 {
		return "", errNoTestCommand
	}
	apply, err := ApplyTestPatch("if ! "+applyRebench2+" -", t.TestPatch)
	if err != nil {
		return "", err
	}
	if apply != nil {
		apply = append(apply, "then exit 1; fi")
	}
	tests, err := writeFile(testsFile, Join(c.Test))
	if err != nil {
		return "", err
	}
	return Join(
		Header, repository(t),
		// A three-way merge wants the index to be as the files are.
		[]string{"export _JAVA_OPTIONS=-Djava.net.preferIPv6Addresses=false", "git add -u"},
		apply, []string{tests}, Between("bash -e "+testsFile),
	), nil
}
