package sandboxtest

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/eval"
	"harness/sandbox"
)

var limitTests = []test{
	{"memory limit", []sandbox.Capability{sandbox.CapExec, sandbox.CapMemoryLimit}, testMemory},
	{"shared memory size", []sandbox.Capability{sandbox.CapExec, sandbox.CapMemoryLimit}, testShm},
	{"cpu limit", []sandbox.Capability{sandbox.CapExec, sandbox.CapCPULimit, sandbox.CapUsage}, testCPU},
	{"fork bomb", []sandbox.Capability{sandbox.CapExec, sandbox.CapProcLimit}, testForkBomb},
	{"open files", []sandbox.Capability{sandbox.CapExec, sandbox.CapProcLimit}, testOpenFiles},
	{"disk limit", []sandbox.Capability{sandbox.CapExec, sandbox.CapDiskLimit}, testDisk},
	{"usage", []sandbox.Capability{sandbox.CapExec, sandbox.CapUsage}, testUsage},
	{"sandbox killed from outside", []sandbox.Capability{sandbox.CapExec, sandbox.CapCensus}, testKilledOutside},
}

func testMemory(t *testing.T, e *env) {
	neighbour := e.create(t)
	for name, script := range map[string]string{
		"heap": `python3 -c 'b=[bytearray(16<<20) for _ in range(200)]; print(len(b))'`,
		"tree": `for i in 1 2 3 4 5 6; do python3 -c 'import time; b=bytearray(100<<20); time.sleep(5)' & done; wait`,
	} {
		b := e.create(t, func(s *sandbox.Spec) { s.Limits.MemoryBytes = 256 * eval.MiB })
		out, x := sh(t, b, script)
		f := end(t, b)
		if !f.OOMKilled || !contains(f.LimitsHit, eval.LimitMemory) {
			t.Errorf("%s: no OOM: exit %+v, final %+v, output %q", name, x, f, clip(out))
		}
		if p := f.Usage.PeakMemoryBytes; p != nil && *p > 256*eval.MiB*105/100 {
			t.Errorf("%s: peak memory %d is above the limit", name, *p)
		}
		t.Logf("%s: exit %d, died %v/%v", name, x.Code, x.Died, f.Died)
	}
	must(t, neighbour, "true")
	if f := end(t, neighbour); f.OOMKilled || f.Died || len(f.LimitsHit) > 0 {
		t.Errorf("neighbour: %+v", f)
	}
}

func testShm(t *testing.T, e *env) {
	b := e.create(t, func(s *sandbox.Spec) { s.Limits.ShmBytes = 8 * eval.MiB })
	out, x := sh(t, b, "head -c 20000000 /dev/zero >/dev/shm/x; e=$?; stat -c %s /dev/shm/x; exit $e")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	n, err := strconv.ParseInt(lines[len(lines)-1], 10, 64)
	if err != nil || x.Code == 0 || n > 8*eval.MiB || n < 7*eval.MiB {
		t.Errorf("wrote %d bytes into 8 MiB, %v, output %q", n, x, out)
	}
}

func testCPU(t *testing.T, e *env) {
	const share, wall = 0.5, 4.0
	b := e.create(t, func(s *sandbox.Spec) { s.Limits.CPUs = share })
	start := time.Now()
	must(t, b, `for i in 1 2 3; do timeout 4 sh -c 'while :; do :; done' & done; wait; true`)
	took := time.Since(start).Seconds()
	f := end(t, b)
	if f.Usage.CPUSeconds == nil {
		t.Fatal("CPU time is not known")
	}
	total := *f.Usage.WallSeconds
	if got := *f.Usage.CPUSeconds; got > share*total*1.05+0.1 {
		t.Errorf("used %.2f CPU seconds in %.2f s with half a core", got, total)
	}
	if f.Usage.ThrottledSecs == nil || *f.Usage.ThrottledSecs <= 0 {
		t.Errorf("throttled: %v", f.Usage.ThrottledSecs)
	}
	t.Logf("%.2f CPU seconds in %.2f s of work, %.2f s of life", *f.Usage.CPUSeconds, took, total)
}

func testForkBomb(t *testing.T, e *env) {
	neighbour := e.create(t)
	b := e.create(t, func(s *sandbox.Spec) { s.Limits.Processes = 100 })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	done := make(chan sandbox.Exit, 1)
	go func() {
		x, err := b.Exec(ctx, sandbox.Process{Args: []string{"sh", "-c", `bomb() { bomb | bomb & }; bomb; while :; do sleep 1; done`}})
		if err != nil {
			t.Errorf("bomb: %v", err)
		}
		done <- x
	}()
	time.Sleep(2 * time.Second)
	start := time.Now()
	must(t, neighbour, "true")
	t.Logf("neighbour answered in %s", time.Since(start))
	x := <-done
	if !x.TimedOut && !x.Died && x.Code == 0 {
		t.Errorf("bomb ended by itself: %+v", x)
	}
	f := end(t, b)
	t.Logf("bomb: %+v, limits hit %v", x, f.LimitsHit)
	must(t, neighbour, "true")

	// The limit itself.
	c := e.create(t, func(s *sandbox.Spec) { s.Limits.Processes = 50 })
	out := must(t, c, `python3 -c '
import os, time
n = 0
try:
    while n < 500:
        if os.fork() == 0:
            time.sleep(60); os._exit(0)
        n += 1
except OSError as e:
    print(n, e.errno)
'`)
	f2 := strings.Fields(out)
	if len(f2) != 2 || f2[1] != strconv.Itoa(int(syscall.EAGAIN)) {
		t.Fatalf("forks: %q", out)
	}
	if n, _ := strconv.Atoi(f2[0]); n < 40 || n > 50 {
		t.Errorf("%d forks with a limit of 50 processes", n)
	}
}

func testOpenFiles(t *testing.T, e *env) {
	b := e.create(t, func(s *sandbox.Spec) { s.Limits.OpenFiles = 100 })
	out := must(t, b, `ulimit -n; python3 -c '
f = []
try:
    while True: f.append(open("/dev/null"))
except OSError as e:
    print(len(f), e.errno)
'`)
	f := strings.Fields(out)
	if len(f) != 3 || f[0] != "100" || f[2] != strconv.Itoa(int(syscall.EMFILE)) {
		t.Errorf("got %q", out)
	}
}

func testDisk(t *testing.T, e *env) {
	const limit = 64 * eval.MiB
	for _, dir := range []string{"/root", "/tmp"} {
		b := e.create(t, func(s *sandbox.Spec) { s.Limits.DiskBytes = limit })
		out, x := sh(t, b, "head -c 200000000 /dev/zero >"+dir+"/x; e=$?; stat -c %s "+dir+"/x; exit $e")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		n, err := strconv.ParseInt(lines[len(lines)-1], 10, 64)
		if err != nil || x.Code == 0 || n > limit || n < limit*8/10 {
			t.Errorf("%s: wrote %d bytes into %d: %+v, output %q", dir, n, limit, x, clip(out))
		}
		f := end(t, b)
		if !f.DiskFull || !contains(f.LimitsHit, eval.LimitDisk) || f.OOMKilled {
			t.Errorf("%s: final %+v", dir, f)
		}
		if f.Usage.DiskBytes == nil || *f.Usage.DiskBytes < n || *f.Usage.DiskBytes > limit*105/100 {
			t.Errorf("%s: disk usage %v for %d bytes written", dir, f.Usage.DiskBytes, n)
		}
	}
	// Full for a second and then emptied still counts.
	b := e.create(t, func(s *sandbox.Spec) { s.Limits.DiskBytes = limit })
	sh(t, b, "head -c 200000000 /dev/zero >/x; sleep 1; rm /x")
	if f := end(t, b); !f.DiskFull {
		t.Errorf("full and emptied: %+v", f)
	}
	// Much, but not too much.
	b = e.create(t, func(s *sandbox.Spec) { s.Limits.DiskBytes = limit })
	must(t, b, "for i in 1 2 3; do head -c 30000000 /dev/zero >/x; sleep 0.5; rm /x; done")
	if f := end(t, b); f.DiskFull || f.Usage.DiskBytes == nil || *f.Usage.DiskBytes < 20_000_000 {
		t.Errorf("half full: %+v, disk %v", f, f.Usage.DiskBytes)
	}
}

func testUsage(t *testing.T, e *env) {
	b := e.create(t)
	must(t, b, `python3 -c 'sum(range(3000000)); b=bytearray(50<<20)'; head -c 1000000 /dev/zero >/x; sync`)
	f := end(t, b)
	u := f.Usage
	switch {
	case u.WallSeconds == nil || *u.WallSeconds <= 0:
		t.Errorf("wall %v", u.WallSeconds)
	case u.CPUSeconds == nil || *u.CPUSeconds <= 0.05 || *u.CPUSeconds > 60:
		t.Errorf("cpu %v", u.CPUSeconds)
	case u.PeakMemoryBytes == nil || *u.PeakMemoryBytes < 50<<20:
		t.Errorf("memory %v", u.PeakMemoryBytes)
	case u.NetBytes == nil || *u.NetBytes != 0:
		t.Errorf("net %v", u.NetBytes)
	}
	if len(f.LimitsHit) > 0 || f.Died || f.OOMKilled || f.DiskFull || len(f.Events) > 0 {
		t.Errorf("final %+v", f)
	}
}

func testKilledOutside(t *testing.T, e *env) {
	neighbour := e.create(t)
	for _, idle := range []bool{false, true} {
		b := e.create(t)
		pid := 0
		list, err := e.rt.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if s.ID == b.ID() {
				pid = s.Pid
			}
		}
		if pid <= 1 {
			t.Fatalf("no pid in %+v", list)
		}
		kill := func() {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
		if idle {
			kill()
			time.Sleep(300 * time.Millisecond)
		} else {
			go func() { time.Sleep(500 * time.Millisecond); kill() }()
		}
		var out bytes.Buffer
		x, err := b.Exec(t.Context(), sandbox.Process{Args: []string{"sleep", "60"}, Stdout: &out})
		if err != nil || !x.Died || x.TimedOut || x.Code == 0 {
			t.Errorf("idle %v: %+v, %v", idle, x, err)
		}
		if f := end(t, b); !f.Died || f.OOMKilled {
			t.Errorf("idle %v: final %+v", idle, f)
		}
	}
	must(t, neighbour, "true")
}
