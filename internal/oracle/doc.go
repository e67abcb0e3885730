// Package oracle compares our graders with the official ones: on logs that no
// test suite would write by hand, which are real logs, mutated, and on those that
// were, the worked verdicts of package grade.
//
// It has tests only, behind the build tag oracle. run.sh puts the official
// releases into a virtual environment of their own and starts them; nothing of
// the product imports or needs them. A difference is reduced to a small log and
// kept as files, so that it can become a case of package grade or logparse.
//
// specgen.py, which writes the spec table of package evalscript, is here because
// it needs the same releases.
package oracle
