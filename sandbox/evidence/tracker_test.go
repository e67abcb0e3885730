package evidence_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"harness/sandbox/evidence"
)

const digest = "0123456789abcdef0123456789abcdef"

// root adds the context of thread 7 of process 7, which runs as root.
func root(sec uint64) msg {
	return msg{}.sub(1, msg{}.num(1, sec*1e9).num(2, 7).num(4, 7).sub(7, msg{}.num(1, 0)).str(8, "/work"))
}

func inet4(port byte, a, b, c, d byte) string {
	return string([]byte{unix.AF_INET, 0, 0, port, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0})
}

// What messages become: events, as the file has them, and rows of the table.
func TestEvents(t *testing.T) {
	type m struct {
		typ  uint16
		body msg
	}
	for name, c := range map[string]struct {
		send   []m
		events string // lines, without the times
		rows   string // severity and detail
	}{
		"start, clone, exec, exit": {
			send: []m{
				{typStart, at(1, 1, 1).str(3, "/work").str(4, "./run").str(4, "-v")},
				{typClone, at(2, 1, 1).num(3, 7).num(4, 7)},
				{typRaw, at(3, 7, 7).raw(unix.SYS_EXECVE)},
				{typExecve, at(3, 7, 7).num(3, unix.SYS_EXECVE).str(6, "sh").str(7, "sh").str(7, "-c").str(7, "true")},
				{typExec, root(4).str(2, "/bin/dash").str(3, "sh").str(3, "-c").str(3, "true").str(8, digest)},
				{typClone, at(5, 7, 7).num(3, 8).num(4, 7).num(6, unix.CLONE_THREAD)},
				{typTaskExit, at(6, 7, 8)},
				{typTaskExit, at(7, 7, 7).num(2, 3<<8)},
				{typTaskExit, at(8, 1, 1).num(2, 9)},
			},
			events: `{"kind":"start","pid":1,"path":"/work/run","args":["./run","-v"],"argc":2}
{"kind":"clone","pid":1,"exe":"/work/run","values":[0],"child":7}
{"kind":"exec","pid":7,"uid":0,"gid":0,"path":"/bin/dash","args":["sh","-c","true"],"argc":3,"sha256":"` + fmt.Sprintf("%x", digest) + `"}
{"kind":"exit","pid":7,"exe":"/bin/dash","status":"3"}
{"kind":"exit","pid":1,"exe":"/work/run","status":"signal 9"}`,
		},
		"a program is not there": {
			send: []m{
				{typRaw, at(1, 7, 7).raw(unix.SYS_EXECVE)},
				{typExecve, at(1, 7, 7).num(3, unix.SYS_EXECVE).str(6, "/bin/none").str(7, "none")},
				{typTaskExit, at(2, 7, 7).num(2, 127<<8)},
			},
			events: `{"kind":"exec_attempt","pid":7,"path":"/bin/none","args":["none"],"argc":1}
{"kind":"exit","pid":7,"status":"127"}`,
		},
		"a program whose arguments are no text": {
			send: []m{
				{typRaw, at(1, 7, 7).raw(unix.SYS_EXECVE)},
				{typTaskExit, at(2, 7, 7)},
			},
			events: `{"kind":"exec_hidden","pid":7}
{"kind":"exit","pid":7,"status":"0"}`,
			rows: "medium started a program whose name or arguments are no text",
		},
		"another thread's messages don't come between": {
			send: []m{
				{typRaw, at(1, 7, 7).raw(unix.SYS_MOUNT)},
				{typRaw, at(1, 7, 8).raw(unix.SYS_UMOUNT2)},
				{typRaw, at(1, 7, 7).raw(unix.SYS_MOUNT).ret(0, 0)},
				{typRaw, at(1, 7, 8).raw(unix.SYS_UMOUNT2).ret(-1, 1)},
			},
			events: `{"kind":"mount","pid":7,"values":[0,0,0,0,0,0],"result":0}
{"kind":"umount2","pid":7,"tid":8,"values":[0,0,0,0,0,0],"errno":"EPERM"}`,
			rows: "high mount\nmedium umount2: EPERM",
		},
		"a call of which only one end was seen": {
			send: []m{
				{typRaw, at(1, 7, 7).raw(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 9)},
				{typRaw, at(2, 7, 7).raw(unix.SYS_BPF).ret(-1, 38)},
			},
			events: `{"kind":"ptrace","pid":7,"values":[16,9,0,0,0,0]}
{"kind":"bpf","pid":7,"values":[0,0,0,0,0,0],"errno":"ENOSYS"}`,
			rows: "medium ptrace request 0x10: end not seen\nhigh bpf: ENOSYS",
		},
		"asking to be traced": {
			send: []m{
				{typRaw, at(1, 7, 7).raw(unix.SYS_PTRACE)}, {typRaw, at(1, 7, 7).raw(unix.SYS_PTRACE).ret(0, 0)},
			},
			events: `{"kind":"ptrace","pid":7,"values":[0,0,0,0,0,0],"result":0}`,
			rows:   "low asked to be traced",
		},
		"identity": {
			send: []m{
				{typSetid, root(1).num(3, unix.SYS_SETUID).num(4, 1000).ret(0, 0)},
				{typSetid, at(2, 7, 7).num(3, unix.SYS_SETGID).ret(-1, 1)},
				{15, at(3, 7, 7).num(3, unix.SYS_SETRESUID).num(4, 1<<32-1).num(5, 1000).num(6, 1<<32-1).ret(0, 0)},
			},
			events: `{"kind":"setuid","pid":7,"uid":0,"gid":0,"values":[1000],"result":0}
{"kind":"setgid","pid":7,"values":[0],"errno":"EPERM"}
{"kind":"setresuid","pid":7,"values":[-1,1000,-1],"result":0}`,
			rows: "low setuid[1000]\nmedium setgid[0]: EPERM\nlow setresuid[-1,1000,-1]",
		},
		"network": {
			send: []m{
				{typSocket, at(1, 7, 7).num(4, unix.AF_UNIX).num(5, unix.SOCK_STREAM).ret(3, 0)}, // too common to keep
				{typSocket, at(1, 7, 7).num(4, unix.AF_INET).num(5, unix.SOCK_STREAM).ret(3, 0)},
				{typSocket, at(2, 7, 7).num(4, unix.AF_INET).num(5, unix.SOCK_RAW|unix.SOCK_CLOEXEC).num(6, 1).ret(-1, 1)},
				{typConnect, at(3, 7, 7).str(6, inet4(80, 93, 184, 216, 34)).ret(-1, 101)},
				{typConnect, at(4, 7, 7).str(6, inet4(80, 127, 0, 0, 1)).ret(-1, 111)},
				{typConnect, at(5, 7, 7).str(6, "\x01\x00/run/docker.sock\x00rest").ret(-1, 2)},
				{typConnect, at(6, 7, 7).str(6, "\x01\x00\x00bus").ret(0, 0)},
				{typConnect, at(6, 7, 7).ret(-1, 22)},
				{typBind, at(7, 7, 7).str(6, inet4(80, 0, 0, 0, 0)).ret(0, 0)},
				{typBind, at(8, 7, 7).str(6, inet4(80, 127, 0, 0, 1)).ret(0, 0)},
				{typConnect, at(9, 7, 7).str(6, string([]byte{unix.AF_VSOCK, 0, 1, 2})).ret(-1, 97)},
			},
			events: `{"kind":"socket","pid":7,"values":[2,1,0],"result":3}
{"kind":"socket","pid":7,"values":[2,524291,1],"errno":"EPERM"}
{"kind":"connect","pid":7,"addr":"93.184.216.34:80","errno":"ENETUNREACH"}
{"kind":"connect","pid":7,"addr":"127.0.0.1:80","errno":"ECONNREFUSED"}
{"kind":"connect","pid":7,"addr":"unix:/run/docker.sock","errno":"ENOENT"}
{"kind":"connect","pid":7,"addr":"unix:@bus","result":0}
{"kind":"connect","pid":7,"errno":"EINVAL"}
{"kind":"bind","pid":7,"addr":"0.0.0.0:80","result":0}
{"kind":"bind","pid":7,"addr":"127.0.0.1:80","result":0}
{"kind":"connect","pid":7,"addr":"family 40","errno":"EAFNOSUPPORT"}`,
			rows: "medium made a raw socket, domain 2: EPERM\nmedium connected to 93.184.216.34:80: ENETUNREACH\n" +
				"low bound 0.0.0.0:80\nmedium connected to family 40: EAFNOSUPPORT",
		},
		"opens": {
			send: []m{
				{typOpen, root(1).num(4, 1<<64-100).str(6, "a.txt").ret(3, 0)},
				{typOpen, root(2).num(4, 1<<64-100).str(6, "../etc//shadow").ret(-1, 13)},
				{typOpen, root(3).num(4, 5).str(5, "/other").str(6, "conftest.py").num(7, unix.O_RDWR|unix.O_CREAT).ret(3, 0)},
				{typOpen, root(4).str(6, "/other/conftest.py").ret(3, 0)},
				{typOpen, root(5).str(6, strings.Repeat("/.", 2000)+"/etc/shadow").ret(3, 0)},
				{typOpen, root(6).str(6, "/root/.ssh/"+strings.Repeat("x", 2000)).ret(-1, 36)},
			},
			events: `{"kind":"open","pid":7,"uid":0,"gid":0,"path":"/etc/shadow","values":[0],"errno":"EACCES"}
{"kind":"open","pid":7,"uid":0,"gid":0,"path":"/other/conftest.py","values":[66],"write":true,"result":3}
{"kind":"open","pid":7,"uid":0,"gid":0,"path":"/etc/shadow","values":[0],"result":3}
{"kind":"open","pid":7,"uid":0,"gid":0,"path":"/root/.ssh/` + strings.Repeat("x", 1013) + `","cut":true,"values":[0],"errno":"ENAMETOOLONG"}`,
			rows: "medium opened /etc/shadow: EACCES\nlow opened for writing /other/conftest.py\nmedium opened /etc/shadow\n" +
				"medium opened /root/.ssh/" + strings.Repeat("x", 245) + "...: ENAMETOOLONG",
		},
		"programs from odd places": {
			send: []m{
				{typExec, at(1, 7, 7).str(2, "/tmp/a.out").str(3, "a")},
				{typExec, at(2, 7, 7).str(2, "/memfd:x (deleted)").str(3, "a")},
				{typExec, at(3, 7, 7).str(2, "/tmp/a.out").str(3, "b")},
			},
			events: `{"kind":"exec","pid":7,"path":"/tmp/a.out","args":["a"],"argc":1}
{"kind":"exec","pid":7,"path":"/memfd:x (deleted)","args":["a"],"argc":1}
{"kind":"exec","pid":7,"path":"/tmp/a.out","args":["b"],"argc":1}`,
			rows: "low ran a program from a temporary folder: /tmp/a.out (2 times)\nlow ran a file that has no name any more: /memfd:x (deleted)",
		},
		"namespaces": {
			send: []m{
				{typClone, at(1, 7, 7).num(3, 8).num(4, 8).num(6, unix.CLONE_NEWUSER|unix.CLONE_VM)},
				{typRaw, at(2, 7, 7).raw(unix.SYS_UNSHARE, unix.CLONE_FS)}, {typRaw, at(2, 7, 7).raw(unix.SYS_UNSHARE, unix.CLONE_FS).ret(0, 0)},
				{typRaw, at(3, 7, 7).raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS)}, {typRaw, at(3, 7, 7).raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS).ret(-1, 1)},
			},
			events: `{"kind":"clone","pid":7,"values":[268435712],"child":8}
{"kind":"unshare","pid":7,"values":[512,0,0,0,0,0],"result":0}
{"kind":"unshare","pid":7,"values":[131072,0,0,0,0,0],"errno":"EPERM"}`,
			rows: "low made a process with new namespaces, flags 0x10000000\nlow unshare: EPERM",
		},
		"hostile text": {
			send: []m{
				{typExec, at(1, 7, 7).str(2, "/bin/\xffx\x1b[31m\x00").str(3, strings.Repeat("é", 300)).str(3, "\xc3")},
			},
			events: `{"kind":"exec","pid":7,"path":"/bin/\\xffx\u001b[31m\u0000","args":["` + strings.Repeat("é", 256) + `","\\xc3"],"argc":2,"cut":true}`,
		},
		"very many arguments": {
			send: []m{
				{typExec, func() msg {
					b := at(1, 7, 7).str(2, "/bin/x")
					for range 1000 {
						b = b.str(3, "y")
					}
					return b
				}()},
			},
			events: `{"kind":"exec","pid":7,"path":"/bin/x","args":["` + strings.Repeat(`y","`, 23) + `y"],"argc":1000,"cut":true}`,
		},
		"calls that nobody asked for": {
			send: []m{
				{typRaw, at(1, 7, 7).raw(unix.SYS_GETPID).ret(7, 0)},
				{typSetid, at(1, 7, 7).num(3, unix.SYS_GETPID).ret(7, 0)},
				{typTaskExit, at(2, 7, 7).num(99, 1).str(98, "a later version's field")},
			},
			events: `{"kind":"exit","pid":7,"status":"0"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := listen(t, evidence.Options{Watch: evidence.DefaultWatch()})
			s := connect(t, r.socket)
			for _, m := range c.send {
				s.send(m.typ, m.body)
			}
			s.end()
			sum := r.close()
			if !sum.Complete {
				t.Errorf("gaps: %q", sum.Gaps)
			}
			if got := lines(t, r.events()); got != c.events {
				t.Errorf("events:\n%s\nwant:\n%s", got, c.events)
			}
			var rows []string
			for _, e := range sum.Events() {
				rows = append(rows, e.Severity+" "+e.Detail)
				if e.Source != "sandbox" || e.Kind == "" || e.Time.IsZero() {
					t.Errorf("row %+v", e)
				}
			}
			if got := strings.Join(rows, "\n"); got != c.rows {
				t.Errorf("rows:\n%s\nwant:\n%s", got, c.rows)
			}
		})
	}
}

// lines are events as in the file, without their times.
func lines(t *testing.T, events []evidence.Event) string {
	t.Helper()
	var out []string
	for _, e := range events {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
		s := strings.TrimSpace(b.String())
		out = append(out, "{"+s[strings.Index(s, `"kind"`):])
	}
	return strings.Join(out, "\n")
}

func TestCountedOnly(t *testing.T) {
	r := listen(t, evidence.Options{Watch: evidence.DefaultWatch()})
	s := connect(t, r.socket)
	for range 5 {
		s.send(typClone, at(1, 7, 7).num(3, 8).num(4, 7).num(6, unix.CLONE_THREAD))
		s.send(typOpen, root(1).str(6, "/usr/lib/libc.so").ret(3, 0))
	}
	s.end()
	sum := r.close()
	if sum.Counts[evidence.KindThread] != 5 || sum.Counts[evidence.KindUnwatched] != 5 || len(r.events()) != 0 {
		t.Errorf("%+v, %d events", sum.Counts, len(r.events()))
	}
}

// A drop between the halves of a start must not look like hiding.
func TestDroppedHalf(t *testing.T) {
	r := listen(t, evidence.Options{})
	s := connect(t, r.socket)
	s.send(typRaw, at(1, 7, 7).raw(unix.SYS_EXECVE))
	s.write(packet(typTaskExit, 2, at(2, 7, 7)))
	s.end()
	sum := r.close()
	if e := r.events()[0]; e.Kind != evidence.KindExecHidden || !e.Lossy {
		t.Errorf("%+v", e)
	}
	if rows := sum.Events(); len(rows) != 1 || rows[0].Dropped != 2 {
		t.Errorf("%+v", rows)
	}
}

// A flood of one severity must leave room for a graver event behind it.
func TestRowsAreBounded(t *testing.T) {
	r := listen(t, evidence.Options{Limits: evidence.Limits{Rows: 40}})
	s := connect(t, r.socket)
	for i := range 1000 {
		s.send(typExec, at(uint64(i+1), 7, 7).str(2, fmt.Sprintf("/tmp/%d", i)))
	}
	s.send(typRaw, at(2000, 7, 7).raw(unix.SYS_MOUNT).ret(0, 0))
	s.end()
	rows := r.close().Events()
	if len(rows) != 12 || rows[11].Severity != "high" || rows[10].Kind != "more" || !strings.HasPrefix(rows[10].Detail, "990 more") {
		t.Errorf("%d rows, the last: %+v", len(rows), rows[len(rows)-2:])
	}
}

// Threads without end must not fill the memory.
func TestManyThreads(t *testing.T) {
	r := listen(t, evidence.Options{Limits: evidence.Limits{PerSecond: 1e6}})
	s := connect(t, r.socket)
	const n = 5000
	for i := range int32(n) {
		s.send(typRaw, at(1, i+1, i+1).raw(unix.SYS_MOUNT))
	}
	s.end()
	sum := r.close()
	if sum.Counts["mount"] != n {
		t.Errorf("%+v", sum)
	}
}
