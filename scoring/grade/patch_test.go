package grade_test

import (
	"testing"

	"harness/eval"
	"harness/scoring/grade"
)

// What SWE-bench Pro's strip_binary_hunks leaves of these patches.
func TestPreparePatch(t *testing.T) {
	const (
		text   = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"
		binary = "diff --git a/b.png b/b.png\nindex 1..2 100644\nBinary files a/b.png and b/b.png differ\n"
		packed = "diff --git a/c.png b/c.png\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZ\n\n"
		quotes = "diff --git a/d b/d\n--- a/d\n+++ b/d\n@@ -1 +1 @@\n-x\n+Binary files a and b differ\n diff --git is text here\n"
	)
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{text, text},
		{binary, ""},
		{text + binary, text},
		{binary + text + packed, text},
		{packed + quotes, quotes},
		{"\n \n" + text, text},
		{"From: me\n\n" + text + binary, "From: me\n\n" + text},
		{"GIT binary patch\n" + text, text},
		{text + "GIT binary patch\r\n", text + "GIT binary patch\r\n"},
		{"no patch", "no patch"},
	} {
		if got := grade.PreparePatch(tt.in, eval.Recipe{DropBinary: true}); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
		if got := grade.PreparePatch(tt.in, eval.Recipe{}); got != tt.in {
			t.Errorf("%q is changed without need to %q", tt.in, got)
		}
	}
}
