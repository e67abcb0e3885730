// Package localstack runs what `harness eval` needs on one machine: Temporal's
// dev server with its web UI, a private containerd, on request an S3 server; as
// child processes that are found again, replaced when they die and stopped
// without a trace.
//
// It owns processes, ports, pid files and the lock that says who owns the stack.
// It knows nothing of runs, tasks or workflows.
package localstack
