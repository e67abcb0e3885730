package vectors_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/vectors"
)

func TestRead(t *testing.T) {
	tests := []struct{ name, text, want string }{ // the error, or what the last verdict's log is
		{"markers", "-- why\nfix + a\nresults\nPASSED a\nwant resolved", "+ : '>>>>> Start Test Output'\nPASSED a\n+ : '>>>>> End Test Output'\n"},
		{"as it is", "# about\n\n-- why\nlog\n\n# kept\n-- kept\n\"a\\rb\\xff\"\nwant resolved", "\n# kept\n-- kept\na\rb\xff\n"},
		{"a word of no meaning", "-- why\nfits + a\n", `:2: "fits + a" is no line of a verdict`},
		{"a bad literal", "-- why\nlog\n\"a\nwant resolved", "is no string literal"},
		{"no beginning", "fix + a\n", "in front of the first verdict"},
		{"no end", "-- why\nlog\nPASSED a\n", "no line that begins with want"},
	}
	for _, tt := range tests {
		file := filepath.Join(t.TempDir(), "p.txt")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := vectors.Read(file)
		if err == nil && string(all[len(all)-1].Log) != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	all, err := vectors.Read(filepath.Join("..", "..", "scoring", "grade", "testdata", "vectors", "swebench-4.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if v.Task.InstanceID == "chartjs__Chart.js-1" {
			if v.Task.Repo != "chartjs/Chart.js" || v.Task.Version != "4.0" || v.Placed["+F2P"] != "scale draws\n" {
				t.Errorf("line %d: %+v", v.Line, v)
			}
			return
		}
	}
	t.Error("no verdict of chartjs/Chart.js")
}
