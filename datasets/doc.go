// Package datasets is the parse step: it turns the rows of a dataset file into
// tasks that are ready to run, or says exactly which rows are not and why.
//
// It owns the row schema of SWE-bench, its checks, the digest of a dataset,
// selection, and the file forms that tasks are written in. It knows nothing of
// predictions (see package predictions), images, sandboxes or stores, and never
// executes or interprets anything that a row holds.
//
// A row is an object (or a Parquet record) with the fields of the table in
// fields.go; others are ignored. docs/datasets.md has them all:
//
//   - required text: instance_id, repo (owner/name), base_commit, patch (the
//     gold patch) and test_patch; all but the first two may be "".
//   - required lists of strings: FAIL_TO_PASS and PASS_TO_PASS. A list may also
//     come as a string that holds it as JSON, as several SWE-bench sets have it.
//   - needed to execute a task (see Runnable): image, eval_script, log_parser.
//     Rows of the form used before SWE-bench 5 load without them; Complete adds
//     what the spec table knows.
//   - optional text: version, language (told by the log parser or the repository
//     where that is evident), difficulty, created_at, problem_statement,
//     hints_text, eval_type (pass_and_fail unless said), workdir, family.
//   - optional objects, also as JSON in a string, which is how they stand in
//     Parquet: limits, frozen, image_assets, files, solution, baseline.
//
// Rows of other families (family.go) are recognised by their fields and become
// tasks of this schema, with the script that runs their tests (evalscript).
//
// A null is the same as no value. Text is never altered: invalid UTF-8, lone
// surrogates and keys given twice are problems of the row, not repaired.
package datasets
