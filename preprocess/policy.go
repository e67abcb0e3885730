package preprocess

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxPath = 4096 // bytes, PATH_MAX
	maxPart = 255  // bytes, NAME_MAX
	// caseDepth is how many leading folders of a path are compared without regard to case.
	caseDepth = 16
)

// Policy is what Check needs to know beside the patch.
type Policy struct {
	// TestPaths are the files that the hidden tests bring, relative to the repository.
	TestPaths []string
}

// Check applies the path policy to every name that some tool might take from the
// patch, and to every mode and symbolic link.
func Check(d *Diff, p Policy) Findings {
	c := &checker{cases: map[string]string{}, tests: map[string]bool{}}
	for _, t := range p.TestPaths {
		c.tests[path.Clean(t)] = true
	}
	for i := range d.Files {
		c.file(&d.Files[i])
	}
	c.writeThrough(d)
	return c.found.list
}

type checker struct {
	found collector
	cases map[string]string // path folded to lower case -> first spelling
	tests map[string]bool
	links []string // symbolic links that the patch makes
}

func (c *checker) add(rule string, sev Severity, p string, line int, detail string) {
	c.found.add(Finding{Rule: rule, Severity: sev, Path: p, Line: line, Detail: detail})
}

func (c *checker) reject(rule, p string, line int, detail string) {
	c.found.add(Finding{Rule: rule, Severity: High, Path: p, Line: line, Detail: detail, Reject: true})
}

func (c *checker) file(f *File) {
	for i, n := range f.names {
		if n.raw == devNull && (n.role == minusName || n.role == plusName) {
			continue
		}
		// The same name stands on several lines; four are usual.
		seen := slices.ContainsFunc(f.names[max(0, i-4):i], func(o name) bool { return o.raw == n.raw && o.path() == n.path() })
		if !seen {
			c.name(n)
		}
	}
	if f.OldName == "" && f.NewName == "" {
		c.reject("path_empty", "", f.Line, "a change names no file")
	}
	c.modes(f)
	if f.Binary && f.BinaryData {
		c.add("binary", Info, f.Name(), f.Line, "the change is binary")
	} else if f.Binary {
		c.add("binary_without_data", Medium, f.Name(), f.Line, "the patch says that a binary file differs, but not how")
	}
	c.tamper(f)
}

func (c *checker) name(n name) {
	p := n.path()
	switch {
	case p == "":
		c.reject("path_empty", n.raw, n.line, "nothing is left of a name without its first part")
		return
	case strings.IndexByte(n.raw, 0) >= 0:
		c.reject("path_nul", p, n.line, "a name holds a NUL byte")
		return
	case len(p) > maxPath:
		c.reject("path_too_long", p, n.line, "a name is longer than 4096 bytes")
		return
	}
	if n.raw[0] == '/' || p[0] == '/' || isDrive(n.raw) || isDrive(p) {
		c.reject("path_absolute", n.raw, n.line, "a name is absolute")
	}
	clean := true
	for part := range strings.FieldsFuncSeq(p, isSeparator) {
		switch {
		case part == "..":
			c.reject("path_traversal", p, n.line, "a name climbs out of its folder")
		case isDotGit(part):
			c.reject("path_git_dir", p, n.line, "a name reaches into git's own folder")
		case len(part) > maxPart:
			c.reject("path_too_long", p, n.line, "a part of a name is longer than 255 bytes")
		case isReserved(part):
			c.add("path_ntfs", Low, p, n.line, "a name means something else on Windows")
		}
		clean = clean && part != "."
	}
	if !clean || strings.Contains(p, "//") || strings.HasSuffix(p, "/") {
		c.add("path_not_clean", Low, p, n.line, `a name has empty or "." parts`)
	}
	if !strings.Contains(n.raw, "/") && n.role <= plusName {
		c.add("path_without_prefix", Low, p, n.line, "a name has no first part to strip; the tools differ in what they do")
	}
	c.characters(p, n.line)
	c.caseFold(p, n.line)
}

func (c *checker) characters(p string, line int) {
	if strings.IndexByte(p, '\\') >= 0 {
		c.add("path_backslash", Low, p, line, "a name holds a backslash")
	}
	if !utf8.ValidString(p) {
		c.add("path_not_utf8", Medium, p, line, "a name is not valid UTF-8")
	}
	for _, r := range p {
		switch {
		case unicode.IsControl(r):
			c.add("path_control", Medium, p, line, "a name holds a control character")
			return
		case unicode.Is(unicode.Cf, r):
			c.add("path_hidden", Medium, p, line, "a name holds an invisible character")
			return
		}
	}
}

// caseFold finds names, or their folders, that are one on file systems without case.
func (c *checker) caseFold(p string, line int) {
	folded := strings.ToLower(p)
	if len(folded) != len(p) {
		folded = asciiLower(p) // positions must agree; odd letters are compared as they are
	}
	for depth, i := 0, 0; i <= len(p) && depth < caseDepth; i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		depth++
		first, ok := c.cases[folded[:i]]
		if !ok {
			c.cases[folded[:i]] = p[:i]
		} else if first != p[:i] {
			c.add("path_case_collision", Medium, p, line, "a name differs from another of the patch in case only")
			return
		}
	}
}

// writeThrough finds names below a symbolic link that the patch itself makes. In
// sorted order everything below a link follows it at once.
func (c *checker) writeThrough(d *Diff) {
	if len(c.links) == 0 {
		return
	}
	type entry struct {
		path string
		link bool
		line int
	}
	var all []entry
	for _, l := range c.links {
		all = append(all, entry{path: l + "/", link: true})
	}
	for i := range d.Files {
		if d.Files[i].Kind == Deleted {
			continue // a folder may give way to a link
		}
		for _, n := range d.Files[i].names {
			all = append(all, entry{path: path.Clean(n.path()), line: n.line})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	var open []string
	for _, e := range all {
		for len(open) > 0 && !strings.HasPrefix(e.path, open[len(open)-1]) {
			open = open[:len(open)-1]
		}
		if !e.link && len(open) > 0 {
			c.reject("write_through_symlink", e.path, e.line, "a name goes through a symbolic link that the patch makes")
		}
		if e.link {
			open = append(open, e.path)
		}
	}
}

// Windows takes the backslash for a separator; git checks names there too.
func isSeparator(r rune) bool { return r == '/' || r == '\\' }

func isDrive(s string) bool {
	return len(s) >= 3 && s[1] == ':' && isSeparator(rune(s[2])) && unicode.IsLetter(rune(s[0]))
}

// isDotGit tells the names under which some file system finds ".git": any case,
// invisible characters that HFS+ skips, trailing dots, spaces and streams that
// NTFS drops, and its short name.
func isDotGit(part string) bool {
	if len(part) < 4 {
		return false
	}
	s := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, part)
	s, _, _ = strings.Cut(s, ":")
	s = strings.TrimRight(s, ". ")
	if strings.EqualFold(s, ".git") {
		return true
	}
	return len(s) == 5 && strings.EqualFold(s[:4], "git~") && s[4] >= '1' && s[4] <= '9'
}

// isReserved tells device names of Windows, streams, and endings that it drops.
func isReserved(part string) bool {
	if strings.ContainsRune(part, ':') || part != "." && part != ".." && strings.TrimRight(part, ". ") != part {
		return true
	}
	stem, _, _ := strings.Cut(part, ".")
	switch len(stem) {
	case 3:
		return slices.ContainsFunc([]string{"CON", "PRN", "AUX", "NUL"}, func(d string) bool { return strings.EqualFold(stem, d) })
	case 4:
		return (strings.EqualFold(stem[:3], "COM") || strings.EqualFold(stem[:3], "LPT")) && stem[3] >= '1' && stem[3] <= '9'
	}
	return false
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
