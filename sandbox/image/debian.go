package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	debianMirror   = "http://deb.debian.org/debian"
	securityMirror = "http://deb.debian.org/debian-security"
)

// debianNotNeeded is left unpacked: text for people, in an image that nobody logs into.
var debianNotNeeded = []string{"/usr/share/man/*", "/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/lintian/*", "/usr/share/bug/*"}

// bootstrap streams the root file system of a Debian base as tar into w, from
// packages whose signatures apt has checked.
func bootstrap(ctx context.Context, d *Debian, w io.Writer) error {
	tool, err := exec.LookPath("mmdebstrap")
	if err != nil {
		return errors.New("build a Debian base: mmdebstrap is not installed: run `apt-get install mmdebstrap`")
	}
	args := []string{"--variant=essential", "--mode=auto", "--format=tar", "--quiet"}
	if len(d.Packages) > 0 {
		args = append(args, "--include="+strings.Join(d.Packages, ","))
	}
	for _, p := range debianNotNeeded {
		args = append(args, "--dpkgopt=path-exclude="+p)
	}
	args = append(args, d.Suite, "-")
	args = append(args, d.sources()...)

	var notes tail
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(Epoch.Unix(), 10), "LC_ALL=C.UTF-8", "PYTHONHASHSEED=0")
	cmd.Stdout, cmd.Stderr = w, &notes
	// It removes its work folder when told to stop politely.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return fmt.Errorf("build a Debian base: %w", cause)
		}
		return fmt.Errorf("build a Debian base: mmdebstrap: %w: %s%s", err, notes.text(), aptHint(notes.text()))
	}
	return nil
}

func (d *Debian) sources() []string {
	if d.Mirror != "" {
		return []string{fmt.Sprintf("deb %s %s main", d.Mirror, d.Suite)}
	}
	return []string{
		fmt.Sprintf("deb %s %s main", debianMirror, d.Suite),
		fmt.Sprintf("deb %s %s-updates main", debianMirror, d.Suite),
		fmt.Sprintf("deb %s %s-security main", securityMirror, d.Suite),
	}
}

// aptHint says what to do about the usual failures.
func aptHint(notes string) string {
	switch {
	case strings.Contains(notes, "Temporary failure resolving"), strings.Contains(notes, "Could not connect"),
		strings.Contains(notes, "Unable to connect"), strings.Contains(notes, "Connection timed out"), strings.Contains(notes, "Failed to fetch"):
		return ": the Debian archive is not reachable: check the network or apt's proxy (Acquire::http::Proxy in /etc/apt/apt.conf.d), " +
			"set debian.mirror to an archive that is, or bring the image from another machine with `harness image import`"
	case strings.Contains(notes, "Unable to locate package"):
		return ": a package of the recipe is not in the suite: check debian.packages"
	case strings.Contains(notes, "NO_PUBKEY"):
		return ": the archive's signing key is not known here: run `apt-get install debian-archive-keyring`"
	}
	return ""
}

// dropFromBase names what a base must not carry: caches, logs, the building
// machine's own names, and device nodes, which every runtime makes itself.
func dropFromBase(p string) bool {
	switch {
	case path.Dir(p) == "/dev", path.Dir(p) == "/proc", path.Dir(p) == "/sys", path.Dir(p) == "/run":
		return true
	case path.Dir(p) == "/var/lib/apt/lists", path.Dir(p) == "/var/cache/apt", path.Dir(p) == "/var/cache/debconf":
		return true
	case strings.HasPrefix(p, "/var/log/") && strings.Contains(path.Base(p), ".log"):
		return true
	}
	return slices.Contains([]string{
		"/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hostname", "/etc/resolv.conf", "/var/cache/ldconfig/aux-cache",
		"/etc/.pwd.lock", "/var/lib/dpkg/lock", "/var/lib/dpkg/lock-frontend", "/var/lib/apt/extended_states",
		"/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-", "/var/lib/dpkg/status-old",
	}, p)
}
