//go:build integration

package image_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	client "github.com/containerd/containerd/v2/client"

	"harness/eval"
	"harness/internal/testenv"
	"harness/sandbox"
	"harness/sandbox/containerd"
	"harness/sandbox/image"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

const recipe = `name: repo
from: base.yaml
files: [{from: src, to: /testbed}]
steps:
  - echo made >/testbed/made.txt; mkdir /testbed/__pycache__; date >/testbed/__pycache__/x.pyc
  - "! timeout 5 bash -c 'echo >/dev/tcp/1.1.1.1/53'" # no network
  - rm /testbed/__pycache__/x.pyc
commit: {dir: /testbed}
outputs: [/testbed]
workdir: /testbed
`

// A base from Debian, a repository on top of it in a gVisor sandbox: equal
// inputs give equal images, and what comes out is a repository with one commit.
func TestBuildInSandbox(t *testing.T) {
	stack := testenv.Containerd(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	rt, err := containerd.Open(ctx, containerd.Config{Socket: stack.Socket, ToolsDir: stack.ToolsDir, StateDir: stack.StateDir, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.CloseClient() })
	cl, err := client.New(stack.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cl.Close() })
	store := image.NewStore(cl)

	dir := write(t, map[string]string{
		"base.yaml": "name: base\ndebian: {suite: bookworm, packages: [git]}\n", "repo.yaml": recipe,
		"src/a.txt": "a\n", "src/sub/b.txt": "b\n", "src/.gitignore": "*.txt\n",
	})
	load := func(name string) *image.Recipe {
		r, err := image.LoadRecipe(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	b := &image.Builder{Runtime: rt, Store: store, CacheDir: filepath.Join(t.TempDir(), "one"), Log: log}
	if _, err := b.Build(ctx, load("base.yaml")); err != nil {
		t.Fatal(err)
	}
	twin := *b
	twin.CacheDir = filepath.Join(t.TempDir(), "two")
	if err := os.CopyFS(twin.CacheDir, os.DirFS(b.CacheDir)); err != nil {
		t.Fatal(err)
	}
	built, err := b.Build(ctx, load("repo.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // git and tar write whole seconds
	again, err := twin.Build(ctx, load("repo.yaml"))
	if err != nil || again.Cached || again.Digest != built.Digest {
		t.Errorf("second build = %+v, %v, want digest %s", again, err, built.Digest)
	}

	// Out of the store, and back from the cache without a build.
	if err := store.Remove(ctx, built.Ref, "harness.local/repo:latest"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Resolve(ctx, built.Ref); err == nil {
		t.Error("a removed image resolves")
	}
	if back, err := b.Build(ctx, load("repo.yaml")); err != nil || !back.Cached {
		t.Errorf("third build = %+v, %v", back, err)
	}
	if d, err := rt.Resolve(ctx, built.Ref); err != nil || d != built.Digest {
		t.Errorf("the runtime resolves %s to %s, %v, want %s", built.Ref, d, err, built.Digest)
	}
	list, err := store.List(ctx)
	if err != nil || !strings.Contains(strings.Join(refs(list), " "), built.Ref) {
		t.Errorf("List = %v, %v", list, err)
	}

	box, err := rt.Create(ctx, sandbox.Spec{ID: "image-test", ImageDigest: built.Digest, WorkDir: "/testbed", Limits: eval.DefaultLimits(), Network: eval.NetworkNone})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = box.Close(ctx) }()
	for script, want := range map[string]string{
		"git status --porcelain":                                          "",
		"git log --format='%an %s' --all":                                 "harness Base of the task\n",
		"git cat-file --batch-all-objects --batch-check | grep -c commit": "1\n",
		"git ls-files | sort | tr '\\n' ' '":                              ".gitignore a.txt made.txt sub/b.txt ",
		"echo x >a.txt; git checkout HEAD a.txt 2>&1; cat a.txt":          "Updated 1 path from " + "*\na\n",
		"git remote; git tag; git stash list; ls .git/logs 2>/dev/null":   "",
	} {
		var out bytes.Buffer
		exit, err := box.Exec(ctx, sandbox.Process{Args: []string{"bash", "-c", "git config --global --add safe.directory /testbed; " + script}, Stdout: &out, Stderr: &out})
		got := out.String()
		if head, end, ok := strings.Cut(want, "*"); ok {
			if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, end) {
				t.Errorf("%s: %q, want %q", script, got, want)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: %q (exit %d, %v), want %q", script, got, exit.Code, err, want)
		}
	}
}

func refs(list []image.Info) []string {
	var out []string
	for _, i := range list {
		out = append(out, i.Ref)
	}
	return out
}
