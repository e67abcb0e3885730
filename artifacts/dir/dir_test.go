package dir_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/artifacts"
	"harness/artifacts/dir"
	"harness/artifacts/storetest"
)

func open(t *testing.T) (*dir.Store, string) {
	t.Helper()
	root := t.TempDir()
	s, err := dir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, root
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) artifacts.Store {
		s, root := open(t)
		t.Cleanup(func() {
			left, err := os.ReadDir(filepath.Join(root, artifacts.ReservedDir))
			if err != nil || len(left) != 0 {
				t.Errorf("temporary files left: %v, %v", left, err)
			}
		})
		return s
	})
}

func TestNoWayOut(t *testing.T) {
	s, root := open(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"file": secret, "folder": outside, "up": "../", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"file", "folder/secret", "up/x", "loop"} {
		if _, _, err := s.Get(t.Context(), key); err == nil {
			t.Errorf("Get(%q) followed a link", key)
		}
	}
	for _, key := range []string{"folder/new", "up/new"} {
		if _, err := s.Put(t.Context(), key, strings.NewReader("x"), artifacts.PutOptions{}); err == nil {
			t.Errorf("Put(%q) followed a link", key)
		}
	}
	// Over the link itself: the link is replaced, its target is not touched.
	if _, err := s.Put(t.Context(), "file", strings.NewReader("mine"), artifacts.PutOptions{}); err != nil {
		t.Errorf("Put over a link: %v", err)
	}
	if err := s.Delete(t.Context(), "folder/secret"); err == nil {
		t.Error("Delete followed a link")
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
		t.Errorf("the file outside is now %q, %v", b, err)
	}
	for info, err := range s.List(t.Context(), "") {
		if err != nil || info.Key != "file" {
			t.Errorf("List: %+v, %v", info, err)
		}
	}
}

func TestNamedPipeDoesNotBlock(t *testing.T) {
	s, root := open(t)
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get(t.Context(), "pipe"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Get: %v", err)
	}
	for info, err := range s.List(t.Context(), "pipe/") {
		t.Errorf("listed below a pipe: %+v, %v", info, err)
	}
}

func TestStaleTemporaryFilesGo(t *testing.T) {
	root := t.TempDir()
	temp := filepath.Join(root, artifacts.ReservedDir)
	if err := os.MkdirAll(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"dead": 25 * time.Hour, "alive": time.Hour} {
		p := filepath.Join(temp, name)
		if err := os.WriteFile(p, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(p, then, then); err != nil {
			t.Fatal(err)
		}
	}
	s, err := dir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := os.Stat(filepath.Join(temp, "dead")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old file is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(temp, "alive")); err != nil {
		t.Errorf("a young file was removed: %v", err)
	}
	for info, err := range s.List(t.Context(), "") {
		t.Errorf("listed %+v, %v", info, err)
	}
}

func TestEmptyLeftOverFolderGivesWay(t *testing.T) {
	s, root := open(t)
	for _, opts := range []artifacts.PutOptions{{}, {CreateOnly: true}} {
		if err := os.Mkdir(filepath.Join(root, "k"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "k", strings.NewReader("x"), opts); err != nil {
			t.Errorf("Put: %v", err)
		}
		if err := s.Delete(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"", file, filepath.Join(file, "below")} {
		if s, err := dir.Open(folder); err == nil {
			s.Close()
			t.Errorf("Open(%q) succeeded", folder)
		}
	}
}

func TestURLIsTheFile(t *testing.T) {
	s, _ := open(t)
	if _, err := s.Put(t.Context(), "a/b", strings.NewReader("x"), artifacts.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(s.URL("a/b"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, _ := io.ReadAll(f); string(b) != "x" {
		t.Errorf("file holds %q", b)
	}
}
