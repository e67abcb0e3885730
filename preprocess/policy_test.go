package preprocess_test

import (
	"strings"
	"testing"
	"time"

	"harness/preprocess"
)

// plain is an edit without a git header, as GNU patch takes it.
func plain(from, to string) string {
	return "--- " + from + "\n+++ " + to + "\n@@ -1 +1 @@\n-a\n+b\n"
}

func TestEscapesAreRejected(t *testing.T) {
	tests := []struct{ name, patch, rule string }{
		{"dot dot", edit("../x"), "path_traversal"},
		{"dot dot inside", edit("a/../../x"), "path_traversal"},
		{"dot dot at the end", edit("a/.."), "path_traversal"},
		{"dot dot in place of a prefix", plain("../../etc/passwd", "../../etc/passwd"), "path_traversal"},
		{"dot dot with backslashes", edit(`a\..\..\x`), "path_traversal"},
		{"dot dot in octal", "diff --git \"a/\\056\\056/x\" \"b/\\056\\056/x\"\nold mode 100644\nnew mode 100755\n", "path_traversal"},
		{"dot dot on one line only", "diff --git a/x b/x\n--- a/x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "path_traversal"},
		{"dot dot in rename from", "diff --git a/x b/x\nrename from ../x\nrename to x\n", "path_traversal"},
		{"dot dot in copy from", "diff --git a/x b/x\ncopy from a/../../../etc/shadow\ncopy to x\n", "path_traversal"},
		{"dot dot in a deletion", "diff --git a/../x b/../x\ndeleted file mode 100644\n--- a/../x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "path_traversal"},
		{"dot dot in an index line", "Index: ../x\n@@ -1 +1 @@\n-a\n+b\n", "path_traversal"},
		{"dot dot in a context diff", "*** a/../x\n--- b/../x\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", "path_traversal"},
		{"dot dot in a combined diff", "diff --cc ../x\n", "path_traversal"},
		{"absolute", plain("/etc/passwd", "/etc/passwd"), "path_absolute"},
		{"absolute behind the prefix", edit("/etc/passwd"), "path_absolute"},
		{"absolute rename", "diff --git a/x b/x\nrename from x\nrename to /etc/x\n", "path_absolute"},
		{"drive", edit("C:/x"), "path_absolute"},
		{"git folder", edit(".git/config"), "path_git_dir"},
		{"git folder of a submodule", edit("sub/.git/hooks/pre-commit"), "path_git_dir"},
		{"git folder in capitals", edit(".GIT/config"), "path_git_dir"},
		{"git folder as a file", create(".git", "100644", "gitdir: /x"), "path_git_dir"},
		{"git folder, NTFS space", edit(".git /config"), "path_git_dir"},
		{"git folder, NTFS dots", edit(".git../config"), "path_git_dir"},
		{"git folder, NTFS short name", edit("GIT~1/config"), "path_git_dir"},
		{"git folder, NTFS stream", edit(".git::$INDEX_ALLOCATION/config"), "path_git_dir"},
		{"git folder, NTFS separator", edit(`x\.git\config`), "path_git_dir"},
		{"git folder, HFS+ invisible", edit(".g\u200cit/config"), "path_git_dir"},
		{"git folder, HFS+ mark", edit("\ufeff.git/config"), "path_git_dir"},
		{"git folder, quoted", "diff --git \"a/.g\\342\\200\\214it/x\" \"b/.g\\342\\200\\214it/x\"\nold mode 100644\nnew mode 100755\n", "path_git_dir"},
		{"link out", create("l", "120000", "../outside"), "symlink_escape"},
		{"link to root", create("l", "120000", "/etc"), "symlink_escape"},
		{"link climbs too far", create("a/b/l", "120000", "../../../x"), "symlink_escape"},
		{"link climbs behind a name", create("a/b/l", "120000", "other/../../x"), "symlink_escape"},
		{"link to git's folder", create("l", "120000", ".git/hooks"), "symlink_escape"},
		{"link changed to the outside", "diff --git a/l b/l\nindex 1..2 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+/etc\n\\ No newline at end of file\n", "symlink_escape"},
		{"link hidden in context", "diff --git a/l b/l\nindex 1..2 120000\n--- a/l\n+++ b/l\n@@ -1,2 +1,2 @@\n ../../x\n-a\n+b\n", "symlink_escape"},
		{"link with binary target", "diff --git a/l b/l\nnew file mode 120000\nindex 0..1\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\n", "symlink_escape"},
		{"file becomes a link", "diff --git a/l b/l\nold mode 100644\nnew mode 120000\n", "symlink_escape"},
		{"write through a link", create("l", "120000", "dir") + create("l/x", "100644", "text"), "write_through_symlink"},
		{"write through a link, other order", create("l/x", "100644", "text") + create("l", "120000", "dir"), "write_through_symlink"},
		{"write through a link, neighbours between", create("l", "120000", "d") + edit("l-a") + edit("l.b") + edit("l0") + edit("l/y/z"), "write_through_symlink"},
		{"write through a link by a rename", create("a/l", "120000", "d") + "diff --git a/x b/a/l/x\nrename from x\nrename to a/l/x\n", "write_through_symlink"},
		{"file becomes a submodule", "diff --git a/sub b/sub\nold mode 100644\nnew mode 160000\n", "mode_gitlink"},
		{"submodule", create("sub", "160000", "Subproject commit 1234"), "mode_gitlink"},
		{"setuid", create("x", "104755", "x"), "mode_setuid"},
		{"setgid by a change of mode", "diff --git a/x b/x\nold mode 100644\nnew mode 102755\n", "mode_setuid"},
		{"character device", create("x", "020666", "x"), "mode_special"},
		{"block device", create("x", "060666", "x"), "mode_special"},
		{"named pipe", create("x", "010644", "x"), "mode_special"},
		{"folder", create("x", "040000", "x"), "mode_special"},
		{"NUL", "diff --git \"a/x\\000\" \"b/x\\000\"\nold mode 100644\nnew mode 100755\n", "path_nul"},
		{"long part", edit(strings.Repeat("n", 256)), "path_too_long"},
		{"long path", edit(strings.Repeat("dir/", 1100) + "x"), "path_too_long"},
		{"empty name", plain("a/", "b/"), "path_empty"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := preprocess.Inspect([]byte(tc.patch), preprocess.Options{})
			if !r.Reject {
				t.Fatalf("not rejected: %v", r.Findings)
			}
			found := false
			for _, f := range r.Findings {
				found = found || f.Reject && f.Rule == tc.rule && f.Severity == preprocess.High
			}
			if !found || !strings.Contains(r.Reason, "the patch is rejected: ") {
				t.Errorf("reason %q, findings %v, want %s", r.Reason, r.Findings, tc.rule)
			}
		})
	}
}

func TestOddThingsAreNamedOnly(t *testing.T) {
	tests := []struct{ name, patch, rules string }{
		{"plain edit", edit("src/x.py"), ""},
		{"names that only look like git's", edit(".github2/x") + edit(".gitignore") + edit("git/x") + edit("a.git/x") + edit("GIT~x") + edit("x..y/...z"), ""},
		{"link inside", create("a/b/l", "120000", "../c/d"), "symlink"},
		{"link to the root of the tree", create("a/l", "120000", ".."), "symlink"},
		{"a folder gives way to a link", "diff --git a/d/x b/d/x\ndeleted file mode 100644\n--- a/d/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n" + create("d", "120000", "e"), "symlink"},
		{"a link goes", "diff --git a/l b/l\ndeleted file mode 120000\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-/etc\n", ""},
		{"binary", "diff --git a/i b/i\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\n", "binary"},
		{"binary mention", "diff --git a/i b/i\nBinary files a/i and b/i differ\n", "binary_without_data"},
		{"submodule moved on", "diff --git a/sub b/sub\nindex 1..2 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n", "mode_gitlink"},
		{"odd mode", create("x", "100600", "x"), "mode_odd"},
		{"case", edit("Src/x") + edit("src/y"), "path_case_collision"},
		{"case of a file", edit("d/README") + edit("d/readme"), "path_case_collision"},
		{"not UTF-8", edit("caf\xe9"), "path_not_utf8"},
		{"control", edit("x\x1b[2J"), "path_control"},
		{"line feed", "diff --git \"a/x\\ny\" \"b/x\\ny\"\nold mode 100644\nnew mode 100755\n", "path_control"},
		{"invisible", edit("a\u202eb"), "path_hidden"},
		{"device name", edit("aux.h") + edit("doc/COM1"), "path_ntfs"},
		{"stream", edit("x:y"), "path_ntfs"},
		{"backslash", edit(`a\b`), "path_backslash"},
		{"not clean", edit("./x") + edit("a//b"), "path_not_clean"},
		{"no prefix at all", plain("x", "x"), "path_without_prefix"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := preprocess.Inspect([]byte(tc.patch), preprocess.Options{})
			if r.Reject || strings.Join(rules(r.Findings), " ") != tc.rules {
				t.Errorf("reject %v, findings %v, want %q", r.Reject, r.Findings, tc.rules)
			}
		})
	}
}

func TestTamperFlags(t *testing.T) {
	test := edit("tests/test_x.py") + create("tests/data/new.json", "100644", "{}") + "diff --git a/tests/a.py b/tests/b.py\nrename from tests/a.py\nrename to tests/b.py\n"
	tests := map[string]string{
		edit("src/x.py"): "",
		edit("conftest.py") + edit("a/b/conftest.py"):   "conftest",
		edit("sitecustomize.py"):                        "sitecustomize",
		edit("lib/usercustomize.py"):                    "sitecustomize",
		create("evil.pth", "100644", "import os"):       "pth",
		edit("pytest.ini") + edit("tox.ini"):            "pytest_ini tox_ini",
		edit("setup.cfg") + edit("pyproject.toml"):      "pyproject setup_cfg",
		edit("package.json"):                            "package_json",
		edit("jest.config.mjs"):                         "js_test_config",
		edit("web/vitest.config.ts"):                    "js_test_config",
		edit(".mocharc.yml"):                            "js_test_config",
		edit("Makefile"):                                "makefile",
		edit(".github/workflows/ci.yml"):                "ci_config",
		create("bin/pytest", "100755", "#!/bin/sh"):     "path_shim",
		create("node_modules/.bin/jest", "100755", "x"): "path_shim",
		create("pytest.py", "100644", "x"):              "path_shim",
		create("pip.conf", "100644", "x"):               "package_index",
		edit(".gitattributes"):                          "git_config",
		edit("tests/test_x.py"):                         "test_file",
		edit("./tests/test_x.py"):                       "test_file",
		create("tests/data/new.json", "100644", "{}"):   "test_file",
		edit("tests/a.py") + edit("tests/b.py"):         "test_file",
		"diff --git a/tests/test_x.py b/gone.py\nrename from tests/test_x.py\nrename to gone.py\n": "test_file",
		"diff --git a/conftest.py b/conftest.py\ndeleted file mode 100644\n":                       "conftest",
		"--- a/tests/test_x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n":                                "test_file",
	}
	for patch, want := range tests {
		r := preprocess.Inspect([]byte(patch), preprocess.Options{TestPatch: []byte(test)})
		if got := strings.Join(r.Facts.TamperFlags, " "); got != want || r.Reject {
			t.Errorf("flags %q, want %q (reject %v) for\n%s", got, want, r.Reject, patch)
		}
	}
}

func TestInspectFacts(t *testing.T) {
	patch := edit("x") + edit("y") + plain("a/x", "b/x")
	r := preprocess.Inspect([]byte(patch), preprocess.Options{})
	f := r.Facts
	if f.SHA256 == "" || *f.Bytes != int64(len(patch)) || *f.FilesChanged != 2 || *f.LinesAdded != 3 || *f.LinesRemoved != 3 || f.TamperFlags != nil {
		t.Errorf("facts %+v", f)
	}
	// What can't be counted is not known, rather than nothing.
	r = preprocess.Inspect([]byte("*** a/x\n--- b/x\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n"), preprocess.Options{})
	if *r.Facts.FilesChanged != 1 || r.Facts.LinesAdded != nil || r.Facts.LinesRemoved != nil {
		t.Errorf("facts of a context diff %+v", r.Facts)
	}
	r = preprocess.Inspect([]byte(patch), preprocess.Options{MaxBytes: 10})
	if !r.Reject || !strings.Contains(r.Reason, "at most 10 are allowed") || r.Facts.FilesChanged != nil || *r.Facts.Bytes != int64(len(patch)) {
		t.Errorf("too large: %+v", r)
	}
	r = preprocess.Inspect(nil, preprocess.Options{})
	if r.Reject || len(r.Findings) != 0 || *r.Facts.FilesChanged != 0 || *r.Facts.Bytes != 0 {
		t.Errorf("empty: %+v", r)
	}
}

func TestEventsAreSafeToPrint(t *testing.T) {
	r := preprocess.Inspect([]byte(edit("../\x1b[2J\xff\u202e")+create("l", "120000", "/\x1b]0;x\a")), preprocess.Options{})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	events := r.Findings.Events(at)
	if len(events) != len(r.Findings) || len(events) == 0 {
		t.Fatalf("%d events of %d findings", len(events), len(r.Findings))
	}
	for _, e := range events {
		if e.Source != "preprocess" || e.Kind == "" || e.Severity == "" || !e.Time.Equal(at) {
			t.Errorf("event %+v", e)
		}
		for _, c := range e.Detail + r.Reason {
			if c < ' ' || c > '~' {
				t.Errorf("%q holds %q", e.Detail+r.Reason, c)
			}
		}
	}
}
