package preprocess

import (
	"fmt"
	"path"
	"strings"
)

// File types and bits of a mode, as in git and stat(2).
const (
	typeMask    = 0o170000
	typeRegular = 0o100000
	typeSymlink = 0o120000
	typeGitlink = 0o160000
	specialBits = 0o7000 // setuid, setgid, sticky
)

// modes looks at both modes of a file: git writes nothing but 100644, 100755,
// 120000 and 160000.
func (c *checker) modes(f *File) {
	for _, m := range [...]uint32{f.OldMode, f.NewMode} {
		p := f.Name()
		switch {
		case m == 0:
		case m&typeMask == typeGitlink && f.OldMode&typeMask == typeGitlink:
			// Real changes move submodules on; without a checkout of it that changes no file.
			c.add("mode_gitlink", Medium, p, f.Line, "a submodule is changed, whose content is not in the patch")
		case m&typeMask == typeGitlink:
			c.reject("mode_gitlink", p, f.Line, "a submodule is added, whose content is not in the patch")
		case m&typeMask != typeRegular && m&typeMask != typeSymlink:
			c.reject("mode_special", p, f.Line, fmt.Sprintf("mode %06o is of no file or link", m))
		case m&specialBits != 0:
			c.reject("mode_setuid", p, f.Line, fmt.Sprintf("mode %06o has setuid, setgid or sticky bits", m))
		case m&typeMask == typeRegular && m != 0o100644 && m != 0o100755:
			c.add("mode_odd", Low, p, f.Line, fmt.Sprintf("mode %06o is none that git keeps", m))
		}
		if f.OldMode == f.NewMode {
			break
		}
	}
	if f.NewMode&typeMask == typeSymlink && f.Kind != Deleted && f.NewName != "" {
		c.symlink(f)
	}
}

func (c *checker) symlink(f *File) {
	c.links = append(c.links, path.Clean(f.NewName))
	target := string(f.link)
	switch {
	case len(f.Hunks) == 0 && !f.Binary && f.OldMode&typeMask == typeSymlink && (f.Kind == Renamed || f.Kind == Copied):
		// It keeps its target, but a relative one means another place now.
		c.add("symlink", Medium, f.NewName, f.Line, "a symbolic link is moved; its target is not in the patch")
	case target == "":
		c.reject("symlink_escape", f.NewName, f.Line, "where a symbolic link points to can't be told")
	case leaves(f.NewName, target):
		c.reject("symlink_escape", f.NewName, f.Line, "a symbolic link may point out of the repository or into git's own folder: "+quote(target))
	default:
		c.add("symlink", Medium, f.NewName, f.Line, "a symbolic link is made: "+quote(target))
	}
}

// leaves reports whether a link at p could reach out of the tree. Climbing is
// allowed at the start only: after a name it may follow another link first.
func leaves(p, target string) bool {
	if strings.HasPrefix(target, "/") || isDrive(target) || strings.IndexByte(target, 0) >= 0 || len(target) > maxPath {
		return true
	}
	depth := strings.Count(path.Clean(p), "/")
	named := false
	for part := range strings.FieldsFuncSeq(target, isSeparator) {
		switch {
		case part == ".":
		case part == "..":
			if depth--; named || depth < 0 {
				return true
			}
		case isDotGit(part):
			return true
		default:
			named = true
		}
	}
	return false
}
