// Package datasets is the parse step: it turns the rows of a dataset file into
// tasks that are ready to run, or says exactly which rows are not and why.
//
// It owns the row schema of SWE-bench (with and without image, eval_script and
// log_parser), its checks, the digest of a dataset, selection, and the file
// forms that tasks are written in. It knows nothing of predictions (see
// package predictions), images, sandboxes or stores, and never executes or
// interprets anything that a row holds.
package datasets
