// Package evidence receives what gVisor's own kernel, the sentry, saw in one
// sandbox: programs started, connections, mounts, traced processes, changes of
// identity, opens of watched files. It builds the configuration that makes the
// sentry report (PodInit), owns the socket to which it reports (Sink), keeps the
// events as a bounded file of JSON lines, and sums them up as rows for the events
// table. It knows nothing of containers, tasks or the store.
//
// The sentry runs the candidate's code and is not trusted. What it sends is
// bounded in size, rate, number and memory; bytes that make no sense are counted
// by name. Strings keep what the sandbox wrote, control characters included, with
// bytes that are no UTF-8 as \xNN: whoever shows them escapes them.
//
// Nothing here makes a sandbox wait: what is sent is read at once, however slow the
// file is. When the host doesn't let us run, the sentry tries for some milliseconds
// (PodInit), then it drops the event, counts it, and that is shown as a gap.
//
// What can't be seen, at the pinned version of gVisor:
//
//   - The sentry drops, without counting it, a message of which any string isn't
//     UTF-8. Points are therefore asked for as few strings as they can do with:
//     not for the name that a process gives itself, and for the working directory
//     only with opens. Starts of programs are reported a second time without any
//     string, so that one whose name or arguments hide it shows as "exec_hidden";
//     an environment that isn't UTF-8 leaves "exec_attempt", without a digest. An
//     open that hides like this is not seen.
//   - Files are watched by the name that was asked for: a symbolic or hard link
//     under another name is another name.
//   - Programs that the runtime itself starts in a running sandbox are not
//     reported; what they start is.
//   - Drops behind the last message that arrived, and the last moment of a sandbox
//     that is killed.
//   - Calls of code inside one process that make no system call.
package evidence
