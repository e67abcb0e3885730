package evalscript_test

import (
	"reflect"
	"strings"
	"testing"

	"harness/datasets/evalscript"
)

func TestFiles(t *testing.T) {
	tests := []struct {
		name, patch string
		want        evalscript.Touched
		err         string
	}{
		{"nothing", "", evalscript.Touched{}, ""},
		{"changed, added, deleted", hostilePatch, evalscript.Touched{
			Changed: []string{"t/test_a.txt", "t/gone.py"}, Added: []string{"t/$(touch pwned).py"}, After: []string{"t/test_a.txt", "t/$(touch pwned).py"},
		}, ""},
		{"renamed", "diff --git a/a b/b\nsimilarity index 90%\nrename from a\nrename to b\n--- a/a\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n", evalscript.Touched{
			Changed: []string{"a"}, Added: []string{"b"}, After: []string{"b"},
		}, ""},
		{"copied", "diff --git a/a b/b\ncopy from a\ncopy to b\n", evalscript.Touched{Added: []string{"b"}, After: []string{"b"}}, ""},
		{"mode only", "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n", evalscript.Touched{Changed: []string{"run.sh"}, After: []string{"run.sh"}}, ""},
		{"binary", "diff --git a/x.png b/x.png\nnew file mode 100644\nindex 000..111\nBinary files /dev/null and b/x.png differ\n", evalscript.Touched{Added: []string{"x.png"}, After: []string{"x.png"}}, ""},
		{"binary with blanks", "diff --git a/my x.png b/my x.png\nindex 000..111\nGIT binary patch\nliteral 1\n", evalscript.Touched{Changed: []string{"my x.png"}, After: []string{"my x.png"}}, ""},
		{"blanks", "diff --git a/my x b/my x\n--- a/my x\t\n+++ b/my x\t\n@@ -1 +1 @@\n-x\n+y\n", evalscript.Touched{Changed: []string{"my x"}, After: []string{"my x"}}, ""},
		{"quoted", `diff --git "a/\303\274" "b/\303\274"` + "\nold mode 100644\nnew mode 100755\n", evalscript.Touched{Changed: []string{"ü"}, After: []string{"ü"}}, ""},
		{"carriage returns", "diff --git a/a b/a\r\n--- a/a\r\n+++ b/a\r\n@@ -1 +1 @@\r\n-x\r\n+y\r\n", evalscript.Touched{Changed: []string{"a"}, After: []string{"a"}}, ""},
		{"a removed line that looks like a header", "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n--- a/etc\n-- b/etc\n", evalscript.Touched{Changed: []string{"a"}, After: []string{"a"}}, ""},
		{"twice", "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n", evalscript.Touched{Changed: []string{"a"}, After: []string{"a"}}, ""},
		{"outside", "diff --git a/../x b/../x\n--- a/../x\n+++ b/../x\n", evalscript.Touched{}, "leaves the repository"},
		{"git's own", "diff --git a/.git/config b/.git/config\n--- a/.git/config\n+++ b/.git/config\n", evalscript.Touched{}, "leaves the repository"},
		{"no names", "diff --git x y z\n", evalscript.Touched{}, "can't be told"},
	}
	for _, tt := range tests {
		got, err := evalscript.Files(tt.patch)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"": "''", "a/b-c_1.py": "a/b-c_1.py", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "~": "'~'", "a\nb": "'a\nb'", "ü": "'ü'",
	} {
		if got := evalscript.Quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestHereDocEndsWithItsContent(t *testing.T) {
	places := newPlaces(t)
	places.dir = places.tmp
	for _, content := range []string{"", "a", "a\n", "a\r\n", "EOF_114329324912", "x EOF_114329324912 y\nEOF_114329324912\n"} {
		doc, err := evalscript.HereDoc("cat -", content)
		if err != nil {
			t.Fatal(err)
		}
		want := content
		if want != "" && !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		if got := places.run(t, doc+"\n"); got != want {
			t.Errorf("%q arrives as %q", content, got)
		}
	}
	if _, err := evalscript.HereDoc("cat -", "a\x00"); err == nil {
		t.Error("a NUL byte is accepted")
	}
}

func FuzzFiles(f *testing.F) {
	f.Add(hostilePatch)
	f.Add("diff --git \"a/\\\" b/\n--- \"\n+++ \n")
	f.Fuzz(func(t *testing.T, patch string) {
		files, err := evalscript.Files(patch)
		if err != nil {
			return
		}
		for _, name := range append(files.Changed, files.Added...) {
			if name == "" || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "../") {
				t.Errorf("file name %q", name)
			}
		}
	})
}
