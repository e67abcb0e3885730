package preprocess_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"harness/internal/checkout"
	"harness/preprocess"
)

// instances calls f with the patches of every dataset row that is at hand.
func instances(t *testing.T, f func(file, id, which, patch string)) {
	t.Helper()
	files, err := filepath.Glob(checkout.SharedData(t, "instances", "*.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("the folder of real data has no dataset rows")
	}
	for _, name := range files {
		r, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReaderSize(z, 1<<20)
		for dec := json.NewDecoder(lines); dec.More(); {
			var row struct {
				ID        string `json:"instance_id"`
				Patch     string `json:"patch"`
				FixPatch  string `json:"fix_patch"`
				TestPatch string `json:"test_patch"`
			}
			if err := dec.Decode(&row); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			f(filepath.Base(name), row.ID, "gold", row.Patch+row.FixPatch)
			f(filepath.Base(name), row.ID, "test", row.TestPatch)
		}
		z.Close()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

var naiveHeader = regexp.MustCompile(`(?m)^diff --git a/.+ b/(.+)$`)

// damagedRow is published with line breaks and backslashes inside its gold patch; git refuses it too.
const damagedRow = "instance_protonmail__webclients-d494a66038112b239a381f49b3914caf8d2ef3b4"

func TestRealPatches(t *testing.T) {
	total, flags := 0, map[string]int{}
	seen := map[string]bool{} // many files share rows
	instances(t, func(file, id, which, patch string) {
		if patch == "" || seen[patch] {
			return
		}
		seen[patch] = true
		total++
		r := preprocess.Inspect([]byte(patch), preprocess.Options{})
		if r.Reject {
			t.Errorf("%s %s %s: %s", file, id, which, r.Reason)
		}
		d := parse(t, patch)
		if id == damagedRow && which == "gold" {
			if len(d.Problems) == 0 {
				t.Errorf("%s %s: the damage was not seen", file, id)
			}
			return
		}
		if len(d.Problems) > 0 {
			t.Errorf("%s %s %s: %v", file, id, which, d.Problems)
		}
		var got, want []string
		for _, f := range d.Files {
			got = append(got, f.Name())
		}
		for _, m := range naiveHeader.FindAllStringSubmatch(patch, -1) {
			want = append(want, m[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s %s %s: files\n%q\nwant\n%q", file, id, which, got, want)
		}
		for _, f := range r.Facts.TamperFlags {
			flags[which+" "+f]++
		}
	})
	t.Logf("%d patches, flags %v", total, flags)
}
