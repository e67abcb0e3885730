package evidence

import "golang.org/x/sys/unix"

// rareCalls exist on this architecture only.
var rareCalls = []call{
	{unix.SYS_IOPL, "iopl", sevHigh, sevHigh},
	{unix.SYS_IOPERM, "ioperm", sevHigh, sevHigh},
}

// openCalls are the calls that open files by name, of those gVisor has.
var openCalls = []string{"open", "openat", "creat"}
