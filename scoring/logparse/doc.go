// Package logparse turns the log of a test command into a map from test name
// to status word, one parser a log format.
//
// It owns the grammars of test logs and Python's text rules, by which the
// official graders read them. It knows nothing of tasks, patches, markers,
// files or verdicts: package grade does.
//
// A name without a prefix is a function of SWE-bench's harness, whose releases
// differ by [Dialect], or a format of ours. "rebench2/" and "multi/" begin the
// names of SWE-rebench V2's and Multi-SWE-bench's, which read other logs.
//
// A log is hostile. Parsers read a stream, keep at most [MaxLine] bytes of a
// line and [MaxNames] names, never panic, and treat bytes that are not UTF-8
// as U+FFFD, the way Python's "replace" does.
package logparse
