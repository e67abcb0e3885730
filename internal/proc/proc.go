// Package proc names host processes so that a recycled pid is never mistaken
// for the process it once belonged to: a pid counts together with its start
// time and the boot it was seen in.
//
// It reads /proc only. It knows nothing of sandboxes or daemons.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// ID is one process of one boot of one machine (or one pid namespace of it).
type ID struct {
	Pid   int    `json:"pid"`
	Start uint64 `json:"start"` // field 22 of /proc/<pid>/stat, clock ticks since boot
	Boot  string `json:"boot"`  // boot id and pid namespace
}

// Self is the calling process.
func Self() ID {
	id, err := Of(os.Getpid())
	if err != nil {
		return ID{Pid: os.Getpid(), Boot: Boot()}
	}
	return id
}

// Of returns the identity of a running process.
func Of(pid int) (ID, error) {
	st, err := ReadStat(pid)
	if err != nil {
		return ID{}, err
	}
	return ID{Pid: pid, Start: st.Start, Boot: Boot()}, nil
}

// Local reports whether the process belongs to this boot and pid namespace, so
// that Alive can be answered.
func (id ID) Local() bool { return id.Boot != "" && id.Boot == Boot() }

// Alive reports whether this very process still runs. A zombie does not. For
// another machine or pid namespace the answer is false; ask Local first.
func (id ID) Alive() bool {
	if id.Pid <= 0 || !id.Local() {
		return false
	}
	st, err := ReadStat(id.Pid)
	return err == nil && st.Start == id.Start && st.State != 'Z' && st.State != 'X'
}

// Ending reports whether the process is gone or on its way out: a zombie, or in
// the middle of its exit, which for the first process of a pid namespace lasts
// until all others of it are dead. What depends on it can no longer be relied on.
func (id ID) Ending() bool {
	if id.Pid <= 0 || !id.Local() {
		return true
	}
	st, err := ReadStat(id.Pid)
	return err != nil || st.Start != id.Start || st.State == 'Z' || st.State == 'X' || st.Exiting
}

// Signal sends sig if the process is still the same one. os.ErrProcessDone
// says that it is gone. The pid is held by a pidfd between check and signal
// where the kernel has them.
func (id ID) Signal(sig syscall.Signal) error {
	if !id.Local() {
		return fmt.Errorf("signal process %d: it belongs to another boot or machine", id.Pid)
	}
	p, err := os.FindProcess(id.Pid) // a pidfd: reuse of the number after this line is harmless
	if err != nil {
		return os.ErrProcessDone
	}
	defer func() { _ = p.Release() }()
	if !id.Alive() {
		return os.ErrProcessDone
	}
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", id.Pid, err)
	}
	return nil
}

// Stat is what we use of /proc/<pid>/stat.
type Stat struct {
	Pid    int
	Comm   string
	State  byte
	Parent int
	Start  uint64
	// Exiting: the kernel is taking the process down (PF_EXITING).
	Exiting bool
}

// ReadStat reads /proc/<pid>/stat.
func ReadStat(pid int) (Stat, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Stat{}, fmt.Errorf("read state of process %d: %w", pid, err)
	}
	st, err := parseStat(b)
	if err != nil {
		return Stat{}, fmt.Errorf("read state of process %d: %w", pid, err)
	}
	return st, nil
}

// parseStat copes with any command name: it may hold blanks and parentheses,
// so fields are counted from the last closing one.
func parseStat(b []byte) (Stat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return Stat{}, errors.New("stat has no command name")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:open])))
	if err != nil {
		return Stat{}, fmt.Errorf("parse pid: %w", err)
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 20 { // state is field 3, start time field 22
		return Stat{}, fmt.Errorf("stat has %d fields after the name, want at least 20", len(f))
	}
	ppid, err := strconv.Atoi(f[1])
	if err != nil {
		return Stat{}, fmt.Errorf("parse parent: %w", err)
	}
	start, err := strconv.ParseUint(f[19], 10, 64)
	if err != nil {
		return Stat{}, fmt.Errorf("parse start time: %w", err)
	}
	flags, err := strconv.ParseUint(f[6], 10, 64)
	if err != nil {
		return Stat{}, fmt.Errorf("parse flags: %w", err)
	}
	const exiting = 0x4 // PF_EXITING of include/linux/sched.h
	return Stat{Pid: pid, Comm: string(b[open+1 : end]), State: f[0][0], Parent: ppid, Start: start, Exiting: flags&exiting != 0}, nil
}

// All lists the processes that exist now. Those that end meanwhile are skipped.
func All() ([]Stat, error) {
	ents, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var out []Stat
	for _, e := range ents {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st, err := ReadStat(pid); err == nil {
			out = append(out, st)
		}
	}
	return out, nil
}

// Descendants returns the processes below root in all, nearest first.
func Descendants(all []Stat, root int) []Stat {
	kids := map[int][]Stat{}
	for _, s := range all {
		kids[s.Parent] = append(kids[s.Parent], s)
	}
	var out []Stat
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, k := range kids[queue[0]] {
			out = append(out, k)
			queue = append(queue, k.Pid)
		}
	}
	return out
}

// Cmdline returns the arguments of a process, nil when it is gone.
func Cmdline(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// Boot names this boot of this machine and this pid namespace; "" when unknown.
var Boot = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b)) + "/" + strings.Trim(strings.TrimPrefix(ns, "pid:"), "[]")
})
