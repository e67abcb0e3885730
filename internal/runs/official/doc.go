// Package official writes a stored run as the official SWE-bench harness leaves
// one behind: its tree of logs, its reports, and the predictions, so that tools
// made for that harness read ours.
//
// It owns file names, layouts and encodings as releases 5.0.2 and 4.1.0 have
// them, and the counting of the run report, which is done by their rules over
// what was written. It works from the artifact store alone, one trial at a time,
// and never writes outside of the folder that it was given.
package official
