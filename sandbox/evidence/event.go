package evidence

import "time"

// Kind says what happened. System calls that have no kind of their own here go by
// their name: "mount", "ptrace", "setuid".
type Kind string

// Kinds of events.
const (
	KindStart       Kind = "start"        // the sandbox's first program, as configured
	KindExec        Kind = "exec"         // a program was started
	KindExecAttempt Kind = "exec_attempt" // it failed, or its environment isn't UTF-8
	KindExecHidden  Kind = "exec_hidden"  // a start of which the sentry could tell nothing
	KindClone       Kind = "clone"        // a new process; new threads are counted only
	KindThread      Kind = "thread"       // counted only
	KindExit        Kind = "exit"         // a process ended; ends of threads are not told
	KindConnect     Kind = "connect"
	KindBind        Kind = "bind"
	KindSocket      Kind = "socket" // of another family than AF_UNIX
	KindOpen        Kind = "open"   // of a watched file
	KindUnwatched   Kind = "open_unwatched"
)

// Event is one thing that happened in the sandbox. Numbers are as the sandbox sees
// them: its process ids, its clock. A nil field is not known or has no meaning for
// the kind.
type Event struct {
	Time time.Time `json:"time"` // when the message arrived, if the sentry gave no time
	Kind Kind      `json:"kind"`
	PID  int32     `json:"pid,omitempty"`
	TID  int32     `json:"tid,omitempty"` // when it isn't the process's first thread
	PPID int32     `json:"ppid,omitempty"`
	// Exe is the path of the program that the process was last seen to start.
	Exe string  `json:"exe,omitempty"`
	UID *uint32 `json:"uid,omitempty"` // effective, after the event
	GID *uint32 `json:"gid,omitempty"`

	Path   string   `json:"path,omitempty"` // resolved as text against the folder it is relative to
	Args   []string `json:"args,omitempty"` // the first of them
	Argc   int      `json:"argc,omitempty"` // how many there are
	SHA256 string   `json:"sha256,omitempty"`
	Cut    bool     `json:"cut,omitempty"` // a string or list was shortened

	Addr string `json:"addr,omitempty"` // "10.0.0.1:443", "[::1]:80", "unix:/run/x", "family 40"
	// Values are the numbers that belong to the kind: flags of clone and open;
	// domain, type and protocol of a socket; ids of setuid and friends; else the
	// arguments of the system call (addresses are of no use, but are there).
	Values []int64 `json:"values,omitempty"`
	Child  int32   `json:"child,omitempty"`
	Status string  `json:"status,omitempty"` // of an exit: "0", "signal 9"
	Write  bool    `json:"write,omitempty"`  // an open that could change or create the file

	Result *int64 `json:"result,omitempty"` // what the call returned, unless it failed
	Errno  string `json:"errno,omitempty"`  // why it failed, as "EPERM"

	// Lossy is set when events were dropped around this one, so that its being
	// incomplete means nothing.
	Lossy bool `json:"lossy,omitempty"`

	reach    reach  // of Addr
	severity string // of a watched open
}

// failed tells an attempt from a success; a call whose end isn't known is one that
// may have succeeded.
func (e Event) failed() bool { return e.Errno != "" }
