// Package cgroup reads what the kernel counted for one sandbox, and ends the
// processes in its control group. One Hierarchy serves both layouts of the
// kernel: v1 (one tree a controller) and v2 (one tree).
//
// It owns file names, units and the difference between "zero" and "not known".
// It knows nothing of containers: a group is a path like /harness/ab12/job-1.
package cgroup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Root is the folder of all groups of the harness.
const Root = "/harness"

// StackPath is the parent group of all sandboxes of the stack whose containerd
// listens on socket: stacks of one machine never see each other's groups.
func StackPath(socket string) string {
	sum := sha256.Sum256([]byte(socket))
	return path.Join(Root, hex.EncodeToString(sum[:4]))
}

// Stats are the counters of one group. A nil field is not known: the kernel, the
// layout or the runtime has no such file.
type Stats struct {
	CPU           *time.Duration // user and system time of all processes that ever ran in it
	Throttled     *time.Duration // time in which runnable processes had to wait for quota
	MemoryPeak    *int64         // bytes
	MemoryCurrent *int64         // bytes
	MemoryLimit   *int64         // bytes; nil when there is none
	// MemoryHits counts how often an allocation met the group's own limit (also
	// when reclaim helped); OOMKills counts processes killed, whoever ran out.
	MemoryHits, OOMKills *int64
	PidsCurrent          *int64
	PidsHits             *int64 // forks refused by pids.max
	IORead, IOWrite      *int64 // bytes that reached a block device; buffered writes of v1 are not attributed
}

// OOM reports whether the group's own memory limit got a process killed. A kill
// without a limit that was reached means that the machine ran out.
func (s Stats) OOM() bool { return positive(s.OOMKills) && s.limitReached() }

// HostOOM reports whether processes were killed although the group kept within
// its limit.
func (s Stats) HostOOM() bool {
	return positive(s.OOMKills) && !s.limitReached() && s.MemoryPeak != nil && s.MemoryLimit != nil
}

// limitReached: the count of hits is enough, but kernels around 6.18 leave v1's
// failcnt at zero, so a peak next to the limit says it too. Memory is charged
// in batches of up to 64 pages a CPU, which may be what is missing.
func (s Stats) limitReached() bool {
	if positive(s.MemoryHits) {
		return true
	}
	return s.MemoryPeak != nil && s.MemoryLimit != nil && *s.MemoryPeak >= *s.MemoryLimit-max(*s.MemoryLimit/64, 1<<20)
}

func positive(p *int64) bool { return p != nil && *p > 0 }

// Reader reads the counters of a group.
type Reader interface {
	// Read returns what is known of the group; fs.ErrNotExist when there is none.
	Read(group string) (Stats, error)
}

// Hierarchy is the cgroup tree of this machine.
type Hierarchy struct {
	Reader
	root string // /sys/fs/cgroup
	v2   bool
}

// Open detects the layout below root ("" means /sys/fs/cgroup).
func Open(root string) (*Hierarchy, error) {
	if root == "" {
		root = "/sys/fs/cgroup"
	}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return &Hierarchy{Reader: V2{FS: os.DirFS(root)}, root: root, v2: true}, nil
	}
	if _, err := os.Stat(filepath.Join(root, "memory", "cgroup.procs")); err == nil {
		return &Hierarchy{Reader: V1{FS: os.DirFS(root)}, root: root}, nil
	}
	return nil, fmt.Errorf("open cgroups: %s has neither a v2 tree (cgroup.controllers) nor a v1 memory controller; mount cgroups first", root)
}

// Version is 1 or 2.
func (h *Hierarchy) Version() int {
	if h.v2 {
		return 2
	}
	return 1
}

// dirs are the folders of a group, one a controller tree.
func (h *Hierarchy) dirs(group string) ([]string, error) {
	if h.v2 {
		d := filepath.Join(h.root, group)
		if _, err := os.Stat(d); err != nil {
			return nil, nil
		}
		return []string{d}, nil
	}
	ents, err := os.ReadDir(h.root)
	if err != nil {
		return nil, fmt.Errorf("list cgroup trees: %w", err)
	}
	var out []string
	for _, e := range ents {
		// Symbolic links (cpu -> cpu,cpuacct) name a tree twice.
		if !e.IsDir() {
			continue
		}
		d := filepath.Join(h.root, e.Name(), group)
		if st, err := os.Stat(d); err == nil && st.IsDir() {
			out = append(out, d)
		}
	}
	return out, nil
}

// Exists reports whether any controller has the group.
func (h *Hierarchy) Exists(group string) bool {
	d, err := h.dirs(group)
	return err == nil && len(d) > 0
}

// Children lists the names of the groups directly below parent, in any tree.
func (h *Hierarchy) Children(parent string) ([]string, error) {
	dirs, err := h.dirs(parent)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []string
	for _, d := range dirs {
		ents, err := os.ReadDir(d)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list cgroups: %w", err)
		}
		for _, e := range ents {
			if e.IsDir() && !seen[e.Name()] {
				seen[e.Name()] = true
				out = append(out, e.Name())
			}
		}
	}
	return out, nil
}

// Procs lists the processes in the group, in any tree.
func (h *Hierarchy) Procs(group string) ([]int, error) {
	dirs, err := h.dirs(group)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	var out []int
	for _, d := range dirs {
		b, err := os.ReadFile(filepath.Join(d, "cgroup.procs"))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
				continue
			}
			return nil, fmt.Errorf("list processes of cgroup %s: %w", group, err)
		}
		for f := range strings.FieldsSeq(string(b)) {
			pid, err := strconv.Atoi(f)
			// Zero is a process of another pid namespace: it can't be named from here.
			if err == nil && pid > 0 && !seen[pid] {
				seen[pid] = true
				out = append(out, pid)
			}
		}
	}
	return out, nil
}

// Kill sends SIGKILL to all processes of the group until it is empty or the
// time is over, and returns how many are left. New forks are refused first, so
// a fork bomb can't outrun it.
func (h *Hierarchy) Kill(group string, limit time.Duration) (left int, err error) {
	deadline := time.Now().Add(limit)
	if h.v2 {
		_ = os.WriteFile(filepath.Join(h.root, group, "cgroup.kill"), []byte("1"), 0)
		_ = os.WriteFile(filepath.Join(h.root, group, "pids.max"), []byte("0"), 0)
	} else {
		_ = os.WriteFile(filepath.Join(h.root, "pids", group, "pids.max"), []byte("0"), 0)
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		pids, err := h.Procs(group)
		if err != nil {
			return 0, err
		}
		if len(pids) == 0 {
			return 0, nil
		}
		for _, pid := range pids {
			// Read from the group a moment ago: the window for reuse is that short.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if time.Now().After(deadline) {
			return len(pids), nil
		}
		time.Sleep(wait)
	}
}

// Remove deletes the group's folders. Processes must be gone; the kernel lets
// go of them a moment later, so it tries for up to limit.
func (h *Hierarchy) Remove(group string, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		dirs, err := h.dirs(group)
		if err != nil {
			return err
		}
		var last error
		for _, d := range dirs {
			if err := removeTree(d); err != nil {
				last = err
			}
		}
		if last == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove cgroup %s: %w", group, last)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// removeTree removes a group with the groups below it (code inside a v2 group
// with delegation may have made some). Files of a group can't be unlinked and
// go with its folder.
func removeTree(dir string) error {
	ents, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, e := range ents {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("rmdir %s: %w", dir, err)
	}
	return nil
}
