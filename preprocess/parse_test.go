package preprocess_test

import (
	"fmt"
	"strings"
	"testing"

	"harness/preprocess"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, patch, want string
		problems          string // rules, separated by spaces
	}{
		{"nothing", "", "", ""},
		{"white space", "\n \n", "", "no_diff"},
		{"prose", "I fixed it.\n--- \n+++ \nbye\n", "", "no_diff"},
		{"edit", edit("x.py"), `modified "x.py" "x.py" +1 -1 hunks=1 100644 100644`, ""},
		{"two files", edit("a/x.py") + edit("b.py"), `modified "a/x.py" "a/x.py" +1 -1 hunks=1 100644 100644
modified "b.py" "b.py" +1 -1 hunks=1 100644 100644`, ""},
		{"new file", create("n", "100755", "text"), `added "" "n" +1 -0 hunks=1 0 100755`, ""},
		{"new empty file", "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n", `added "" "e" +0 -0 hunks=0 0 100644`, ""},
		{"deleted", "diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", `deleted "x" "" +0 -2 hunks=1 100644 0`, ""},
		{"rename only", "diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n", `renamed "old name" "new name" +0 -0 hunks=0`, ""},
		{"copy with change", "diff --git a/x b/y\nsimilarity index 90%\ncopy from x\ncopy to y\nindex 1..2 100644\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", `copied "x" "y" +1 -1 hunks=1 100644 100644`, ""},
		{"mode only", "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n", `modified "run.sh" "run.sh" +0 -0 hunks=0 100644 100755`, ""},
		{"mode only, name with spaces", "diff --git a/a b c b/a b c\nold mode 100644\nnew mode 100755\n", `modified "a b c" "a b c" +0 -0 hunks=0 100644 100755`, ""},
		{"name that holds b/", "diff --git a/a b/a b/a b/a\nold mode 100644\nnew mode 100755\n", `modified "a b/a" "a b/a" +0 -0 hunks=0 100644 100755`, ""},
		{"name with space, tab at the end", "diff --git a/a b b/a b\nindex 1..2 100644\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-a\n+b\n", `modified "a b" "a b" +1 -1 hunks=1 100644 100644`, ""},
		{"quoted", `diff --git "a/f\303\244\t\"q\"\\" "b/f\303\244\t\"q\"\\"` + "\nold mode 100644\nnew mode 100755\n", `modified "fä\t\"q\"\\" "fä\t\"q\"\\" +0 -0 hunks=0 100644 100755`, ""},
		{"one side quoted", `diff --git a/x "b/\377"` + "\nrename from x\n" + `rename to "\377"` + "\n", `renamed "x" "\xff" +0 -0 hunks=0`, ""},
		{"other side quoted", `diff --git "a/\377" b/x` + "\nrename from \"\\377\"\nrename to x\n", `renamed "\xff" "x" +0 -0 hunks=0`, ""},
		{"raw bytes in a name", edit("caf\xe9"), `modified "caf\xe9" "caf\xe9" +1 -1 hunks=1 100644 100644`, ""},
		{"broken quotes", "diff --git \"a/x\\9\" \"b/x\\9\"\n--- \"a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", `modified "x" "x" +1 -1 hunks=1`, "bad_quoting inconsistent_names"},
		{"no prefix", "diff --git src/x.py src/x.py\n--- src/x.py\n+++ src/x.py\n@@ -1 +1 @@\n-a\n+b\n", `modified "x.py" "x.py" +1 -1 hunks=1`, ""},
		{"plain", "--- a/x.c\t2020-01-01 00:00:00 +0000\n+++ b/x.c\t2020-01-02 00:00:00 +0000\n@@ -1,2 +1,3 @@ int main\n a\n-b\n+c\n+d\n", `modified "x.c" "x.c" +2 -1 hunks=1`, ""},
		{"plain new", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", `added "" "x" +1 -0 hunks=1`, ""},
		{"plain new by its hunk", "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", `added "" "x" +1 -0 hunks=1`, ""},
		{"plain deleted", "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", `deleted "x" "" +0 -1 hunks=1`, ""},
		{"plain after plain", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "modified \"x\" \"x\" +1 -1 hunks=1\nmodified \"y\" \"y\" +1 -1 hunks=1", ""},
		{"svn", "Index: dir/x\n===================================\n--- dir/x\t(revision 1)\n+++ dir/x\t(working copy)\n@@ -1 +1 @@\n-a\n+b\n", `modified "x" "x" +1 -1 hunks=1`, ""},
		{"index line only", "Index: dir/x\n@@ -1 +1 @@\n-a\n+b\n", `modified "dir/x" "dir/x" +1 -1 hunks=1`, ""},
		{"mail", "From 1234 Mon Sep 17\nSubject: fix\n\n---\n x | 2 +-\n\n" + edit("x") + "-- \n2.39.5\n\n", `modified "x" "x" +1 -1 hunks=1 100644 100644`, ""},
		{"text between and behind", "Here:\n```diff\n" + edit("x") + "```\nand\n" + edit("y"), "modified \"x\" \"x\" +1 -1 hunks=1 100644 100644\nmodified \"y\" \"y\" +1 -1 hunks=1 100644 100644", "trailing_text"},
		{"CRLF all over", strings.ReplaceAll(edit("x"), "\n", "\r\n"), `modified "x" "x" +1 -1 hunks=1 100644 100644`, ""},
		{"CRLF content", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n", `modified "x" "x" +1 -1 hunks=1`, ""},
		{"no final newline", strings.TrimSuffix(edit("x"), "\n"), `modified "x" "x" +1 -1 hunks=1 100644 100644`, ""},
		{"no newline mark", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", `modified "x" "x" +1 -1 hunks=1`, ""},
		{"byte order mark", "\xef\xbb\xbf" + edit("x"), `modified "x" "x" +1 -1 hunks=1`, "byte_order_mark"},
		{"NUL in content", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\x00\n+b\x00\n", `modified "x" "x" +1 -1 hunks=1`, ""},
		{"context line without its space", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", `modified "x" "x" +1 -1 hunks=1`, ""},
		{"headers inside a hunk are content", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n context\n", `modified "x" "x" +1 -1 hunks=1`, ""},
		{"count too large", "--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n-a\n+b\n" + edit("y"), "modified \"x\" \"x\" +1 -1 hunks=1\nmodified \"y\" \"y\" +1 -1 hunks=1 100644 100644", "hunk_counts"},
		{"count too small", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n+d\n", `modified "x" "x" +1 -1 hunks=1`, "trailing_text"},
		{"count uneven", "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n b\n c\n", `modified "x" "x" +0 -1 hunks=1`, "trailing_text"},
		{"count uneven on one side", "--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n-a\n b\n c\n", `modified "x" "x" +0 -1 hunks=1`, "hunk_counts"},
		{"cut off", "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n", `modified "x" "x" +0 -0 hunks=1`, "hunk_truncated"},
		{"huge numbers", "--- a/x\n+++ b/x\n@@ -1,99999999999999999999 +1 @@\n-a\n", `modified "x" "x" +0 -0 hunks=0`, "hunk_header"},
		{"hunk header without end", "--- a/x\n+++ b/x\n@@ -1 +1\n-a\n+b\n", `modified "x" "x" +0 -0 hunks=0`, "hunk_header"},
		{"hunk without file", "@@ -1 +1 @@\n-a\n+b\n", "", "hunk_without_file no_diff"},
		{"bad mode", "diff --git a/x b/x\nold mode 100644\nnew mode rwx\n", `modified "x" "x" +0 -0 hunks=0 100644 0`, "bad_mode"},
		{"names disagree", "diff --git a/x b/x\n--- a/y\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n", `modified "y" "z" +1 -1 hunks=1`, "inconsistent_names"},
		{"binary literal", "diff --git a/i.png b/i.png\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\nliteral 0\nHcmV?d00001\n\n" + edit("y"), "modified \"i.png\" \"i.png\" +0 -0 hunks=0 100644 100644 binary=true\nmodified \"y\" \"y\" +1 -1 hunks=1 100644 100644", ""},
		{"binary delta", "diff --git a/i.png b/i.png\nindex 1..2 100644\nGIT binary patch\ndelta 3\nKcmZQzWMT#Y01f~L\n", `modified "i.png" "i.png" +0 -0 hunks=0 100644 100644 binary=true`, "binary_malformed"},
		{"binary with lies", "diff --git a/i.png b/i.png\nGIT binary patch\nliteral 99x\nKcm\n" + edit("y"), "modified \"i.png\" \"i.png\" +0 -0 hunks=0 binary=true\nmodified \"y\" \"y\" +1 -1 hunks=1 100644 100644", "binary_malformed"},
		{"binary without blocks", "diff --git a/i.png b/i.png\nGIT binary patch\n" + edit("y"), "modified \"i.png\" \"i.png\" +0 -0 hunks=0 binary=true\nmodified \"y\" \"y\" +1 -1 hunks=1 100644 100644", "binary_malformed"},
		{"binary mention", "diff --git a/i.png b/i.png\nindex 1..2 100644\nBinary files a/i.png and b/i.png differ\n", `modified "i.png" "i.png" +0 -0 hunks=0 100644 100644 binary=false`, ""},
		{"header alone", "diff --git a/x b/x\n" + edit("y") + "diff --git a/z b/z\n", "modified \"x\" \"x\" +0 -0 hunks=0\nmodified \"y\" \"y\" +1 -1 hunks=1 100644 100644\nmodified \"z\" \"z\" +0 -0 hunks=0", "header_alone"},
		{"header with a hunk only", "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n", `modified "x" "x" +1 -1 hunks=1`, ""},
		{"combined", "diff --cc src/x.c\nindex 1,2..3\n--- a/src/x.c\n+++ b/src/x.c\n@@@ -1,2 -1,2 +1,3 @@@\n  a\n++b\n" + edit("y"), "modified \"src/x.c\" \"src/x.c\" +0 -0 hunks=0\nmodified \"y\" \"y\" +1 -1 hunks=1 100644 100644", "combined_diff"},
		{"context", "*** a/x.c\tdate\n--- b/x.c\tdate\n***************\n*** 1,2 ****\n! a\n--- 1,2 ----\n! b\n" + edit("y"), "modified \"x.c\" \"x.c\" +0 -0 hunks=0\nmodified \"y\" \"y\" +1 -1 hunks=1 100644 100644", "context_diff"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			d := parse(t, tc.patch)
			if got := strings.TrimSuffix(describe(d), "\n"); got != tc.want {
				t.Errorf("files:\n%s\nwant:\n%s", got, tc.want)
			}
			if got := strings.Join(rules(d.Problems), " "); got != tc.problems {
				t.Errorf("problems %q, want %q\n%v", got, tc.problems, d.Problems)
			}
		})
	}
}

func TestProblemsNameTheLine(t *testing.T) {
	d := parse(t, edit("x")+"--- a/y\n+++ b/y\n@@ -1,2 +1,2 @@\n a\ngarbage\n")
	if len(d.Problems) != 1 || d.Problems[0].Line != 12 || d.Problems[0].Path != "y" {
		t.Errorf("problems: %+v", d.Problems)
	}
	if f := d.Files[1]; f.Line != 8 || f.Hunks[0] != (preprocess.Hunk{Line: 10, OldStart: 1, OldLines: 2, NewStart: 1, NewLines: 2}) {
		t.Errorf("file: %+v", f)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	d := parse(t, strings.Repeat("--- a/x\n+++ b/x\n@@ -1,9 +1 @@\nx\n", 5000))
	kept, dropped := 0, int64(0)
	for _, f := range d.Problems {
		kept++
		dropped += f.Dropped
	}
	if kept != 50 || dropped != 4950 {
		t.Errorf("kept %d, dropped %d", kept, dropped)
	}
}

func TestTooManyFiles(t *testing.T) {
	var b strings.Builder
	for i := range preprocess.MaxFiles + 1 {
		fmt.Fprintf(&b, "diff --git a/%d b/%d\nold mode 100644\n", i, i)
	}
	r := preprocess.Inspect([]byte(b.String()), preprocess.Options{})
	if !r.Reject || !strings.Contains(r.Reason, "too_many_files") || r.Facts.FilesChanged != nil || len(r.Files) != preprocess.MaxFiles {
		t.Errorf("reject %v %q, %d files", r.Reject, r.Reason, len(r.Files))
	}
}
