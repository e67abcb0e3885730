package containerd

import (
	"fmt"
	"strings"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"harness/sandbox"
)

const (
	hostname    = "sandbox"
	defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// initScript is process 1 of every sandbox: it idles, and collects the orphans
// that tests leave behind, which is what "wait" of every POSIX shell does when
// it is process 1. It reacts to nothing but the runtime's own SIGKILL.
const initScript = `trap "" HUP INT QUIT TERM USR1 USR2 PIPE ALRM; while :; do sleep 2147483 & wait; done`

// dockerCaps are Docker's default capabilities, which images are made for. Under
// gVisor they are those of the sandbox's own kernel and mean nothing on the host.
var dockerCaps = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD",
	"CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// hostKernelCaps are for runtimes that share the host's kernel: Docker's
// defaults without device nodes, raw sockets and the audit log.
var hostKernelCaps = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
	"CAP_NET_BIND_SERVICE", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// maskedPaths and readonlyPaths are those of runc's own example spec and Docker.
var (
	maskedPaths = []string{
		"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
		"/proc/sched_debug", "/proc/scsi", "/proc/interrupts", "/sys/firmware", "/sys/devices/virtual/powercap",
	}
	readonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}

// environment is what a process inside sees: the image's variables, then the
// sandbox's, then what Docker would add. Later entries win.
func environment(image ocispec.Image, extra []string) []string {
	env := []string{defaultPath, "HOSTNAME=" + hostname, "HOME=/root"}
	for _, kv := range image.Config.Env {
		if sandbox.ValidEnv([]string{kv}) == nil { // an image's environment is hostile too
			env = append(env, kv)
		}
	}
	return mergeEnv(append(env, extra...))
}

// mergeEnv keeps the last value of each name, at the place of its first.
func mergeEnv(env []string) []string {
	at := make(map[string]int, len(env))
	out := make([]string, 0, len(env))
	for _, kv := range env {
		k, _, _ := strings.Cut(kv, "=")
		if i, ok := at[k]; ok {
			out[i] = kv
			continue
		}
		at[k] = len(out)
		out = append(out, kv)
	}
	return out
}

// ociSpec writes down everything that the runtime is told. Nothing of the image
// enters it but environment and working directory.
func (r *Runtime) ociSpec(s sandbox.Spec, env []string, cwd string) *specs.Spec {
	l := s.Limits
	caps := dockerCaps
	if r.handler.hostKernel {
		caps = hostKernelCaps
	}
	memory, swap := l.MemoryBytes, l.MemoryBytes // memory plus swap: no swap
	mem := &specs.LinuxMemory{Limit: &memory}
	if r.swapLimit {
		mem.Swap = &swap
	}
	period := uint64(100_000)
	quota := max(int64(l.CPUs*float64(period)), 1000)
	pids := l.HostPids
	if r.handler.ownPids {
		pids = l.Processes + 1 // the idle process 1
	}
	spec := &specs.Spec{
		Version: "1.0.2",
		Root:    &specs.Root{Path: "rootfs"},
		Process: &specs.Process{
			Args:            []string{"/bin/sh", "-c", initScript},
			Env:             env,
			Cwd:             cwd,
			NoNewPrivileges: r.handler.hostKernel,
			Capabilities:    &specs.LinuxCapabilities{Bounding: caps, Effective: caps, Permitted: caps},
			Rlimits: []specs.POSIXRlimit{
				{Type: "RLIMIT_NOFILE", Soft: uint64(l.OpenFiles), Hard: uint64(l.OpenFiles)},
				{Type: "RLIMIT_CORE"},
			},
		},
		Hostname: hostname,
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=1m"}},
			{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
			{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", fmt.Sprintf("size=%d", l.ShmBytes)}},
			{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
			{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		},
		Linux: &specs.Linux{
			CgroupsPath: r.group(s.ID),
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
				{Type: specs.MountNamespace}, {Type: specs.NetworkNamespace}, {Type: specs.CgroupNamespace},
			},
			Resources: &specs.LinuxResources{
				Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}},
				Memory:  mem,
				CPU:     &specs.LinuxCPU{Quota: &quota, Period: &period},
				Pids:    &specs.LinuxPids{Limit: &pids},
			},
			MaskedPaths:   maskedPaths,
			ReadonlyPaths: readonlyPaths,
		},
	}
	if r.handler.hostKernel {
		spec.Linux.Seccomp = seccomp.DefaultProfile(spec)
	} else {
		// The host's kernel counts RLIMIT_NPROC per user over all sandboxes and not
		// at all for root; gVisor's counts per sandbox, root included.
		spec.Process.Rlimits = append(spec.Process.Rlimits, specs.POSIXRlimit{
			Type: "RLIMIT_NPROC", Soft: uint64(l.Processes), Hard: uint64(l.Processes),
		})
	}
	return spec
}
