package predictions_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"harness/datasets/predictions"
)

func put(tb testing.TB, path, data string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// folder makes a folder of files.
func folder(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, data := range files {
		put(tb, filepath.Join(dir, name), data)
	}
	return dir
}

// checkSplit runs the commands of the error and reads what they wrote.
func checkSplit(t *testing.T, path string, me *predictions.ModelsError, want map[string]string) {
	t.Helper()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed: the commands can't be tried")
	}
	for i, command := range me.Commands {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = filepath.Dir(path)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
		_, out, _ := strings.Cut(command, " > '")
		out = strings.ReplaceAll(strings.TrimSuffix(out, "'"), `'\''`, "'")
		f, err := predictions.Load(t.Context(), out, predictions.Options{})
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		if got := slices.Sorted(maps.Keys(f.ByID)); f.Model != me.Models[i] || len(got) != 1 || got[0] != want[f.Model] {
			t.Errorf("%s: %s has %v", command, f.Model, got)
		}
	}
}

func TestFolders(t *testing.T) {
	pred := func(id, patch string) string {
		return `{"instance_id": "` + id + `", "model_name_or_path": "m", "model_patch": "` + patch + `"}`
	}
	tests := []struct {
		name, format string
		files        map[string]string
		want         map[string]string // patches, or
		err          []string
	}{
		{name: "trajectories", files: map[string]string{
			"a-1/a-1.pred": pred("a-1", "p"), "b-1/b-1.pred": pred("b-1", ""), "a-1/a-1.traj": "{", "config.yaml": "",
			"a-1/a-1.patch": "the same as git has it", // SWE-agent writes it, too
		}, want: map[string]string{"a-1": "p", "b-1": ""}},
		{name: "flat", files: map[string]string{"a-1.pred": pred("a-1", "p")}, want: map[string]string{"a-1": "p"}},
		{name: "the id of the record counts", files: map[string]string{"x/y.PRED": pred("a-1", "p")}, want: map[string]string{"a-1": "p"}},
		{name: "patches", files: map[string]string{"a__a-1.patch": "diff\r\n\x00", "b-1.diff": "", "README.md": "x", ".patch": "", "sub/c-1.patch": "not here"},
			want: map[string]string{"a__a-1": "diff\r\n\x00", "b-1": ""}},
		{name: "too deep", files: map[string]string{"1/2/3/a-1.pred": pred("a-1", "p"), "1/2/3/4/b-1.pred": pred("b-1", "p")}, want: map[string]string{"a-1": "p"}},
		{name: "both", files: map[string]string{"a-1.pred": pred("a-1", "p"), "b-1.diff": "x"},
			err: []string{"1 .pred files and 1 .patch or .diff files", "--format swe-agent or --format patches"}},
		{name: "both, said", format: "patches", files: map[string]string{"a-1.pred": pred("a-1", "p"), "b-1.diff": "x"}, want: map[string]string{"b-1": "x"}},
		{name: "with all in a file", files: map[string]string{"a-1/a-1.pred": pred("a-1", "p"), "preds.json": "{}"},
			err: []string{"1 .pred files and preds.json (give it with -p '", "preds.json'", "--format swe-agent"}},
		{name: "with all in a file, said", format: "swe-agent", files: map[string]string{"a-1/a-1.pred": pred("a-1", "p"), "preds.json": "{}"}, want: map[string]string{"a-1": "p"}},
		{name: "mini-swe-agent's folder", files: map[string]string{"preds.json": "{}", "a-1/a-1.traj.json": "{}"}, err: []string{"give the file in it: -p '", "preds.json'"}},
		{name: "nothing", files: map[string]string{"a.txt": ""}, err: []string{"files that end in .pred, .patch or .diff"}},
		{name: "nothing of that", format: "swe-agent", files: map[string]string{"a.txt": ""}, err: []string{"files that end in .pred are looked for"}},
		{name: "not from folders", format: "openhands", files: map[string]string{"output.jsonl": ""}, err: []string{"openhands is not read from folders"}},
		{name: "only bad ones", files: map[string]string{"a-1.pred": "oops"}, err: []string{"all of its 1 records are malformed, the first one is a-1.pred: not valid JSON"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, tt.files)
			f, err := predictions.Load(t.Context(), dir, predictions.Options{Format: tt.format})
			if len(tt.err) > 0 {
				if err == nil {
					t.Fatalf("read as %s", f.Dialect)
				}
				for _, want := range tt.err {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %v, want %q", err, want)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for id, p := range f.ByID {
				got[id] = *p.Patch
			}
			if !maps.Equal(got, tt.want) || len(f.Malformed) > 0 {
				t.Errorf("got %q, %q", got, f.Malformed)
			}
		})
	}
}

func TestHostileFolder(t *testing.T) {
	secret := write(t, "secret.patch", "secret")
	dir := folder(t, map[string]string{
		"a-1.patch": "x", "b-1.patch": "bad \xff", "big-1.patch": strings.Repeat("x", 2000), "c 1.patch": "x", "-rf.diff": "x",
		"new\nline\x1b.patch": "x", "..x.patch": "x", "d-1.patch": "1", "d-1.diff": "2",
	})
	for name, target := range map[string]string{"out-1.patch": secret, "in-1.patch": "a-1.patch", "loop-1.patch": "loop-1.patch"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(secret), filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder-1.patch"), 0o755); err != nil {
		t.Fatal(err)
	}
	// Opening it as usual would wait for a writer for ever.
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe-1.patch"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := predictions.Load(t.Context(), dir, predictions.Options{MaxRecordBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(f.ByID)); !slices.Equal(got, []string{"a-1", "d-1"}) || *f.ByID["d-1"].Patch != "1" || !slices.Equal(f.Duplicate, []string{"d-1"}) {
		t.Errorf("read %v, duplicate %v", got, f.Duplicate)
	}
	want := []string{
		`-rf.diff: instance id "-rf" is refused`, `..x.patch: instance id "..x" is refused`, "b-1.patch: the patch has invalid UTF-8 (byte 0xff) at byte 4",
		"big-1.patch: the record is longer than 1000 bytes", `c 1.patch: instance id "c 1" is refused`, "in-1.patch: it is a symbolic link",
		"loop-1.patch: it is a symbolic link", `"new\nline\x1b.patch": instance id`, "out-1.patch: it is a symbolic link", "pipe-1.patch: it is a pipe, a regular file is expected",
	}
	if len(f.Malformed) != len(want) {
		t.Errorf("%q", f.Malformed)
	}
	for i := range min(len(want), len(f.Malformed)) {
		if !strings.HasPrefix(f.Malformed[i], want[i]) {
			t.Errorf("malformed %d is %q, want %q", i, f.Malformed[i], want[i])
		}
	}
	if _, err := predictions.Load(t.Context(), dir, predictions.Options{MaxBytes: 5}); err == nil || !strings.Contains(err.Error(), "more than 5 bytes") {
		t.Errorf("a folder over the limit: %v", err)
	}
}
