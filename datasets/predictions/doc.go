// Package predictions reads the file of patches that a model made for the
// tasks of a dataset, and accounts for every record of it.
//
// It owns the three file forms of the official harness (JSON Lines, a JSON
// list, a JSON object whose values are predictions), the rule for duplicates,
// and the coverage report. It never looks into a patch: its text is kept as
// sent. Bad records are listed, they do not spoil the others.
package predictions
