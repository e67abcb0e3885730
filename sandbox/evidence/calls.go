package evidence

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// call is a system call of which the sentry reports number, arguments and result,
// but no text.
type call struct {
	nr   uint64
	name string
	// failed and done are the severities of an attempt and of a success.
	failed, done string
}

const (
	sevInfo   = "info"
	sevLow    = "low"
	sevMedium = "medium"
	sevHigh   = "high"
)

// calls are the rare ones by which code reaches for more than it was given.
// Inside gVisor none of them changes anything of the host.
var calls = []call{
	{unix.SYS_PTRACE, "ptrace", sevMedium, sevMedium},
	{unix.SYS_PROCESS_VM_READV, "process_vm_readv", sevMedium, sevMedium},
	{unix.SYS_PROCESS_VM_WRITEV, "process_vm_writev", sevMedium, sevMedium},
	{unix.SYS_PIDFD_GETFD, "pidfd_getfd", sevMedium, sevMedium},
	{unix.SYS_PERF_EVENT_OPEN, "perf_event_open", sevMedium, sevMedium},
	{unix.SYS_USERFAULTFD, "userfaultfd", sevMedium, sevMedium},

	{unix.SYS_MOUNT, "mount", sevMedium, sevHigh},
	{unix.SYS_UMOUNT2, "umount2", sevMedium, sevHigh},
	{unix.SYS_PIVOT_ROOT, "pivot_root", sevMedium, sevHigh},
	{unix.SYS_CHROOT, "chroot", sevLow, sevMedium},
	{unix.SYS_OPEN_TREE, "open_tree", sevMedium, sevHigh},
	{unix.SYS_MOVE_MOUNT, "move_mount", sevMedium, sevHigh},
	{unix.SYS_FSOPEN, "fsopen", sevMedium, sevHigh},
	{unix.SYS_FSMOUNT, "fsmount", sevMedium, sevHigh},
	{unix.SYS_OPEN_BY_HANDLE_AT, "open_by_handle_at", sevMedium, sevHigh},
	{unix.SYS_FANOTIFY_INIT, "fanotify_init", sevMedium, sevMedium},
	{unix.SYS_SWAPON, "swapon", sevMedium, sevHigh},
	{unix.SYS_SWAPOFF, "swapoff", sevMedium, sevHigh},

	{unix.SYS_UNSHARE, "unshare", sevLow, sevMedium},
	{unix.SYS_SETNS, "setns", sevMedium, sevHigh},

	{unix.SYS_INIT_MODULE, "init_module", sevHigh, sevHigh},
	{unix.SYS_FINIT_MODULE, "finit_module", sevHigh, sevHigh},
	{unix.SYS_DELETE_MODULE, "delete_module", sevHigh, sevHigh},
	{unix.SYS_KEXEC_LOAD, "kexec_load", sevHigh, sevHigh},
	{unix.SYS_KEXEC_FILE_LOAD, "kexec_file_load", sevHigh, sevHigh},
	{unix.SYS_REBOOT, "reboot", sevHigh, sevHigh},
	{unix.SYS_BPF, "bpf", sevHigh, sevHigh},

	{unix.SYS_ADD_KEY, "add_key", sevMedium, sevMedium},
	{unix.SYS_REQUEST_KEY, "request_key", sevMedium, sevMedium},
	{unix.SYS_KEYCTL, "keyctl", sevMedium, sevMedium},

	{unix.SYS_SETTIMEOFDAY, "settimeofday", sevMedium, sevHigh},
	{unix.SYS_CLOCK_SETTIME, "clock_settime", sevMedium, sevHigh},
	{unix.SYS_SETHOSTNAME, "sethostname", sevLow, sevMedium},
	{unix.SYS_SETDOMAINNAME, "setdomainname", sevLow, sevMedium},
	{unix.SYS_ACCT, "acct", sevMedium, sevHigh},
	{unix.SYS_QUOTACTL, "quotactl", sevMedium, sevHigh},

	{unix.SYS_SETREUID, "setreuid", sevMedium, sevLow},
	{unix.SYS_SETREGID, "setregid", sevMedium, sevLow},
	{unix.SYS_SETFSUID, "setfsuid", sevMedium, sevLow},
	{unix.SYS_SETFSGID, "setfsgid", sevMedium, sevLow},
	{unix.SYS_SETGROUPS, "setgroups", sevMedium, sevLow},
	{unix.SYS_CAPSET, "capset", sevMedium, sevLow},

	{unix.SYS_LISTEN, "listen", "", ""},
	{unix.SYS_MEMFD_CREATE, "memfd_create", "", ""},
}

// identities are calls that the sentry reports with their values.
var identities = []call{
	{unix.SYS_SETUID, "setuid", sevMedium, sevLow},
	{unix.SYS_SETGID, "setgid", sevMedium, sevLow},
	{unix.SYS_SETRESUID, "setresuid", sevMedium, sevLow},
	{unix.SYS_SETRESGID, "setresgid", sevMedium, sevLow},
}

var byNumber = func() map[uint64]call {
	m := make(map[uint64]call, len(calls)+len(rareCalls)+len(identities))
	for _, list := range [][]call{calls, rareCalls, identities} {
		for _, c := range list {
			m[c.nr] = c
		}
	}
	return m
}()

var byName = func() map[Kind]call {
	m := make(map[Kind]call, len(byNumber))
	for _, c := range byNumber {
		m[Kind(c.name)] = c
	}
	return m
}()

// errnoName is the name of an error number, as "EPERM".
func errnoName(n int64) string {
	if n > 0 && n < 1<<16 {
		if name := unix.ErrnoName(unix.Errno(n)); name != "" {
			return name
		}
	}
	return fmt.Sprintf("errno %d", n)
}
