package evidence

import (
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// maxSocketPath is what fits into a Unix socket's address.
const maxSocketPath = 107

// The sentry tries again when the socket is full, waiting twice as long each time:
// 25 microseconds to 6.4 milliseconds and then 10, 23 in all; then it drops the
// event and counts it. The socket holds some 250 events, so that this happens only
// while the host doesn't let us run for long: with 5 tries, on a machine with five
// runnable threads a core, 1 open of 1500 in a loop of opens was lost; with 9, 1 of
// 200000.
const (
	sinkRetries    = 10
	sinkBackoff    = "25us"
	sinkBackoffMax = "10ms"
)

type podInit struct {
	TraceSession traceSession `json:"trace_session"`
}

type traceSession struct {
	Name   string       `json:"name"`
	Points []point      `json:"points"`
	Sinks  []sinkConfig `json:"sinks"`
}

type point struct {
	Name           string   `json:"name"`
	OptionalFields []string `json:"optional_fields,omitempty"`
	ContextFields  []string `json:"context_fields,omitempty"`
}

type sinkConfig struct {
	Name   string         `json:"name"`
	Config map[string]any `json:"config"`
}

// Config says what the sentry reports, and where.
type Config struct {
	// Socket is where the Sink listens. It must be listening before runsc creates the
	// sandbox, or the sandbox doesn't start.
	Socket string
	// Watch is that of the Sink. Without anything to watch no opens are reported at
	// all, which spares each of them some ten microseconds.
	Watch Watch
	// Digests has the sentry read and hash a program each time it is started: some
	// milliseconds for one of a few megabytes. All else costs well under one.
	Digests bool
}

// PodInit is the content of the file that `runsc --pod-init-config` reads.
func PodInit(c Config) ([]byte, error) {
	if err := checkSocketPath(c.Socket); err != nil {
		return nil, err
	}
	if err := c.Watch.Validate(); err != nil {
		return nil, err
	}
	return json.MarshalIndent(podInit{traceSession{
		Name:   "Default", // the only one that gVisor has
		Points: c.points(),
		Sinks: []sinkConfig{{Name: "remote", Config: map[string]any{
			"endpoint": c.Socket, "retries": sinkRetries, "backoff": sinkBackoff, "backoff_max": sinkBackoffMax,
		}}},
	}}, "", "  ")
}

func checkSocketPath(p string) error {
	if p == "" || p[0] != '/' || len(p) > maxSocketPath {
		return fmt.Errorf("evidence socket %q: want an absolute path of at most %d bytes; use a shorter state folder", p, maxSocketPath)
	}
	return nil
}

// Numbers only: no string that code inside chooses is part of them (see the
// package comment).
var (
	who      = []string{"time", "thread_id", "group_id"}
	identity = append(slices.Clone(who), "credentials")
)

func (c Config) points() []point {
	var program []string
	if c.Digests {
		program = []string{"binary_sha256"}
	}
	p := []point{
		{Name: "container/start", ContextFields: who},
		{Name: "sentry/clone", ContextFields: who},
		{Name: "sentry/execve", OptionalFields: program, ContextFields: append(slices.Clone(identity), "parent_thread_group_id")},
		{Name: "sentry/task_exit", ContextFields: who},

		{Name: "syscall/execve/enter", ContextFields: who},
		{Name: "syscall/execveat/enter", OptionalFields: []string{"fd_path"}, ContextFields: who},
		{Name: rawPoint(unix.SYS_EXECVE, "enter"), ContextFields: who},
		{Name: rawPoint(unix.SYS_EXECVEAT, "enter"), ContextFields: who},

		{Name: "syscall/socket/exit", ContextFields: who},
		{Name: "syscall/connect/exit", ContextFields: who},
		{Name: "syscall/bind/exit", ContextFields: who},
	}
	for _, id := range identities {
		p = append(p, point{Name: "syscall/" + id.name + "/exit", ContextFields: identity})
	}
	// A raw exit carries the context fields that its enter is configured with.
	for _, list := range [][]call{calls, rareCalls} {
		for _, raw := range list {
			p = append(p, point{Name: rawPoint(raw.nr, "enter"), ContextFields: identity},
				point{Name: rawPoint(raw.nr, "exit"), ContextFields: identity})
		}
	}
	if !c.Watch.empty() {
		for _, name := range openCalls {
			o := point{Name: "syscall/" + name + "/exit", ContextFields: append(slices.Clone(who), "cwd")}
			if name == "openat" {
				o.OptionalFields = []string{"fd_path"}
			}
			p = append(p, o)
		}
	}
	return p
}

func rawPoint(nr uint64, edge string) string { return fmt.Sprintf("syscall/sysno/%d/%s", nr, edge) }
