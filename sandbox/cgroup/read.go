package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// V1 reads the layout with one tree a controller (Linux
// Documentation/admin-guide/cgroup-v1). FS is the folder of the trees.
type V1 struct{ FS fs.FS }

// V2 reads the unified layout (Linux Documentation/admin-guide/cgroup-v2.rst).
type V2 struct{ FS fs.FS }

var (
	_ Reader = V1{}
	_ Reader = V2{}
)

// Read implements Reader.
func (r V1) Read(group string) (Stats, error) {
	f := files{fsys: r.FS}
	in := func(controller, file string) string { return path.Join(controller, group, file) }
	s := Stats{
		MemoryPeak:    f.number(in("memory", "memory.max_usage_in_bytes")),
		MemoryCurrent: f.number(in("memory", "memory.usage_in_bytes")),
		MemoryLimit:   f.limit(in("memory", "memory.limit_in_bytes")),
		// With memory and memory plus swap limited alike, the second is met first.
		MemoryHits:  sum(f.number(in("memory", "memory.failcnt")), f.number(in("memory", "memory.memsw.failcnt"))),
		OOMKills:    f.field(in("memory", "memory.oom_control"), "oom_kill"),
		PidsCurrent: f.number(in("pids", "pids.current")),
		PidsHits:    f.field(in("pids", "pids.events"), "max"),
		CPU:         nanoseconds(f.number(in("cpuacct", "cpuacct.usage"))),
		Throttled:   nanoseconds(f.field(in("cpu", "cpu.stat"), "throttled_time")),
	}
	s.IORead, s.IOWrite = f.blkio(in("blkio", "blkio.throttle.io_service_bytes"))
	return s, f.result(group)
}

// Read implements Reader.
func (r V2) Read(group string) (Stats, error) {
	f := files{fsys: r.FS}
	in := func(file string) string { return path.Join(strings.TrimPrefix(path.Clean("/"+group), "/"), file) }
	s := Stats{
		MemoryPeak:    f.number(in("memory.peak")),
		MemoryCurrent: f.number(in("memory.current")),
		MemoryLimit:   f.limit(in("memory.max")),
		MemoryHits:    f.field(in("memory.events"), "max"),
		OOMKills:      f.field(in("memory.events"), "oom_kill"),
		PidsCurrent:   f.number(in("pids.current")),
		PidsHits:      f.field(in("pids.events"), "max"),
		CPU:           microseconds(f.field(in("cpu.stat"), "usage_usec")),
		Throttled:     microseconds(f.field(in("cpu.stat"), "throttled_usec")),
	}
	s.IORead, s.IOWrite = f.iostat(in("io.stat"))
	return s, f.result(group)
}

// files reads counter files and remembers whether any was there.
type files struct {
	fsys  fs.FS
	found bool
	err   error
}

func (f *files) text(name string) (string, bool) {
	b, err := fs.ReadFile(f.fsys, strings.TrimPrefix(name, "/"))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.err = err
		}
		return "", false
	}
	f.found = true
	return string(b), true
}

// number reads a file of one count; nil when absent, "max" or damaged.
func (f *files) number(name string) *int64 {
	s, ok := f.text(name)
	if !ok {
		return nil
	}
	return parse(strings.TrimSpace(s))
}

// limit reads a limit; v1 spells "none" as the largest number of whole pages.
func (f *files) limit(name string) *int64 {
	n := f.number(name)
	if n != nil && *n > 1<<60 {
		return nil
	}
	return n
}

// field reads the count after key in a file of "key value" lines.
func (f *files) field(name, key string) *int64 {
	s, ok := f.text(name)
	if !ok {
		return nil
	}
	for line := range strings.Lines(s) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && k == key {
			return parse(v)
		}
	}
	return nil
}

// blkio sums "8:0 Read 4096" lines over all devices. A file without any line
// means that no I/O was seen, which is a zero.
func (f *files) blkio(name string) (read, write *int64) {
	s, ok := f.text(name)
	if !ok {
		return nil, nil
	}
	read, write = new(int64), new(int64)
	for line := range strings.Lines(s) {
		w := strings.Fields(line)
		if len(w) != 3 {
			continue // the last line is "Total n"
		}
		n := parse(w[2])
		switch {
		case n == nil:
		case w[1] == "Read":
			*read += *n
		case w[1] == "Write":
			*write += *n
		}
	}
	return read, write
}

// iostat sums "8:0 rbytes=1 wbytes=2 ..." lines over all devices.
func (f *files) iostat(name string) (read, write *int64) {
	s, ok := f.text(name)
	if !ok {
		return nil, nil
	}
	read, write = new(int64), new(int64)
	for w := range strings.FieldsSeq(s) {
		k, v, _ := strings.Cut(w, "=")
		n := parse(v)
		switch {
		case n == nil:
		case k == "rbytes":
			*read += *n
		case k == "wbytes":
			*write += *n
		}
	}
	return read, write
}

func (f *files) result(group string) error {
	switch {
	case f.found:
		return nil // what could be read counts; the rest is nil
	case f.err != nil:
		return fmt.Errorf("read cgroup %s: %w", group, f.err)
	default:
		return fmt.Errorf("read cgroup %s: %w", group, fs.ErrNotExist)
	}
}

func parse(s string) *int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}

// sum of what is known; nil when neither is.
func sum(a, b *int64) *int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	n := *a + *b
	return &n
}

func nanoseconds(n *int64) *time.Duration {
	if n == nil {
		return nil
	}
	d := time.Duration(*n)
	return &d
}

func microseconds(n *int64) *time.Duration {
	if n == nil || *n > int64(1<<63-1)/1000 {
		return nil
	}
	d := time.Duration(*n) * time.Microsecond
	return &d
}
