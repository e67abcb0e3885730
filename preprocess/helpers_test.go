package preprocess_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"harness/preprocess"
)

// edit is a git diff that changes one line of a file.
func edit(name string) string {
	return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nindex 1111111..2222222 100644\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1 @@\n-old\n+new\n", name)
}

// create is a git diff that makes a file, or a link, of one line.
func create(name, mode, line string) string {
	return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nnew file mode %[2]s\nindex 0000000..2222222\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+%[3]s\n\\ No newline at end of file\n", name, mode, line)
}

func rules(fs preprocess.Findings) []string {
	var out []string
	for _, f := range fs {
		if !slices.Contains(out, f.Rule) {
			out = append(out, f.Rule)
		}
	}
	slices.Sort(out)
	return out
}

func parse(t *testing.T, patch string) *preprocess.Diff {
	t.Helper()
	d, err := preprocess.Parse([]byte(patch))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return d
}

// describe tells a diff in one line a file.
func describe(d *preprocess.Diff) string {
	var b strings.Builder
	for _, f := range d.Files {
		fmt.Fprintf(&b, "%s %q %q +%d -%d hunks=%d", f.Kind, f.OldName, f.NewName, f.Added, f.Removed, len(f.Hunks))
		if f.OldMode != 0 || f.NewMode != 0 {
			fmt.Fprintf(&b, " %o %o", f.OldMode, f.NewMode)
		}
		if f.Binary {
			fmt.Fprintf(&b, " binary=%v", f.BinaryData)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
