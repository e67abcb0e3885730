package evalscript

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Touched are the files that a patch touches, each once, in the patch's order
// and relative to the repository.
type Touched struct {
	Changed []string // in the base commit: changed, deleted, or the old name of a rename
	Added   []string // not in the base commit
	After   []string // there once the patch is applied
}

// Files reads the file headers of a patch. A name that leaves the repository
// is an error, and so is a header that does not tell its names.
func Files(patch string) (Touched, error) {
	var t Touched
	seen := make(map[string]bool)
	var h header
	flush := func() error {
		if h.line == "" {
			return nil
		}
		old, now, err := h.names()
		if err != nil {
			return err
		}
		for _, name := range []string{old, now} {
			if name != "" && !inside(name) {
				return fmt.Errorf("file name %s leaves the repository", strconv.Quote(clip(name)))
			}
		}
		t.add(seen, old, now, h.gone)
		return nil
	}
	for line := range strings.SplitSeq(patch, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line, "diff --git ") {
			if err := flush(); err != nil {
				return t, err
			}
			h = header{line: line}
			continue
		}
		if h.line != "" {
			h.read(line)
		}
	}
	return t, flush()
}

func (t *Touched) add(seen map[string]bool, old, now string, gone bool) {
	if old != "" && !seen[old] {
		seen[old] = true
		t.Changed = append(t.Changed, old)
		if now == "" && !gone {
			t.After = append(t.After, old)
		}
	}
	if now != "" && !seen[now] {
		seen[now] = true
		t.Added = append(t.Added, now)
		t.After = append(t.After, now)
	}
}

// Reset restores the files of the base commit and removes those that the patch
// adds, as official scripts do before and after the tests. There are no lines
// for a patch that touches nothing.
func (t Touched) Reset(base string) []string {
	var out []string
	if len(t.Changed) > 0 {
		out = append(out, "git checkout "+Quote(base)+" -- "+pathspecs(t.Changed))
	}
	if len(t.Added) > 0 {
		out = append(out, "rm -f -- "+QuoteAll(t.Added))
	}
	return out
}

// pathspecs names files to git: as they are, neither as patterns nor as options.
func pathspecs(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		if out[i] = name; strings.ContainsAny(name, `*?[\`) || strings.HasPrefix(name, ":") || strings.HasPrefix(name, "-") {
			out[i] = ":(literal)" + name
		}
	}
	return QuoteAll(out)
}

// operands names files to a command that would take some for options.
func operands(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		if out[i] = name; strings.HasPrefix(name, "-") {
			out[i] = "./" + name
		}
	}
	return QuoteAll(out)
}

// header is what stands between a "diff --git" line and the first hunk.
type header struct {
	line               string
	from, to           string // of ---/+++ or rename/copy lines
	added, gone, hunks bool
}

func (h *header) read(line string) {
	if h.hunks {
		return // a removed line "-- a/x" reads as a file header
	}
	switch {
	case strings.HasPrefix(line, "@@ ") || strings.HasPrefix(line, "GIT binary patch"):
		h.hunks = true
	case strings.HasPrefix(line, "new file mode "):
		h.added = true
	case strings.HasPrefix(line, "deleted file mode "):
		h.gone = true
	case strings.HasPrefix(line, "rename from "):
		h.from = unquote(line[len("rename from "):])
	case strings.HasPrefix(line, "rename to "):
		h.to = unquote(line[len("rename to "):])
	case strings.HasPrefix(line, "copy to "):
		h.to, h.added = unquote(line[len("copy to "):]), true
	case strings.HasPrefix(line, "--- "):
		h.side(line[4:], "a/", &h.from, &h.added)
	case strings.HasPrefix(line, "+++ "):
		h.side(line[4:], "b/", &h.to, &h.gone)
	}
}

func (h *header) side(name, prefix string, into *string, absent *bool) {
	// Git ends a name that holds blanks with a tab.
	name = unquote(strings.TrimSuffix(name, "\t"))
	if name == "/dev/null" {
		*absent = true
		return
	}
	if rest, ok := strings.CutPrefix(name, prefix); ok && *into == "" {
		*into = rest
	}
}

// names returns the name in the base commit and the name behind the patch; ""
// where there is none, or where it is the same file.
func (h *header) names() (old, now string, err error) {
	from, to := h.from, h.to
	if from == "" && to == "" {
		// A change of mode, a binary file or an empty one has the names here only.
		if from, to, err = splitHeader(h.line[len("diff --git "):]); err != nil {
			return "", "", err
		}
	}
	if from == "" {
		from = to
	}
	if to == "" {
		to = from
	}
	switch {
	case h.added:
		return "", to, nil
	case h.gone || from == to:
		return from, "", nil
	}
	return from, to, nil
}

// splitHeader takes "a/NAME b/NAME" apart. Names with blanks are not quoted by
// git: of those, only equal names can be told.
func splitHeader(s string) (from, to string, err error) {
	if strings.HasPrefix(s, `"`) {
		if first, perr := strconv.QuotedPrefix(s); perr == nil {
			from, to = unquote(first), unquote(strings.TrimPrefix(s[len(first):], " "))
		}
	} else if a, b, ok := strings.Cut(s, " "); ok && !strings.Contains(b, " ") {
		from, to = a, unquote(b)
	} else if mid := len(s) / 2; len(s)%2 == 1 && s[mid] == ' ' {
		from, to = s[:mid], s[mid+1:]
	}
	a, okA := strings.CutPrefix(from, "a/")
	b, okB := strings.CutPrefix(to, "b/")
	if !okA || !okB {
		return "", "", fmt.Errorf("the patch has a header whose file names can't be told: %s", strconv.Quote(clip("diff --git "+s)))
	}
	return a, b, nil
}

// unquote reads git's C-style quoting of unusual names.
func unquote(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

func inside(name string) bool {
	return name != "" && !path.IsAbs(name) && path.Clean(name) == name && name != ".." && !strings.HasPrefix(name, "../") &&
		name != ".git" && !strings.HasPrefix(name, ".git/") && strings.IndexByte(name, 0) < 0
}

func clip(s string) string { return s[:min(len(s), 200)] }
