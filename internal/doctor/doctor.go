// Package doctor finds out by doing whether this machine can run sandboxes, and
// says of each thing that can't what to do.
//
// It owns the list of checks. It changes nothing that lasts.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"harness/eval"
	"harness/sandbox"
)

// Result of one check.
type Result struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do, when not OK
}

// Options of Host and Runtime.
type Options struct {
	Home, ToolsDir string
}

// minFree is the disk that a first run needs for images, logs and overlays.
const minFree = 10 * eval.GiB

// Host checks what does not need a containerd.
func Host(ctx context.Context, o Options) []Result {
	return []Result{
		root(), tools(o), program(ctx, "runc", "runc", "--version"), program(ctx, "mmdebstrap", "mmdebstrap", "--version"),
		kernel(), cgroups(), disk(o), ptrace(),
	}
}

func pass(check, format string, args ...any) Result {
	return Result{Check: check, OK: true, Detail: fmt.Sprintf(format, args...)}
}

func fail(check, fix, format string, args ...any) Result {
	return Result{Check: check, Detail: fmt.Sprintf(format, args...), Fix: fix}
}

func root() Result {
	if id := os.Geteuid(); id != 0 {
		return fail("root", "run as root (sudo)", "user id %d; mounts and cgroups need root", id)
	}
	return pass("root", "yes")
}

func tools(o Options) Result {
	var missing []string
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "runsc", "temporal"} {
		if err := unix.Access(filepath.Join(o.ToolsDir, "bin", name), unix.X_OK); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fail("tools", "run deploy/setup.sh (or make setup)", "%s lacks %s", filepath.Join(o.ToolsDir, "bin"), strings.Join(missing, ", "))
	}
	return pass("tools", "%s", filepath.Join(o.ToolsDir, "bin"))
}

func program(ctx context.Context, check, name string, args ...string) Result {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return fail(check, "apt-get install "+name+" (deploy/setup.sh does)", "%v", err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return pass(check, "%s", line)
}

func kernel() Result {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return fail("kernel", "", "%v", err)
	}
	return pass("kernel", "%s %s", unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Release[:]))
}

func cgroups() Result {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return pass("cgroups", "version 2")
	}
	var missing []string
	for _, c := range []string{"memory", "cpu", "cpuacct", "pids", "blkio"} {
		if _, err := os.Stat("/sys/fs/cgroup/" + c); err != nil {
			missing = append(missing, c)
		}
	}
	if len(missing) > 0 {
		return fail("cgroups", "mount the controllers, or boot with cgroup version 2", "version 1 without %s", strings.Join(missing, ", "))
	}
	return pass("cgroups", "version 1")
}

func disk(o Options) Result {
	dir := o.Home
	for {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if errors.Is(err, unix.ENOENT) && dir != "/" {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return fail("disk", "choose another --home", "%s: %v", dir, err)
		}
		free := int64(st.Bavail) * st.Bsize
		if free < minFree {
			return fail("disk", "free space, or choose another --home", "%.1f GiB free at %s, %d GiB are wanted", float64(free)/float64(eval.GiB), dir, minFree/eval.GiB)
		}
		return pass("disk", "%.0f GiB free at %s", float64(free)/float64(eval.GiB), dir)
	}
}

// ptrace matters because gVisor's systrap platform traces its own children.
func ptrace() Result {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return pass("ptrace_scope", "no restriction")
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || n >= 3 {
		return fail("ptrace_scope", "sysctl kernel.yama.ptrace_scope=1", "%s forbids tracing altogether", strings.TrimSpace(string(b)))
	}
	return pass("ptrace_scope", "%d", n)
}

// Runtime starts a sandbox of the image under rt, runs one command and measures it.
func Runtime(ctx context.Context, name string, rt sandbox.Runtime, image string) Result {
	check := "sandbox " + name
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	digest, err := rt.Resolve(ctx, image)
	if err != nil {
		return fail(check, "build an image: harness image build deploy/images", "%v", err)
	}
	start := time.Now()
	id := fmt.Sprintf("doctor-%d", os.Getpid())
	sb, err := rt.Create(ctx, sandbox.Spec{
		ID: id, Owner: id, Trial: "doctor", ImageDigest: digest, WorkDir: "/",
		Limits: eval.DefaultLimits(), Network: eval.NetworkNone, Lease: 2 * time.Minute,
	})
	if err != nil {
		return fail(check, "see the end of containerd.log in the data folder", "%v", err)
	}
	created := time.Since(start)
	exit, execErr := sb.Exec(ctx, sandbox.Process{Args: []string{"/bin/sh", "-c", "exit 7"}})
	ran := time.Since(start) - created
	_, closeErr := sb.Close(ctx)
	if err := errors.Join(execErr, closeErr); err != nil {
		return fail(check, "see the end of containerd.log in the data folder", "%v", err)
	}
	if exit.Code != 7 {
		return fail(check, "report this", "a command that exits with 7 was seen to exit with %d", exit.Code)
	}
	info, err := rt.Info(ctx)
	if err != nil {
		return fail(check, "", "%v", err)
	}
	return pass(check, "%s: started in %d ms, a command took %d ms", info.Version, created.Milliseconds(), ran.Milliseconds())
}
