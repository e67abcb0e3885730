package evidence

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// maxDetail bounds a path or an address in a row's detail.
const maxDetail = 256

// newNamespaces are the flags of clone that ask for namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// judge says how grave an event is and words it. "" is for what honest test suites
// do all the time: such events are in the file only. The wording holds neither
// process ids nor times, so that repetitions are one row.
func judge(e Event) (severity, detail string) {
	switch e.Kind {
	case KindExec:
		switch {
		case deleted(e.Path):
			return sevLow, "ran a file that has no name any more: " + short(e.Path)
		case temporary(e.Path):
			return sevLow, "ran a program from a temporary folder: " + short(e.Path)
		}
	case KindExecHidden:
		if !e.Lossy {
			return sevMedium, "started a program whose name or arguments are no text" + by(e)
		}
	case KindClone:
		if len(e.Values) == 1 && e.Values[0]&newNamespaces != 0 {
			return sevLow, fmt.Sprintf("made a process with new namespaces, flags %#x%s", e.Values[0]&newNamespaces, by(e))
		}
	case KindConnect:
		if e.reach == reachOut {
			return sevMedium, "connected to " + short(e.Addr) + by(e) + outcome(e)
		}
	case KindBind:
		if e.reach != reachInside {
			return sevLow, "bound " + short(e.Addr) + by(e) + outcome(e)
		}
	case KindSocket:
		if raw(e.Values) {
			return sevMedium, fmt.Sprintf("made a raw socket, domain %d%s%s", e.Values[0], by(e), outcome(e))
		}
	case KindOpen:
		how := "opened "
		if e.Write {
			how = "opened for writing "
		}
		return e.severity, how + short(e.Path) + by(e) + outcome(e)
	case Kind("ptrace"):
		if len(e.Values) > 0 && e.Values[0] == unix.PTRACE_TRACEME {
			return sevLow, "asked to be traced" + by(e) + outcome(e)
		}
		if len(e.Values) > 0 {
			return sevMedium, fmt.Sprintf("ptrace request %#x%s%s", e.Values[0], by(e), outcome(e))
		}
	case Kind("unshare"):
		if len(e.Values) > 0 && e.Values[0]&newNamespaces == 0 {
			return "", "" // only of what threads share
		}
		return called(e)
	default:
		return called(e)
	}
	return "", ""
}

// called judges a system call by the table.
func called(e Event) (severity, detail string) {
	c, ok := byName[e.Kind]
	switch {
	case !ok:
		return "", ""
	case e.failed():
		severity = c.failed
	default:
		severity = c.done
	}
	detail = c.name
	for _, id := range identities {
		if id.name == c.name {
			detail += strings.ReplaceAll(fmt.Sprint(e.Values), " ", ",")
		}
	}
	return severity, detail + by(e) + outcome(e)
}

// raw tells sockets that see or make packets.
func raw(v []int64) bool {
	const kind = 0xf // the rest of the type are flags
	return len(v) == 3 && (v[0] == unix.AF_PACKET || v[0] != unix.AF_NETLINK && v[1]&kind == unix.SOCK_RAW)
}

func temporary(p string) bool {
	for _, dir := range []string{"/tmp/", "/var/tmp/", "/dev/shm/"} {
		if strings.HasPrefix(p, dir) {
			return true
		}
	}
	return false
}

// deleted tells the name that gVisor gives to a file that is no longer there.
func deleted(p string) bool {
	return strings.HasSuffix(p, " (deleted)") || strings.Contains(p, "memfd:")
}

func by(e Event) string {
	if e.Exe == "" {
		return ""
	}
	return " by " + short(e.Exe)
}

func outcome(e Event) string {
	switch {
	case e.Errno != "":
		return ": " + e.Errno
	case e.Result == nil:
		return ": end not seen"
	default:
		return ""
	}
}

func short(s string) string {
	if cut, more := text([]byte(s), maxDetail); more {
		return cut + "..."
	}
	return s
}
