package evidence

import (
	"fmt"
	"path"
	"strings"
)

// Watch says which files' opens are kept. A pattern that begins with "/" is held
// against the whole path, else against the last element alone; one that ends in
// "/" means everything below that folder; "*", "?" and "[a-z]" are those of
// path.Match and don't cross a "/".
type Watch struct {
	Any   []string // opens of any kind
	Write []string // opens that could change, create or empty the file
}

// DefaultWatch are files by which code would learn what isn't meant for it, or
// steer what runs after it.
func DefaultWatch() Watch {
	return Watch{
		Any: []string{
			"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d/",
			"/root/.ssh/", ".netrc", ".git-credentials", ".pgpass", "id_rsa", "id_ed25519",
			"/proc/*/mem", "/proc/kcore", "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern",
			"/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/port", "docker.sock", "containerd.sock",
		},
		Write: []string{
			"/etc/passwd", "/etc/group", "/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.conf.d/",
			"/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/",
			"/proc/*/uid_map", "/proc/*/gid_map", "/proc/sys/", "/sys/fs/cgroup/", "/sys/kernel/",
			"sitecustomize.py", "usercustomize.py", "conftest.py", "*.pth",
		},
	}
}

// Validate finds patterns that can match nothing.
func (w Watch) Validate() error {
	for _, list := range [][]string{w.Any, w.Write} {
		for _, p := range list {
			if _, err := path.Match(p, ""); err != nil || p == "" {
				return fmt.Errorf("watched path %q: bad pattern; want a path, a file name, or one with *, ? and [a-z]", p)
			}
			if strings.HasSuffix(p, "/") && (!strings.HasPrefix(p, "/") || strings.ContainsAny(p, `*?[\`)) {
				return fmt.Errorf("watched path %q: a folder needs its whole path, without wildcards", p)
			}
		}
	}
	return nil
}

func (w Watch) empty() bool { return len(w.Any) == 0 && len(w.Write) == 0 }

// match is the severity of an open, "" when it isn't watched.
func (w Watch) match(p string, write bool) string {
	switch {
	case matchAny(w.Any, p):
		return sevMedium
	case write && matchAny(w.Write, p):
		return sevLow
	default:
		return ""
	}
}

func matchAny(patterns []string, p string) bool {
	for _, pat := range patterns {
		switch {
		case strings.HasSuffix(pat, "/"):
			if strings.HasPrefix(p, pat) || p == pat[:len(pat)-1] {
				return true
			}
		case pat[0] == '/':
			if ok, _ := path.Match(pat, p); ok {
				return true
			}
		default:
			if ok, _ := path.Match(pat, path.Base(p)); ok {
				return true
			}
		}
	}
	return false
}

// resolve is the path that name means for a call relative to dir, as text: links
// are not followed.
func resolve(dir, name string) string {
	switch {
	case name == "":
		return ""
	case name[0] == '/':
		return path.Clean(name)
	case dir == "" || dir[0] != '/': // not known
		return name
	default:
		return path.Join(dir, name)
	}
}
