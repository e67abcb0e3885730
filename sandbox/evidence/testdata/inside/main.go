// Command inside runs in a sandbox and does what the sandbox's kernel should
// report. It is the only program of its root file system.
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	var n int
	if len(os.Args) > 2 {
		n, _ = strconv.Atoi(os.Args[2])
	}
	switch os.Args[1] {
	case "work":
		work()
	case "true":
	case "sleep":
		time.Sleep(time.Hour)
	case "parent":
		check(self("true").Run())
	case "thread": // starts a program from another thread than the first
		done := make(chan bool)
		go func() {
			runtime.LockOSThread()
			check(syscall.Exec("/inside", []string{"/inside", "true", "late"}, nil))
		}()
		<-done
	case "leave":
		fmt.Fprintln(os.Stderr, "setuid:", syscall.Setuid(65534))
	case "getpid":
		each(n, func() { syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0) })
	case "open":
		b := make([]byte, 1)
		each(n, func() {
			fd, err := syscall.Open("/etc/file", syscall.O_RDONLY, 0)
			check(err)
			_, _ = syscall.Read(fd, b)
			_ = syscall.Close(fd)
		})
	case "exec":
		each(n, func() { check(self("true").Run()) })
	}
}

// each prints the nanoseconds that one call of f takes.
func each(n int, f func()) {
	start := time.Now()
	for range n {
		f()
	}
	fmt.Println(time.Since(start).Nanoseconds() / int64(n))
}

func work() {
	for range 20 {
		check(self("true").Run())
	}
	check(self("leave").Run())
	check(self("thread").Run())

	data, err := os.ReadFile("/inside")
	check(err)
	check(os.WriteFile("/tmp/copy", data, 0o755))
	check(exec.Command("/tmp/copy", "true").Run())
	check(self("true", "\xff").Run())
	odd := self("true")
	odd.Env = []string{"ODD=\xff"}
	check(odd.Run())

	_, _, e := syscall.Syscall6(syscall.SYS_PTRACE, syscall.PTRACE_ATTACH, 1, 0, 0, 0, 0)
	fmt.Fprintln(os.Stderr, "ptrace:", e)
	fmt.Fprintln(os.Stderr, "mount:", syscall.Mount("none", "/mnt", "tmpfs", 0, ""))
	_, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_RAW, syscall.IPPROTO_ICMP)
	fmt.Fprintln(os.Stderr, "raw socket:", err)
	_, err = os.ReadFile("/etc/shadow")
	fmt.Fprintln(os.Stderr, "shadow:", err)
	check(os.WriteFile("/work/conftest.py", nil, 0o644))

	l, err := net.Listen("tcp4", ":8080")
	check(err)
	c, err := net.Dial("tcp4", "127.0.0.1:8080")
	check(err)
	c.Close()
	l.Close()

	// A name of its own that isn't text must not hide what the process does.
	name := []byte("\xff\xfe\x00")
	_, _, e = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0)
	fmt.Fprintln(os.Stderr, "name:", e)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	check(err)
	err = syscall.Connect(fd, &syscall.SockaddrInet4{Port: 53, Addr: [4]byte{192, 0, 2, 1}})
	fmt.Fprintln(os.Stderr, "connect:", err)
}

func self(args ...string) *exec.Cmd { return exec.Command("/inside", args...) }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
