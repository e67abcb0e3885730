package sandboxtest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/sandbox"
)

var isolationTests = []test{
	{"no network", []sandbox.Capability{sandbox.CapExec, sandbox.CapNoNetwork}, testNoNetwork},
	{"loopback works", []sandbox.Capability{sandbox.CapExec, sandbox.CapNoNetwork}, testLoopback},
	{"no host files", []sandbox.Capability{sandbox.CapExec, sandbox.CapIsolation}, testNoHostFiles},
	{"no host processes", []sandbox.Capability{sandbox.CapExec, sandbox.CapIsolation}, testNoHostProcesses},
	{"sandboxes do not see each other", []sandbox.Capability{sandbox.CapExec, sandbox.CapIsolation}, testSeparate},
	{"dangerous calls have no effect", []sandbox.Capability{sandbox.CapExec, sandbox.CapIsolation}, testDangerousCalls},
}

// hostAddresses are this machine's own, where a listener waits.
func hostAddresses(t *testing.T) []string {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	out := []string{fmt.Sprintf("127.0.0.1 %d", port), fmt.Sprintf("::1 %d", port)}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast() {
			out = append(out, fmt.Sprintf("%s %d", ip.IP, port))
		}
	}
	return out
}

const connectPy = `
import socket, sys
for line in sys.argv[1].split(","):
    host, port = line.split()
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        fam = socket.AF_INET6 if ":" in host else socket.AF_INET
        s = socket.socket(fam, kind)
        s.settimeout(2)
        try:
            s.connect((host, int(port)))
            if kind == socket.SOCK_DGRAM:
                s.send(b"x"); s.send(b"x")
                if host in ("127.0.0.1", "::1"):
                    continue  # to itself: nobody listens, nothing leaves
                s.recv(1)
            print("REACHED", host, port, kind)
        except OSError as e:
            pass
for name in ("example.com", "pypi.org"):
    try:
        print("RESOLVED", name, socket.getaddrinfo(name, 80))
    except OSError:
        pass
print("done")
`

func testNoNetwork(t *testing.T, e *env) {
	targets := append(hostAddresses(t), "169.254.169.254 80", "8.8.8.8 53", "1.1.1.1 443", "2001:4860:4860::8888 53", "10.0.0.1 80", "172.17.0.1 80", "192.168.0.1 80")
	b := e.create(t, func(s *sandbox.Spec) {
		s.Files = []sandbox.File{{Path: "/connect.py", Mode: 0o644, Data: []byte(connectPy)}}
	})
	if out := must(t, b, fmt.Sprintf("python3 /connect.py '%s'", strings.Join(targets, ","))); out != "done" {
		t.Errorf("something was reached: %q", out)
	}
	if out := must(t, b, `tail -n +3 /proc/net/dev | sed 's/:.*//' | tr -d ' ' | sort -u`); out != "lo" {
		t.Errorf("interfaces: %q", out)
	}
	if out := must(t, b, `tail -n +2 /proc/net/route | awk '$1 != "lo"' 2>/dev/null; true`); strings.TrimSpace(out) != "" {
		t.Errorf("routes: %q", out)
	}
	// A Unix socket of the host has no name inside.
	if out, _ := sh(t, b, "ls /run/containerd /var/run/docker.sock /run/dbus 2>/dev/null"); strings.TrimSpace(out) != "" {
		t.Errorf("host sockets: %q", out)
	}
}

func testLoopback(t *testing.T, e *env) {
	b := e.create(t)
	out := must(t, b, `python3 -c '
import socket, threading
for fam, addr in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "localhost")):
    s = socket.socket(fam); s.bind((addr, 0)); s.listen(1)
    t = threading.Thread(target=lambda: s.accept()[0].sendall(b"hi")); t.start()
    c = socket.socket(fam); c.connect((addr, s.getsockname()[1]))
    print(addr, c.recv(10).decode()); t.join()
'`)
	if out != "127.0.0.1 hi\n::1 hi\nlocalhost hi" {
		t.Errorf("got %q", out)
	}
}

func testNoHostFiles(t *testing.T, e *env) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	canary := filepath.Join(dir, "canary-of-the-host")
	if err := os.WriteFile(canary, []byte("secret of the host"), 0o666); err != nil {
		t.Fatal(err)
	}
	b := e.create(t)
	for _, prefix := range []string{"", "/proc/1/root", "/proc/self/root", "/proc/self/cwd/../../..", "/../../.."} {
		if out, x := sh(t, b, fmt.Sprintf("cat '%s%s'; echo overwritten >'%s%s'", prefix, canary, prefix, canary)); strings.Contains(out, "secret") {
			t.Errorf("canary was read with %q: %q, %+v", prefix, out, x)
		}
	}
	if out, _ := sh(t, b, `find / -xdev -name 'canary-of-the-host*' 2>/dev/null; mkdir -p /mnt/x; for d in /dev/vda /dev/sda /dev/loop0 /dev/mem /dev/kmsg; do [ -e $d ] && echo has $d; done; mknod /tmp/disk b 254 0 2>/dev/null && head -c 512 /tmp/disk 2>/dev/null | od -An | head -3`); strings.TrimSpace(out) != "" {
		t.Errorf("found %q", out)
	}
	got, err := os.ReadFile(canary)
	if err != nil || string(got) != "secret of the host" {
		t.Errorf("canary now says %q, %v", got, err)
	}
}

func testNoHostProcesses(t *testing.T, e *env) {
	b := e.create(t)
	out := must(t, b, `ls /proc | grep -c '^[0-9]'; kill -0 `+fmt.Sprint(os.Getpid())+` 2>/dev/null && echo alive; cat /proc/1/cmdline | tr '\0' ' '`)
	lines := strings.SplitN(out, "\n", 2)
	if len(lines[0]) > 1 || strings.Contains(out, "alive") || !strings.Contains(out, "/bin/sh -c") {
		t.Errorf("processes: %q", out)
	}
}

func testSeparate(t *testing.T, e *env) {
	a, b := e.create(t), e.create(t)
	must(t, a, `echo mine >/tmp/shared; echo mine >/dev/shm/shared; echo mine >/etc/shared; (setsid sleep 60 &)`)
	if out, _ := sh(t, b, `cat /tmp/shared /dev/shm/shared /etc/shared 2>/dev/null; pgrep -x sleep -a | grep ' 60$'; true`); strings.TrimSpace(out) != "" {
		t.Errorf("seen from next door: %q", out)
	}
}

func testDangerousCalls(t *testing.T, e *env) {
	b := e.create(t)
	before, err := os.ReadFile("/proc/sys/kernel/hostname")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := sh(t, b, `
try() { "$@" >/dev/null 2>&1 && echo "$* worked"; }
mkdir -p /mnt/p
try hostname owned
try sh -c 'echo 1 >/proc/sys/kernel/panic'
try sh -c 'echo b >/proc/sysrq-trigger'
try sh -c 'echo owned >/proc/sys/kernel/hostname'
try sh -c 'echo "|/tmp/x" >/proc/sys/kernel/core_pattern'
try sh -c 'echo /tmp/x >/sys/kernel/uevent_helper'
try sh -c 'echo 1000 >/sys/fs/cgroup/pids/pids.max'
try sh -c 'echo -1000 >/proc/1/oom_score_adj'
try reboot -f
true`)
	t.Logf("inside: %q", out)
	after, err := os.ReadFile("/proc/sys/kernel/hostname")
	if err != nil || string(after) != string(before) {
		t.Errorf("the host's name is now %q, %v", after, err)
	}
	if panicking, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err == nil && strings.Contains(string(panicking), "/tmp/x") {
		t.Errorf("core_pattern of the host: %q", panicking)
	}
	must(t, b, "true")
}
