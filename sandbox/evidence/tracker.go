package evidence

import (
	"encoding/hex"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of what is remembered, beyond which events lose what a former message
// would have added, and of what an event keeps.
const (
	maxPending = 1 << 10 // threads in the middle of a call
	maxExes    = 1 << 14 // processes
	maxExe     = 256     // bytes of the path of a process's program
	maxPath    = 1024    // bytes of an event's path
)

// tracker makes events of records: it joins the messages that belong to one event
// (the start and the end of a call; the three that a program's start makes) and
// knows which program a process runs. Not for use by several goroutines.
type tracker struct {
	watch   Watch
	now     func() time.Time
	emit    func(Event)
	pending map[int32]*pending // by thread
	exes    map[int32]string   // by process
}

// pending is an event of which the same thread's next message may tell more. The
// messages of one thread arrive in order, so any other one ends the waiting.
type pending struct {
	sysno     uint64
	event     Event
	described bool   // an exec whose path is known
	dropped   uint32 // the sentry's count when it began
}

func newTracker(watch Watch, now func() time.Time, emit func(Event)) *tracker {
	return &tracker{watch: watch, now: now, emit: emit, pending: map[int32]*pending{}, exes: map[int32]string{}}
}

func (t *tracker) add(r *record) {
	p := t.pending[r.tid]
	if p != nil && t.join(p, r) {
		return
	}
	if p != nil {
		delete(t.pending, r.tid)
		t.flush(p, r.dropped)
	}
	t.begin(r)
}

// join reports whether r was the message that p waits for.
func (t *tracker) join(p *pending, r *record) bool {
	exec := p.sysno == unix.SYS_EXECVE || p.sysno == unix.SYS_EXECVEAT
	switch {
	case exec && r.typ == msgExecve && !p.described && r.sysno == p.sysno:
		p.described = true
		p.event.program(r, execPath(r))
		return true
	case exec && r.typ == msgExec:
		delete(t.pending, r.tid)
		t.exec(r)
		return true
	case !exec && r.typ == msgRaw && r.ended && r.sysno == p.sysno:
		delete(t.pending, r.tid)
		t.emit(finish(p.event, r))
		return true
	}
	return false
}

// flush emits what remained without its second half.
func (t *tracker) flush(p *pending, dropped uint32) {
	e := p.event
	e.Lossy = dropped != p.dropped
	if e.Kind == KindExecHidden {
		delete(t.exes, e.PID) // it may be another program by now
		if p.described {
			e.Kind = KindExecAttempt
		}
	}
	t.emit(e)
}

// end emits all that waits still; dropped is the sentry's last count.
func (t *tracker) end(dropped uint32) {
	for tid, p := range t.pending {
		delete(t.pending, tid)
		t.flush(p, dropped)
	}
}

// begin makes an event of r, or waits for the rest of it.
func (t *tracker) begin(r *record) {
	e := t.event(r)
	switch r.typ {
	case msgStart:
		e.Kind = KindStart
		p := ""
		if len(r.args) > 0 {
			p = resolve(r.cwd, r.args[0])
			t.setExe(r.pid, p)
		}
		e.program(r, p)
	case msgClone:
		e.Kind, e.Child = KindClone, r.childPID
		e.Values = []int64{int64(r.flags)}
		if r.flags&unix.CLONE_THREAD != 0 {
			e.Kind, e.Child = KindThread, r.childTID
		} else {
			t.setExe(r.childPID, e.Exe)
		}
	case msgExec:
		t.exec(r)
		return
	case msgExecve: // its first half was dropped
		e.Kind, e.Lossy = KindExecAttempt, true
		e.program(r, execPath(r))
	case msgTaskExit:
		if r.tid != r.pid {
			return // a thread
		}
		e.Kind, e.Status = KindExit, waitStatus(r.status)
		delete(t.exes, r.pid)
	case msgRaw:
		t.beginCall(r, e)
		return
	case msgOpen:
		e, ok := t.open(r, e)
		if !ok {
			e = Event{Kind: KindUnwatched}
		}
		t.emit(e)
		return
	case msgSocket:
		e.Kind, e.Values = KindSocket, signed(r.values[:3])
		if r.values[0] == unix.AF_UNIX {
			return
		}
		e = finish(e, r)
	case msgConnect, msgBind:
		e.Kind = KindConnect
		if r.typ == msgBind {
			e.Kind = KindBind
		}
		e.Addr, e.reach = sockaddr(r.address)
		e = finish(e, r)
	case msgSetid, msgSetresid:
		c, ok := byNumber[r.sysno]
		if !ok {
			return
		}
		n := 1
		if r.typ == msgSetresid {
			n = 3
		}
		for _, v := range r.values[:n] {
			e.Values = append(e.Values, int64(int32(v))) // -1 leaves it as it is
		}
		e.Kind = Kind(c.name)
		e = finish(e, r)
	}
	t.emit(e)
}

func (t *tracker) beginCall(r *record, e Event) {
	switch r.sysno {
	case unix.SYS_EXECVE, unix.SYS_EXECVEAT:
		e.Kind = KindExecHidden
	default:
		c, ok := byNumber[r.sysno]
		if !ok {
			return // not asked for
		}
		e.Kind, e.Values = Kind(c.name), signed(r.values[:])
		if r.ended { // its start was dropped
			t.emit(finish(e, r))
			return
		}
	}
	p := &pending{sysno: r.sysno, event: e, dropped: r.dropped}
	if len(t.pending) >= maxPending {
		t.flush(p, r.dropped)
		return
	}
	t.pending[r.tid] = p
}

func (t *tracker) exec(r *record) {
	e := t.event(r)
	e.Kind, e.SHA256, e.PPID, e.Exe = KindExec, hex.EncodeToString(r.digest), r.ppid, ""
	e.program(r, r.path)
	t.setExe(r.pid, r.path)
	t.emit(e)
}

func (t *tracker) open(r *record, e Event) (Event, bool) {
	dir := r.cwd
	if r.fdPath != "" {
		dir = r.fdPath
	}
	e.Kind = KindOpen
	e.Write = r.flags&unix.O_ACCMODE != unix.O_RDONLY || r.flags&(unix.O_CREAT|unix.O_TRUNC) != 0
	e.Values = []int64{int64(r.flags)}
	p := resolve(dir, r.path)
	if e.severity = t.watch.match(p, e.Write); e.severity == "" {
		return e, false
	}
	e.setPath(p, r.cut)
	return finish(e, r), true
}

// event has what all kinds share.
func (t *tracker) event(r *record) Event {
	e := Event{PID: r.pid, Exe: t.exes[r.pid], UID: r.uid, GID: r.gid}
	if r.tid != r.pid {
		e.TID = r.tid
	}
	if r.time != 0 {
		e.Time = time.Unix(0, r.time).UTC()
	} else {
		e.Time = t.now().UTC()
	}
	return e
}

func (t *tracker) setExe(pid int32, exe string) {
	if _, known := t.exes[pid]; known || len(t.exes) < maxExes {
		exe, _ = text([]byte(exe), maxExe)
		t.exes[pid] = exe
	}
}

// program adds which program was started.
func (e *Event) program(r *record, p string) {
	e.Args, e.Argc = r.args, r.argc
	e.setPath(p, r.cut)
}

func (e *Event) setPath(p string, cut bool) {
	kept, more := text([]byte(p), maxPath)
	e.Path, e.Cut = kept, cut || more
}

// finish adds how a call ended.
func finish(e Event, r *record) Event {
	if !r.ended {
		return e
	}
	if r.errno != 0 {
		e.Errno = errnoName(r.errno)
	} else {
		result := r.result
		e.Result = &result
	}
	if r.uid != nil {
		e.UID, e.GID = r.uid, r.gid
	}
	return e
}

func execPath(r *record) string {
	if r.sysno == unix.SYS_EXECVEAT {
		if r.path == "" {
			return r.fdPath
		}
		return resolve(r.fdPath, r.path)
	}
	return r.path
}

// waitStatus reads an exit status as wait(2) encodes it.
func waitStatus(s int32) string {
	if sig := s & 0x7f; sig != 0 {
		return fmt.Sprintf("signal %d", sig)
	}
	return fmt.Sprintf("%d", s>>8&0xff)
}

func signed(v []uint64) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = int64(x)
	}
	return out
}
