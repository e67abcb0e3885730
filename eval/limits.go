package eval

import (
	"errors"
	"fmt"
)

// Limits bound one trial's sandbox. All are hard; zero is never "unlimited":
// Validate refuses a limit that can't work.
type Limits struct {
	CPUs          float64 `json:"cpus"`            // share of cores, e.g. 1.5
	MemoryBytes   int64   `json:"memory_bytes"`    // cgroup kill line, swap off
	DiskBytes     int64   `json:"disk_bytes"`      // writable layer, /tmp included
	ShmBytes      int64   `json:"shm_bytes"`       // /dev/shm
	WallSeconds   int64   `json:"wall_seconds"`    // for the test phase
	SetupSeconds  int64   `json:"setup_seconds"`   // for create, copy in, apply
	Processes     int64   `json:"processes"`       // inside (RLIMIT_NPROC)
	HostPids      int64   `json:"host_pids"`       // cgroup pids.max: counts the runtime's own threads too
	OpenFiles     int64   `json:"open_files"`      // RLIMIT_NOFILE
	OutputBytes   int64   `json:"output_bytes"`    // kept of the test log: head and tail
	PatchBytes    int64   `json:"patch_bytes"`     // larger patches are rejected
	KillGraceSecs int64   `json:"kill_grace_secs"` // from the deadline to the end of the process tree
}

// Sizes in bytes.
const (
	KiB int64 = 1 << 10
	MiB int64 = 1 << 20
	GiB int64 = 1 << 30
)

// DefaultLimits are those of `harness eval` without flags.
func DefaultLimits() Limits {
	return Limits{
		CPUs: 1, MemoryBytes: 4 * GiB, DiskBytes: 8 * GiB, ShmBytes: 64 * MiB,
		WallSeconds: 1800, SetupSeconds: 300,
		Processes: 1024, HostPids: 4096, OpenFiles: 4096,
		OutputBytes: 64 * MiB, PatchBytes: 100 * MiB, KillGraceSecs: 2,
	}
}

// Validate reports every limit that can't work, in one error.
func (l Limits) Validate() error {
	var errs []error
	bad := func(name string, got any, why string) {
		errs = append(errs, fmt.Errorf("limit %s = %v: %s", name, got, why))
	}
	if !(l.CPUs >= 0.01 && l.CPUs <= 1024) {
		bad("cpus", l.CPUs, "must be between 0.01 and 1024")
	}
	if l.MemoryBytes < 64*MiB {
		bad("memory", l.MemoryBytes, "must be at least 64 MiB: the sandbox's own kernel needs that much")
	}
	if l.DiskBytes < 16*MiB {
		bad("disk", l.DiskBytes, "must be at least 16 MiB")
	}
	if l.ShmBytes < 1*MiB {
		bad("shm", l.ShmBytes, "must be at least 1 MiB")
	}
	if l.WallSeconds < 1 {
		bad("timeout", l.WallSeconds, "must be at least 1 second")
	}
	if l.SetupSeconds < 1 {
		bad("setup_seconds", l.SetupSeconds, "must be at least 1 second")
	}
	if l.Processes < 8 {
		bad("processes", l.Processes, "must be at least 8: a test command needs a few")
	}
	if l.HostPids < 128 {
		bad("host_pids", l.HostPids, "must be at least 128: the sandbox's own kernel runs as many host threads")
	}
	if l.OpenFiles < 64 {
		bad("open_files", l.OpenFiles, "must be at least 64")
	}
	if l.OutputBytes < 4*KiB {
		bad("output", l.OutputBytes, "must be at least 4 KiB")
	}
	if l.PatchBytes < 1*KiB {
		bad("patch_bytes", l.PatchBytes, "must be at least 1 KiB")
	}
	if l.KillGraceSecs < 0 {
		bad("kill_grace_secs", l.KillGraceSecs, "must not be negative")
	}
	return errors.Join(errs...)
}

// LimitsSpec is a task's own wish for some limits; nil means "the run's".
type LimitsSpec struct {
	CPUs        *float64 `json:"cpus,omitempty"`
	MemoryBytes *int64   `json:"memory_bytes,omitempty"`
	DiskBytes   *int64   `json:"disk_bytes,omitempty"`
	WallSeconds *int64   `json:"wall_seconds,omitempty"`
	Processes   *int64   `json:"processes,omitempty"`
	OutputBytes *int64   `json:"output_bytes,omitempty"`
}

// Apply returns l with the task's wishes in place of the run's values.
func (s *LimitsSpec) Apply(l Limits) Limits {
	if s == nil {
		return l
	}
	if s.CPUs != nil {
		l.CPUs = *s.CPUs
	}
	if s.MemoryBytes != nil {
		l.MemoryBytes = *s.MemoryBytes
	}
	if s.DiskBytes != nil {
		l.DiskBytes = *s.DiskBytes
	}
	if s.WallSeconds != nil {
		l.WallSeconds = *s.WallSeconds
	}
	if s.Processes != nil {
		l.Processes = *s.Processes
	}
	if s.OutputBytes != nil {
		l.OutputBytes = *s.OutputBytes
	}
	return l
}

// Names of limits as they appear in limits_hit.
const (
	LimitWall      = "wall"
	LimitMemory    = "memory"
	LimitDisk      = "disk"
	LimitShm       = "shm"
	LimitProcesses = "processes"
	LimitOpenFiles = "open_files"
	LimitOutput    = "output"
	LimitCPU       = "cpu_seconds"
)

// NetworkPolicy is what a sandbox may reach.
type NetworkPolicy string

// NetworkNone leaves a sandbox with its own loopback and nothing else.
const NetworkNone NetworkPolicy = "none"
