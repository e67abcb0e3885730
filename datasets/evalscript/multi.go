package evalscript

import "harness/eval"

// MultiSWEBench writes the script of a Multi-SWE-bench task. Its image brings the
// test patch and two scripts that know how to run the tests: fix-run.sh applies
// the test patch and /home/fix.patch first, test-run.sh the test patch only.
//
// The image also has the gold patch in /home/fix.patch. It never counts: it is
// replaced by the candidate's, and a candidate whose patch is in the tree
// already, or who has none, gets test-run.sh.
func MultiSWEBench(t *eval.Task) string {
	patch, dir := eval.PatchFile, Quote(t.Dir())
	return Join(
		Header, repository(t),
		[]string{
			"rm -f /home/fix.patch",
			"if [ ! -s " + patch + " ] || git -C " + dir + " apply --check --reverse " + patch + "; then",
			"  run=/home/test-run.sh",
			"else",
			"  cp " + patch + " /home/fix.patch",
			"  run=/home/fix-run.sh",
			"fi",
		},
		Between(`bash "$run"`),
	)
}
