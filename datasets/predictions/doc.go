// Package predictions reads the patches that a model made for the tasks of a
// dataset, and accounts for every record of them.
//
// It owns the dialects in which benchmarks and agents write predictions down
// (Builtin lists them), how a file shows which one it is in, the rule for
// duplicates, and the coverage report. It never looks into a patch: its text is
// kept as sent. Bad records are listed, they do not spoil the others.
package predictions
