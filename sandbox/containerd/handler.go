package containerd

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/containerd/containerd/api/types/runc/options"

	"harness/sandbox"
)

// handler is what differs between runtimes.
type handler struct {
	name       string // as configured: "runsc"
	runtime    string // containerd's name: "io.containerd.runc.v2"
	binary     string // OCI runtime under the shim, "" when the shim is all there is
	version    string
	hostKernel bool // code inside talks to the host's kernel
	ownPids    bool // nothing but the processes inside counts against pids.max
	disk       diskKind
	caps       []sandbox.Capability
	wrap       *wrappers
	state      string // folder of the OCI runtime's own state
}

// diskKind says how the writable layer is bounded.
type diskKind int

const (
	diskUnbounded diskKind = iota
	diskFilestore          // gVisor's overlay: one sparse file on the host, its size bounded by the sentry
	diskLoop               // an ext4 file system in a sparse file
)

func newHandler(cfg Config) (handler, error) {
	h := handler{name: cfg.Handler, runtime: "io.containerd.runc.v2", state: filepath.Join(cfg.StateDir, "oci")}
	all := []sandbox.Capability{
		sandbox.CapExec, sandbox.CapCopy, sandbox.CapMemoryLimit, sandbox.CapCPULimit, sandbox.CapProcLimit,
		sandbox.CapNoNetwork, sandbox.CapUsage, sandbox.CapIsolation, sandbox.CapCensus,
	}
	switch cfg.Handler {
	case "runsc":
		h.binary = filepath.Join(cfg.ToolsDir, "bin", "runsc")
		if _, err := os.Stat(h.binary); err != nil {
			return h, fmt.Errorf("runtime runsc: %w; run deploy/setup.sh to install the pinned tools", err)
		}
		h.disk, h.caps = diskFilestore, append(all, sandbox.CapDiskLimit)
		h.version = moduleVersion(h.binary)
		h.wrap = &wrappers{dir: filepath.Join(cfg.StateDir, "bin")}
	case "runc":
		bin, err := lookRunc(cfg.ToolsDir)
		if err != nil {
			return h, fmt.Errorf("runtime runc: %w; install your distribution's runc package", err)
		}
		h.binary, h.hostKernel, h.ownPids, h.caps = bin, true, true, all
		h.version = runcVersion(bin)
		if _, err := exec.LookPath(mkfs); err == nil {
			h.disk, h.caps = diskLoop, append(all, sandbox.CapDiskLimit)
		}
	default:
		if !strings.HasPrefix(cfg.Handler, "io.containerd.") {
			return h, fmt.Errorf("runtime %q: want \"runsc\", \"runc\" or the name of a containerd runtime (io.containerd...)", cfg.Handler)
		}
		// Nothing is known of it but the contract of containerd: it may well share
		// the host's kernel.
		h.runtime, h.hostKernel = cfg.Handler, true
		h.caps = []sandbox.Capability{sandbox.CapExec, sandbox.CapCopy, sandbox.CapCensus}
	}
	return h, nil
}

// shimOptions are given to containerd with the container.
func (h handler) shimOptions(s sandbox.Spec) (any, error) {
	if h.binary == "" {
		return nil, nil
	}
	bin := h.binary
	if h.wrap != nil {
		var err error
		if bin, err = h.wrap.script(h.binary, runscFlags(s)); err != nil {
			return nil, err
		}
	}
	return &options.Options{BinaryName: bin, Root: h.state}, nil
}

// runscFlags are all flags of gVisor that matter to isolation, written down even
// where they are its default: an upgrade must not change them silently.
func runscFlags(s sandbox.Spec) []string {
	overlay := fmt.Sprintf("root:self,size=%d", s.Limits.DiskBytes)
	if s.WritableSnapshot {
		overlay = "none"
	}
	return []string{
		"--platform=systrap",
		"--network=none",
		"--overlay2=" + overlay,
		"--file-access=exclusive",
		"--directfs=true",
		"--host-uds=none",
		"--host-fifo=none",
		"--net-raw=false",
		"--allow-flag-override=false",
		"--oci-seccomp=false",
	}
}

// wrappers are scripts that add flags to an OCI runtime, which the shim's
// protocol has no place for. One a distinct set of flags, named by its content,
// so concurrent writers write the same bytes.
type wrappers struct {
	dir  string
	mu   sync.Mutex
	have map[string]bool
}

func (w *wrappers) script(binary string, flags []string) (string, error) {
	var b strings.Builder
	b.WriteString("#!/bin/sh\nexec " + quote(binary))
	for _, f := range flags {
		b.WriteString(" " + quote(f))
	}
	b.WriteString(" \"$@\"\n")
	sum := sha256.Sum256([]byte(b.String()))
	path := filepath.Join(w.dir, filepath.Base(binary)+"-"+hex.EncodeToString(sum[:8]))

	w.mu.Lock()
	defer w.mu.Unlock()
	if w.have[path] {
		return path, nil
	}
	if old, err := os.ReadFile(path); err != nil || string(old) != b.String() {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("write runtime wrapper: %w", err)
		}
		if err := os.MkdirAll(w.dir, 0o755); err != nil {
			return "", fmt.Errorf("write runtime wrapper: %w", err)
		}
		tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
		// Renamed into place: nobody executes half of it, or a file that is open for writing.
		if err := os.WriteFile(tmp, []byte(b.String()), 0o755); err != nil {
			return "", fmt.Errorf("write runtime wrapper: %w", err)
		}
		if err := os.Rename(tmp, path); err != nil {
			return "", fmt.Errorf("write runtime wrapper: %w", err)
		}
	}
	if w.have == nil {
		w.have = map[string]bool{}
	}
	w.have[path] = true
	return path, nil
}

// quote makes one word of the shell out of s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// moduleVersion reads the Go module version from a binary: gVisor's "go install"
// builds don't know their own.
func moduleVersion(binary string) string {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return ""
	}
	return info.Main.Version
}

func lookRunc(toolsDir string) (string, error) {
	if p := filepath.Join(toolsDir, "bin", "runc"); isExecutable(p) {
		return p, nil
	}
	return exec.LookPath("runc")
}

func isExecutable(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// runcVersion asks the binary: distributions build it without module versions.
func runcVersion(binary string) string {
	out, err := exec.Command(binary, "--version").Output()
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(strings.TrimSpace(first), "runc version ")
}
