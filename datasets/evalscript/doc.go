// Package evalscript writes the bash file that runs a task's tests, for rows of
// families that describe the run instead of bringing the script: one file per
// family, and the shell vocabulary that they share. For rows of SWE-bench's older
// form, which say nothing of the run, a table of commands by repository and
// version stands in (folder specs).
//
// It owns the order of the steps and the quoting. Everything it is given comes
// from a dataset and is hostile to the host, so it only writes text: nothing is
// executed, opened or looked up here. Which task gets which script is the
// business of package datasets.
//
// A script starts behind the point where a recipe has applied the candidate's
// patch (see eval.Recipe). It ends with the work tree's tests restored, and
// leaves what the tests said between two markers.
package evalscript
