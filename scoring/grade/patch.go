package grade

import (
	"strings"
	"unicode"

	"harness/eval"
)

// PreparePatch returns the patch as it is applied under a recipe. With
// DropBinary, the files that a patch changes in a binary way are left out: git
// refuses the whole patch if it holds such a file without its content.
func PreparePatch(patch string, recipe eval.Recipe) string {
	if !recipe.DropBinary {
		return patch
	}
	var b strings.Builder
	for rest := patch; rest != ""; {
		file := rest
		if next := strings.Index(rest, "\n"+fileHeader); next >= 0 {
			file = rest[:next+1]
		}
		rest = rest[len(file):]
		if !binary(file) && strings.TrimFunc(file, pySpace) != "" {
			b.WriteString(file)
		}
	}
	return b.String()
}

const fileHeader = "diff --git "

// binary reports whether a file's part of a patch has no text to apply.
func binary(file string) bool {
	for line := range strings.SplitSeq(file, "\n") {
		if line == "GIT binary patch" || strings.HasPrefix(line, "Binary files ") && strings.HasSuffix(line, " differ") {
			return true
		}
	}
	return false
}

// pySpace reports whether Python's strip takes r off a string.
func pySpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
