package tree_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"harness/datasets/internal/tree"
)

// folder makes a folder with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir string, limit int64) *tree.Folder {
	t.Helper()
	f, err := tree.Open(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestTextIsNotAltered(t *testing.T) {
	const text = "a\r\nb\rc\n\ufeff"
	f := open(t, folder(t, map[string]string{"x": text}), 1000)
	got, err := f.Text("x", 100)
	if got != text || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNothingOutsideIsRead(t *testing.T) {
	secret := filepath.Join(folder(t, map[string]string{"secret": "s", "dir/x": "s"}), "")
	dir := folder(t, map[string]string{"ok": "fine", "sub/y": "y"})
	for name, target := range map[string]string{
		"absolute": filepath.Join(secret, "secret"), "up": "../../../../etc/passwd", "proc": "/proc/self/environ",
		"inside": "ok", "loop": "loop", "gone": "nothing", "folder": "sub", "outfolder": filepath.Join(secret, "dir"),
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := open(t, dir, 1000)
	for name, want := range map[string]string{
		"absolute": "leads out of the folder", "up": "leads out of the folder", "proc": "leads out of the folder",
		"../" + filepath.Base(dir) + "/ok": "leads out of the folder", "loop": "too many levels", "gone": "there is no such file",
		"pipe": "it is a pipe", "sub": "it is a folder", "folder": "it is a folder", "absent": "there is no such file",
	} {
		data, err := f.Read(name, 100)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Join(dir, name)) || data != nil {
			t.Errorf("%s: %q, %v; want the path and %q", name, data, err, want)
		}
	}
	if _, err := f.Read("absent", 100); !errors.Is(err, fs.ErrNotExist) || !errors.As(err, new(*tree.Problem)) {
		t.Errorf("a missing file: %v", err)
	}
	if got, err := f.Text("inside", 100); got != "fine" || err != nil {
		t.Errorf("a link that stays inside: %q, %v", got, err)
	}
	if _, err := f.Sub("outfolder", 100); err == nil {
		t.Error("a folder outside was opened through a link")
	}
	if names, err := f.Folders("."); err != nil || strings.Join(names, " ") != "folder sub" {
		t.Errorf("folders: %v, %v", names, err)
	}
}

func TestFiles(t *testing.T) {
	dir := folder(t, map[string]string{"tests/b.sh": "b", "tests/a/c.py": "c", "other": "o"})
	if err := errors.Join(os.Chmod(filepath.Join(dir, "tests/b.sh"), 0o700), os.Symlink("../other", filepath.Join(dir, "tests/z")), os.Chmod(filepath.Join(dir, "tests/a/c.py"), 0o606)); err != nil {
		t.Fatal(err)
	}
	f := open(t, dir, 1000)
	files, err := f.Files("tests", "/tests")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, x := range files {
		got.WriteString(x.Path + " " + fs.FileMode(x.Mode).String() + " " + string(x.Data) + "\n")
	}
	if want := "/tests/a/c.py -rw-r--r-- c\n/tests/b.sh -rwxr-xr-x b\n/tests/z -rw-r--r-- o\n"; got.String() != want {
		t.Errorf("got\n%swant\n%s", &got, want)
	}

	for name, make := range map[string]func(dir string) error{
		"it is a pipe":                  func(d string) error { return syscall.Mkfifo(d+"/p", 0o600) },
		"leads out of the folder":       func(d string) error { return os.Symlink("/etc/passwd", d+"/l") },
		"it is a link to a folder":      func(d string) error { return os.Symlink(".", d+"/l") },
		"unprintable characters":        func(d string) error { return os.WriteFile(d+"/a\nb", nil, 0o600) },
		`unprintable characters: "\xff`: func(d string) error { return os.WriteFile(d+"/\xff", nil, 0o600) },
		"nested more than 40 deep":      func(d string) error { return os.MkdirAll(d+strings.Repeat("/d", 50), 0o700) },
		"hold more than 1000 bytes":     func(d string) error { return os.WriteFile(d+"/big", make([]byte, 1001), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"tests/a": "a"})
			if err := make(filepath.Join(dir, "tests")); err != nil {
				t.Fatal(err)
			}
			_, err := open(t, dir, 1000).Files("tests", "/tests")
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestTooManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range tree.MaxFiles {
		if err := os.Symlink("nothing", filepath.Join(dir, strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	fails := func(want string) {
		t.Helper()
		if _, err := open(t, dir, 1000).Files(".", "/tests"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	fails("there is no such file") // as many as there may be: the first is looked at
	if err := os.Symlink("nothing", filepath.Join(dir, "one more")); err != nil {
		t.Fatal(err)
	}
	fails("more than 1000 entries")
}

// The budget of a task ends at its own files, that of the folder at all of them.
func TestBudgets(t *testing.T) {
	dir := folder(t, map[string]string{"a/x": "12345", "b/x": "12345", "c/x": "12345"})
	f := open(t, dir, 14)
	for i, name := range []string{"a", "b", "c"} {
		sub, err := f.Sub(name, 6)
		if err != nil {
			t.Fatal(err)
		}
		_, first := sub.Read("x", 100)
		_, second := sub.Read("x", 100)
		if i < 2 && (first != nil || second == nil || !strings.Contains(second.Error(), "the files of the task hold more than 6 bytes")) {
			t.Errorf("%s: %v, %v", name, first, second)
		}
		if i == 2 && (first == nil || !strings.Contains(first.Error(), "the files of the folder hold more than 14 bytes")) {
			t.Errorf("%s: %v", name, first)
		}
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSettings(t *testing.T) {
	type settings struct {
		N   int64             `yaml:"n" toml:"n"`
		S   string            `yaml:"s" toml:"s"`
		Env map[string]string `yaml:"env" toml:"env"`
	}
	for _, tt := range []struct{ name, text, want string }{
		{"ok.yaml", "s: 3.10\nn: 4\nother: 1\n", ""},
		{"type.yaml", "s: a\n\nn: [1]\n", "type.yaml:3: it can't be read as YAML: a value of type seq is where another one is expected"},
		{"syntax.yaml", "s: a\nn: [1\n", "syntax.yaml:"},
		{"twice.yaml", "n: 1\nn: 2\n", `twice.yaml:2: it can't be read as YAML: mapping key "n" already defined`},
		{"list.yaml", "- a\n", "list.yaml:1: "},
		{"bytes.yaml", "s: a\nn: \xff\n", "bytes.yaml:2: it is not UTF-8"},
		{"deep.yaml", "s: " + strings.Repeat("[", 1<<19), "exceeded max depth"},
		{"keys.yaml", strings.Repeat("k: 1\n", 10_001), "has 10001 of the characters :,?, at most 10000"},
		{"flow.yaml", "s: {" + strings.Repeat("k, ", 10_001) + "}", "at most 10000 are allowed"},
		{"dashes.yaml", strings.Repeat("- ", 1<<18), "exceeded max depth"},
		{"large.yaml", strings.Repeat("#", 1<<20+1), "more than 1048576 bytes"},
		{"ok.toml", "n = 4\ns = 'x'\n", ""},
		{"type.toml", "s = 'a'\n\nn = 'x'\n", "type.toml:3: field n: it is a TOML string, another type is expected"},
		{"syntax.toml", "s = 'a'\nn = x\n", "syntax.toml:2: it can't be read as TOML"},
		{"twice.toml", "n = 1\nn = 2\n", "twice.toml:2: "},
		{"keys.toml", strings.Repeat("[t]\nk=1\n", 1001), "has 2002 of the characters =[, at most 2000"},
		{"deep.toml", "s = " + strings.Repeat("[", 1<<19), "at most 2000 are allowed"},
		{"inline.toml", "s = " + strings.Repeat("{a=", 1<<18), "at most 2000 are allowed"},
		{"bytes.toml", "s = 'a'\nn = '\xff'\n", "bytes.toml:2: it is not UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, folder(t, map[string]string{tt.name: tt.text}), 4<<20)
			var s settings
			var err error
			if strings.HasSuffix(tt.name, ".yaml") {
				err = f.YAML(tt.name, &s)
			} else {
				_, err = f.TOML(tt.name, &s)
			}
			if tt.want == "" {
				if err != nil || s.N != 4 {
					t.Errorf("%+v, %v", s, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
	}
	f := open(t, folder(t, map[string]string{"a.toml": "n = 1\nm = 2\n[env]\nA = 'b'\n[more]\nx = 1\n"}), 1000)
	var s settings
	unknown, err := f.TOML("a.toml", &s)
	if err != nil || len(unknown) != 2 || unknown[0].Line != 2 || unknown[0].Field != "m" || !unknown[0].Warning || s.Env["A"] != "b" {
		t.Errorf("%v, %v, %+v", unknown, err, s)
	}
}
