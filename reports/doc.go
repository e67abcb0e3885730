// Package reports turns the record of a run into the files that people and
// their tools read: six Parquet tables, report.json and summary.md.
//
// It owns the columns (names, types, units, which of them may differ between
// two runs of the same input), the shape of report.json and the counting behind
// both. It knows nothing of how trials are executed or graded, nor which store
// it writes to, and has no clock: what is not in its input is null.
package reports
