package predictions_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/datasets/predictions"
)

// A pipe has no end of its own, and is read twice: for the dialect, for the records.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	for _, name := range []string{"p.jsonl", "p.json", "a-1.pred", "p.jsonl.gz", "p.jsonl.zst"} {
		path := filepath.Join(t.TempDir(), name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := predictions.Load(t.Context(), path, predictions.Options{}); err == nil || !strings.Contains(err.Error(), "it is a pipe, a regular file is expected") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Names that differ only in what a file name can't have need different files;
// looking for free ones must not take the square of their number.
func TestManyModels(t *testing.T) {
	var b strings.Builder
	const models = 5000
	for i := range models {
		fmt.Fprintf(&b, `{"instance_id": "a-1", "model_name_or_path": "%c%c", "model_patch": ""}`+"\n", 0x4e00+i%1000, 0x4e00+i/1000)
	}
	_, err := predictions.Load(t.Context(), write(t, "p.jsonl", b.String()), predictions.Options{})
	var me *predictions.ModelsError
	if !errors.As(err, &me) || len(me.Models) != models {
		t.Fatal(err)
	}
	if text := err.Error(); !strings.Contains(text, "of 5000 models") || !strings.Contains(text, "and so on for 4995 more") || len(text) > 2000 {
		t.Errorf("%.3000s", text)
	}
	seen := map[string]bool{}
	for _, c := range me.Commands {
		_, out, _ := strings.Cut(c, " > ")
		if seen[out] {
			t.Fatalf("two parts are written to %s", out)
		}
		seen[out] = true
	}
}

// All ids go into the run's spec, and all patches are held at once.
func TestWhatIsKeptIsBounded(t *testing.T) {
	var ids, long strings.Builder
	for i := range 100_001 {
		fmt.Fprintf(&ids, `{"instance_id": "a-%d"}`+"\n", i)
	}
	for i := range 30_000 {
		fmt.Fprintf(&long, `{"instance_id": "a-%0190d"}`+"\n", i)
	}
	patch := strings.Repeat("p", 1000)
	patches := fmt.Sprintf(`{"instance_id": "a-1", "model_patch": %q}`+"\n"+`{"instance_id": "b-1", "model_patch": %q}`+"\n", patch, patch)
	for _, tt := range []struct {
		name, data, want string
		opts             predictions.Options
	}{
		{"ids", ids.String(), "p.jsonl:100001: with it the file has predictions for more than 100000 ids", predictions.Options{}},
		{"long ids", long.String(), "with it the ids of the file hold more than 4194304 bytes", predictions.Options{}},
		{"patches", patches, "p.jsonl:2: with it the patches of the file hold more than 1999 bytes", predictions.Options{MaxPatchBytes: 1999}},
		{"as many as allowed", patches, "", predictions.Options{MaxPatchBytes: 2000}},
		{"the last of an id counts", strings.Repeat(patches, 3), "", predictions.Options{MaxPatchBytes: 2000}},
	} {
		_, err := predictions.Load(t.Context(), write(t, "p.jsonl", tt.data), tt.opts)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A key with a dot in it is not the way into an object.
func TestDottedKeys(t *testing.T) {
	f, err := predictions.Load(t.Context(), write(t, "p.jsonl",
		`{"instance_id": "a-1", "test_result": {}, "test_result.git_patch": "other", "metadata.llm.model": "other"}`+"\n"+
			`{"instance_id": "b-1", "test_result": {"git_patch": "p"}, "test_result.git_patch": "other", "metadata": {"llm.model": "other"}}`), predictions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p := f.ByID["a-1"].Patch; p != nil || f.Model != predictions.NoModel || len(f.Malformed) > 0 {
		t.Errorf("%+v", f)
	}
	if p := f.ByID["b-1"].Patch; p == nil || *p != "p" {
		t.Errorf("%+v", f.ByID["b-1"])
	}
}

func TestPredWithByteOrderMark(t *testing.T) {
	f, err := predictions.Load(t.Context(), write(t, "a-1.pred", "\xef\xbb\xbf"+recA), predictions.Options{})
	if err != nil || len(f.ByID) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

// Files that a folder has, but not where they are looked for, are named.
func TestFoldersWithoutPredictionsSayWhy(t *testing.T) {
	for _, tt := range []struct {
		name, format string
		files        map[string]string
		want         string
	}{
		{"patches in folders", "", map[string]string{"a/b-1.patch": "p", "a/c-1.patch": "p"}, "a/b-1.patch is in a folder inside it, where patches are not looked for; give -p '%s/a'"},
		{"patches in folders, asked for", "patches", map[string]string{"a/b-1.patch": "p"}, "a/b-1.patch is in a folder inside it"},
		{"no .pred", "swe-agent", map[string]string{"a.txt": ""}, "the folder has no predictions: files that end in .pred are looked for"},
		{"no patches", "patches", map[string]string{"a.txt": ""}, "the folder has no predictions: files that end in .patch or .diff are looked for"},
	} {
		dir := folder(t, tt.files)
		if strings.Contains(tt.want, "%s") {
			tt.want = fmt.Sprintf(tt.want, dir)
		}
		if _, err := predictions.Load(t.Context(), dir, predictions.Options{Format: tt.format}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v\nwant %q", tt.name, err, tt.want)
		}
	}
}

// What a folder's split command reads is what was counted: no folders, links or
// files further down, and any case of the ending.
func TestSplitCommandOfUnusualFolder(t *testing.T) {
	dir := folder(t, map[string]string{
		"a-1.PRED":            `{"instance_id": "a-1", "model_name_or_path": "m1", "model_patch": ""}`,
		"x/b-1.pred":          `{"instance_id": "b-1", "model_patch": ""}`,
		"1/2/3/4/c-1.pred":    `{"instance_id": "c-1", "model_patch": ""}`,
		"folder.pred/keep.md": "",
	})
	if err := os.Symlink("x/b-1.pred", filepath.Join(dir, "d-1.pred")); err != nil {
		t.Fatal(err)
	}
	_, err := predictions.Load(t.Context(), dir, predictions.Options{})
	var me *predictions.ModelsError
	if !errors.As(err, &me) {
		t.Fatal(err)
	}
	checkSplit(t, dir, me, map[string]string{"None": "b-1", "m1": "a-1"})
}
