package preprocess_test

import (
	"runtime"
	"testing"
	"unicode/utf8"

	"harness/preprocess"
)

func FuzzInspect(f *testing.F) {
	for _, s := range []string{
		edit("x"), create("l", "120000", "../x"), plain("/a", "../b"), "@@ -1,1 +1", "--- a\n+++ b\n@@ -", "diff --git \"", "diff --git a b\nindex ",
		"Index: x\n@@ -1 +1 @@\n-a\n+b\n", "*** a\n--- b\n***************\n", "diff --cc x\n@@@ -1", "diff --git a/i b/i\nGIT binary patch\nliteral 1\nA",
		"\xef\xbb\xbf--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b", "diff --git a/ b/\n", "diff --git  \n--- \n+++ \n@@ -0,0 +0,0 @@\n",
	} {
		f.Add([]byte(s), []byte(edit("x")))
	}
	f.Fuzz(func(t *testing.T, patch, test []byte) {
		r := preprocess.Inspect(patch, preprocess.Options{TestPatch: test})
		if r.Reject != (r.Reason != "") || r.Reject != r.Findings.Reject() {
			t.Errorf("reject %v, reason %q", r.Reject, r.Reason)
		}
		for _, fd := range r.Findings {
			if fd.Rule == "" || fd.Detail == "" || !utf8.ValidString(fd.String()) {
				t.Errorf("finding %+v", fd)
			}
		}
		added, removed := 0, 0
		for _, file := range r.Files {
			if file.Kind < preprocess.Modified || file.Kind > preprocess.Copied {
				t.Errorf("file %+v", file)
			}
			if file.Name() == "" && !r.Reject {
				t.Errorf("a change without a name passed: %+v", file)
			}
			added += file.Added
			removed += file.Removed
		}
		if added+removed > len(patch) {
			t.Errorf("%d lines in %d bytes", added+removed, len(patch))
		}
	})
}

// Times and memory stay in proportion to the patch, whatever it is made of.
func BenchmarkInspect(b *testing.B) {
	hunk := "@@ -1 +1 @@\n-a\n+b\n"
	long := make([]byte, 1000)
	for i := range long {
		long[i] = 'x'
	}
	for _, bc := range []struct {
		name, head, body string
		count            int
	}{
		{"100MB", "--- a/x\n+++ b/x\n@@ -0,0 +1,103000 @@\n", "+" + string(long) + "\n", 103_000},
		{"million hunks", "--- a/x\n+++ b/x\n", hunk, 1_000_000},
		{"hundred thousand files", "", "diff --git a/d/x b/d/x\nindex 1..2 100644\n--- a/d/x\n+++ b/d/x\n" + hunk, 100_000},
		{"near misses", "", "--- \n+++ \n", 1_000_000},
		{"bad hunks", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "@@ -1,9 +1,9 @@\n", 1_000_000},
		{"spaces in a header", "diff --git ", "a ", 4_000},
		{"endless header", "diff --git ", " b/", 10_000_000},
		{"deep names", "", "diff --git a/" + deep(2000) + " b/" + deep(2000) + "\nold mode 100644\n", 10_000},
	} {
		b.Run(bc.name, func(b *testing.B) {
			patch := append([]byte(bc.head), repeat(bc.body, bc.count)...)
			b.SetBytes(int64(len(patch)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				preprocess.Inspect(patch, preprocess.Options{})
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(len(patch)), "allocated/byte")
		})
	}
}

func repeat(s string, n int) []byte {
	out := make([]byte, 0, len(s)*n)
	for range n {
		out = append(out, s...)
	}
	return out
}

func deep(n int) string { return string(repeat("d/", n)) + "x" }
