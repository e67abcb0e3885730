package evalscript

// Gym writes the script of a SWE-Gym task whose row brings two scripts: setup
// installs the repository again, restores the test files and applies the test
// patch; tests runs them.
func Gym(setup, tests string) (string, error) {
	before, err := writeFile(setupFile, setup)
	if err != nil {
		return "", err
	}
	run, err := writeFile(testsFile, tests)
	if err != nil {
		return "", err
	}
	return Join(Header, []string{before, run}, quietly("bash "+setupFile), Between("bash "+testsFile), told), nil
}
