// Package sandbox is the contract between the harness and what runs untrusted
// code: a Runtime makes Sandboxes, a Sandbox runs processes under limits and
// tells from the host's side how they ended.
//
// It owns isolation, limits and their evidence. It knows nothing of patches,
// tests, datasets or Temporal.
package sandbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"harness/eval"
)

// Errors of our own side. What code inside a sandbox does is never an error:
// it is an Exit or a Final.
var (
	// ErrImageNotFound: the image store has no such reference. Not worth a retry.
	ErrImageNotFound = errors.New("image not found")
	// ErrImageUnsupported: the image is there but can't be used (platform, hostile content). Not worth a retry.
	ErrImageUnsupported = errors.New("image not supported")
	// ErrCreate: the runtime could not start the sandbox. Worth a retry.
	ErrCreate = errors.New("sandbox could not be created")
	// ErrLost: the sandbox, its shim or containerd went away under us. Worth a retry elsewhere.
	ErrLost = errors.New("sandbox lost")
	// ErrUnhealthy: the runtime as a whole does not answer. Worth a retry elsewhere.
	ErrUnhealthy = errors.New("sandbox runtime unhealthy")
	// ErrInvalidSpec: a limit or name that can't work. Not worth a retry.
	ErrInvalidSpec = errors.New("invalid sandbox spec")
	// ErrClosed: the caller itself ended the sandbox before (Close, Kill, or a call whose ctx ended).
	ErrClosed = errors.New("sandbox was ended before")
)

// ErrDeadline is a cancellation cause (context.WithDeadlineCause) that says "the
// time for this is over", as opposed to "nobody wants the answer any more".
var ErrDeadline = errors.New("deadline passed")

// ErrInside: a copy failed because of what is inside the sandbox (a folder where
// a file should be, a full disk, a broken shell). A file that is not there also
// wraps fs.ErrNotExist. It is the fault of what runs inside, never ours.
var ErrInside = errors.New("failed inside the sandbox")

// Runtime makes sandboxes of one kind (runsc, runc, ...). Implementations are
// safe for concurrent use.
type Runtime interface {
	// Info tells which runtime this is.
	Info(ctx context.Context) (Info, error)
	// Resolve turns an image reference into the digest that Create wants.
	// ErrImageNotFound names the reference and what to do.
	Resolve(ctx context.Context, ref string) (digest string, err error)
	// Create starts a sandbox with its init process running and all Files in
	// place. It is bounded by ctx; on error nothing is left behind.
	Create(ctx context.Context, spec Spec) (Sandbox, error)
	// Remove destroys what is left of the sandboxes that match, by whoever they
	// were made, and returns how many there were. It is idempotent.
	Remove(ctx context.Context, m Match) (int, error)
	// List describes the sandboxes that exist now.
	List(ctx context.Context) ([]Status, error)
}

// Info identifies a runtime.
type Info struct {
	Name         string       // handler: "runsc"
	Version      string       // of the handler, e.g. "release-20260527.0"
	Capabilities []Capability // what the conformance suite may ask of it
}

// Capability tags tests of the conformance suite.
type Capability string

// Capabilities. A test runs against a runtime only if it claims all of the test's tags.
const (
	CapExec        Capability = "exec"
	CapCopy        Capability = "copy"
	CapMemoryLimit Capability = "memory_limit"
	CapCPULimit    Capability = "cpu_limit"
	CapDiskLimit   Capability = "disk_limit"
	CapProcLimit   Capability = "process_limit"
	CapNoNetwork   Capability = "no_network"
	CapUsage       Capability = "usage"
	CapIsolation   Capability = "isolation" // code inside can't reach the host
	CapCensus      Capability = "census"
)

// Spec says what to create. Names are data: the driver derives container names,
// paths and labels from ID only.
type Spec struct {
	// ID is unique among living sandboxes: words of [a-z0-9] joined by single "-", 1 to 60 bytes.
	ID string
	// Owner is the fencing token of who made it (a try); Trial is its TrialID as text. Both are labels, no more.
	Owner, Trial string
	// ImageDigest is what Resolve returned.
	ImageDigest string
	Env         []string // KEY=VALUE, added to the image's
	WorkDir     string   // absolute; created when absent
	Limits      eval.Limits
	Network     eval.NetworkPolicy
	// Files are in place before Create returns.
	Files []File
	// Lease is how long the sandbox may live without Renew: after that any janitor removes it. Zero means 10 minutes.
	Lease time.Duration
	// WritableSnapshot makes writes of the code inside land in a snapshot on top of the image instead of the
	// sandbox's own overlay. For building images only: DiskBytes is not enforced then.
	WritableSnapshot bool
}

// File is content put into a sandbox. Path is absolute and clean.
type File struct {
	Path string
	Mode fs.FileMode // permission bits only
	Data []byte
}

// Sandbox is one running sandbox. Exec, CopyIn and CopyOut may be called
// concurrently; every call is bounded by its ctx. When a ctx ends before its
// call has, the whole sandbox is killed from outside: nothing inside can be
// trusted to end a process tree (daemons leave their session, tools get
// replaced), and a half-killed sandbox is of no use as evidence. A caller that
// wants to go on after a slow command bounds it inside ("timeout -s KILL 60 ...").
// After that, calls fail with ErrClosed. When the sandbox ended by itself, Exec
// returns an Exit with Died; when our own machinery lost it, ErrLost.
type Sandbox interface {
	ID() string
	// Exec runs one process and waits for it. A non-zero exit is not an error; a
	// command that can't be started is exit 127 (not found) or 126, as in shells.
	// When ctx ends first, everything inside is killed, within the grace of the
	// limits. If ctx's cause is ErrDeadline or context.DeadlineExceeded, Exit has
	// TimedOut and the error is nil; else the error is the cause. Output that is
	// still held open by other processes after the exit is cut off soon after.
	Exec(ctx context.Context, p Process) (Exit, error)
	// CopyIn streams exactly size bytes into a regular file, creating its folders.
	CopyIn(ctx context.Context, path string, mode fs.FileMode, size int64, r io.Reader) error
	// CopyOut streams a regular file out; more than limit bytes is an error that wraps ErrTooLarge.
	CopyOut(ctx context.Context, path string, w io.Writer, limit int64) (int64, error)
	// Renew extends the lease.
	Renew(ctx context.Context, lease time.Duration) error
	// Kill ends everything inside at once. Close is still needed.
	Kill(ctx context.Context) error
	// Close destroys the sandbox and returns what the host saw, read before it
	// went. It is idempotent, never fails because of what is inside, and does its
	// work even if ctx is cancelled (bounded by its own deadline).
	Close(ctx context.Context) (Final, error)
}

// ErrTooLarge: a stream from the sandbox passed its limit.
var ErrTooLarge = errors.New("larger than allowed")

// Process is one command. Args[0] is looked up on the image's PATH unless
// absolute. Output is written as it comes; a writer that fails or blocks never
// stops the process: what can't be written is dropped and counted.
type Process struct {
	Args    []string
	Env     []string // added to the sandbox's
	WorkDir string   // "" means the sandbox's
	Stdin   io.Reader
	Stdout  io.Writer // nil discards
	Stderr  io.Writer // nil discards; the same writer as Stdout keeps arrival order
}

// Exit says how a process ended, as the runtime reports it.
type Exit struct {
	Code     int // 128+n for signal n, as shells do
	TimedOut bool
	// Died: the whole sandbox ended under the process (killed from inside, out of memory ...).
	Died    bool
	Started time.Time
	Ended   time.Time
	Dropped int64 // output bytes that no writer took
}

// Final is what the host knows of a sandbox at its end. Pointers are nil when
// the host could not tell.
type Final struct {
	Died      bool // it ended before Kill or Close
	OOMKilled bool // from the cgroup's counters
	DiskFull  bool // the writable layer reached its size
	LimitsHit []string
	Usage     eval.Usage
	Events    []eval.Event
}

// Match selects sandboxes for Remove. Zero fields match everything; the set
// fields must all agree.
type Match struct {
	ID      string
	Trial   string
	Owner   string
	Expired bool // only those whose lease has run out
	Orphan  bool // only those whose owning process on this host is gone
}

// Status describes a living sandbox for `harness sandbox ps`.
type Status struct {
	ID, Owner, Trial, ImageDigest, State string
	CreatedAt, LeaseExpires              time.Time
	Pid                                  int // host process of the sandbox, 0 when unknown
	OwnerPid                             int
	Orphan                               bool // its owning process is known to be gone
}
