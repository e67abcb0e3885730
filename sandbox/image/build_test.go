package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/sandbox"
	"harness/sandbox/fake"
)

// anyImage makes the fake runtime take every image for one it knows.
type anyImage struct{ *fake.Runtime }

func (r anyImage) Create(ctx context.Context, s sandbox.Spec) (sandbox.Sandbox, error) {
	s.ImageDigest = r.AddImage("base", nil)
	return r.Runtime.Create(ctx, s)
}

type bench struct {
	*Builder
	rt     *fake.Runtime
	dir    string
	output func() []byte // what tar says
	ran    []string
	fail   func(script string) *fake.Result
}

// newBench has a cache that holds a base already.
func newBench(t *testing.T, child string) *bench {
	t.Helper()
	b := &bench{rt: &fake.Runtime{}, dir: t.TempDir()}
	b.output = func() []byte { return tarOf(t, dir("testbed"), file("testbed/a", "1")) }
	b.rt.OnExec = func(_ context.Context, _ *fake.Sandbox, p sandbox.Process) fake.Result {
		if p.Stdin != nil {
			_, _ = io.Copy(io.Discard, p.Stdin)
		}
		if p.Args[0] == "tar" && p.Args[1] == "-c" {
			return fake.Result{Stdout: string(b.output())}
		}
		script := strings.Join(p.Args, " ")
		b.ran = append(b.ran, script)
		if b.fail != nil {
			if r := b.fail(script); r != nil {
				return *r
			}
		}
		return fake.Result{}
	}
	for name, text := range map[string]string{
		"base.yaml": "name: base\ndebian: {suite: bookworm}\nenv: {A: base, B: base}\n", "child.yaml": child, "src/f": "x",
		"lock.json": `{"schema":1,"files":[{"project":"a-b","name":"a_b-1.0-py3-none-any.whl","sha256":"` + sumOf(wheelText) + `","size":16}]}`,
	} {
		p := filepath.Join(b.dir, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(text), 0o644))
	}
	b.Builder = &Builder{Runtime: anyImage{b.rt}, CacheDir: filepath.Join(b.dir, "cache")}
	lay, err := openLayout(b.CacheDir)
	must(t, err)
	layer, diff, err := lay.putLayer(func(w io.Writer) error { _, err := w.Write(tarOf(t, dir("bin"))); return err })
	must(t, err)
	m, err := lay.addImage(nil, layer, diff, []string{"A=base"}, "/", "test")
	must(t, err)
	base, err := LoadRecipe(filepath.Join(b.dir, "base.yaml"))
	must(t, err)
	address, err := base.Digest()
	must(t, err)
	must(t, lay.name(context.Background(), m, address, base.ref(address)))
	return b
}

func (b *bench) recipe(t *testing.T) *Recipe {
	t.Helper()
	r, err := LoadRecipe(filepath.Join(b.dir, "child.yaml"))
	must(t, err)
	return r
}

const childRecipe = `name: child
from: base.yaml
fetch: lock.json
files: [{from: src, to: /testbed}]
steps: ["echo one", "echo two"]
commit: {dir: /testbed}
outputs: [/testbed]
env: {B: child}
workdir: /testbed
`

type fixedFile struct{ path string }

func (f fixedFile) Fetch(context.Context, LockedFile) (string, error) { return f.path, nil }

func TestBuild(t *testing.T) {
	b := newBench(t, childRecipe)
	wheel := filepath.Join(b.dir, "wheel")
	must(t, os.WriteFile(wheel, []byte(wheelText), 0o644))
	b.Fetcher = fixedFile{wheel}

	built, err := b.Build(context.Background(), b.recipe(t))
	if err != nil {
		t.Fatal(err)
	}
	if built.Cached || !strings.HasPrefix(built.Ref, "harness.local/child:") {
		t.Errorf("built = %+v", built)
	}
	spec := b.rt.Created()[0]
	if spec.Network != "none" || !slices.Contains(spec.Env, "B=child") || !slices.Contains(spec.Env, "PIP_NO_INDEX=1") {
		t.Errorf("spec = %+v", spec)
	}
	if len(b.rt.Living()) != 0 {
		t.Error("the build's sandbox is still there")
	}
	want := []string{"tar -x -p --no-same-owner -C / -f -", "bash -euo pipefail -c echo one bash", "bash -euo pipefail -c echo two bash"}
	if len(b.ran) != 4 || !slices.Equal(b.ran[:3], want) || !strings.Contains(b.ran[3], "git commit") {
		t.Errorf("ran %q", b.ran)
	}

	found, err := verifyPath(b.CacheDir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(found, func(v verified) bool { return v.target.Digest.String() == built.Digest })
	if i < 0 || len(found[i].manifest.Layers) != 2 || !slices.Contains(found[i].names, "harness.local/child:latest") {
		t.Fatalf("found %+v", found)
	}
	if cfg := string(found[i].config); !strings.Contains(cfg, `"B=child"`) || !strings.Contains(cfg, `"A=base"`) || !strings.Contains(cfg, `"WorkingDir":"/testbed"`) {
		t.Errorf("config = %s", cfg)
	}

	// Again: nothing runs, nothing changes. In a new cache: the same digest.
	b.ran = nil
	again, err := b.Build(context.Background(), b.recipe(t))
	if err != nil || !again.Cached || again.Digest != built.Digest || b.ran != nil {
		t.Errorf("second build = %+v, %v, ran %q", again, err, b.ran)
	}
	other := newBench(t, childRecipe)
	other.Fetcher = b.Fetcher
	if twin, err := other.Build(context.Background(), other.recipe(t)); err != nil || twin.Digest != built.Digest {
		t.Errorf("build elsewhere = %+v, %v, want digest %s", twin, err, built.Digest)
	}
}

// Whatever goes wrong: a clear error, no name, no sandbox, no file left.
func TestBuildFails(t *testing.T) {
	plain := strings.Replace(childRecipe, "fetch: lock.json\n", "", 1)
	on := func(word string, r fake.Result) func(*bench) {
		return func(b *bench) {
			b.fail = func(script string) *fake.Result {
				if strings.Contains(script, word) {
					return &r
				}
				return nil
			}
		}
	}
	for name, tc := range map[string]struct {
		recipe string
		spoil  func(*bench)
		want   string
	}{
		"step fails":    {plain, on("two", fake.Result{Code: 3, Stderr: "no such \x1b[31mthing"}), "step 2 of 2 failed with exit code 3: no such \uFFFD[31mthing"},
		"out of memory": {plain, on("two", fake.Result{Died: true, OOM: true}), "raise limits.memory_mib"},
		"disk full":     {plain, on("two", fake.Result{Code: 1, DiskFull: true}), "raise limits.disk_mib"},
		"too slow":      {plain + "limits: {timeout_seconds: 1}\n", on("two", fake.Result{Hang: true}), "longer than 1 seconds"},
		"no fetcher":    {childRecipe, func(*bench) {}, "no fetcher"},
		"no runtime":    {plain, func(b *bench) { b.Runtime = nil }, "no runtime"},
		"hostile output": {plain, func(b *bench) {
			b.output = func() []byte { return tarOf2(link(tar.TypeSymlink, "testbed", "/etc"), file("testbed/passwd", "x")) }
		}, "not a folder"},
		"output is no tar": {plain, func(b *bench) { b.output = func() []byte { return bytes.Repeat([]byte("x"), 4096) } }, "read tar stream"},
		"create fails": {plain, func(b *bench) {
			b.rt.OnCreate = func(context.Context, sandbox.Spec) error { return sandbox.ErrCreate }
		}, "could not be created"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.recipe)
			tc.spoil(b)
			_, err := b.Build(context.Background(), b.recipe(t))
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "build image child") {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
			if len(b.rt.Living()) != 0 {
				t.Error("the build's sandbox is still there")
			}
			index, err := os.ReadFile(filepath.Join(b.CacheDir, "index.json"))
			if err != nil || strings.Contains(string(index), "child") {
				t.Errorf("index = %s, %v", index, err)
			}
			for _, pattern := range []string{".spool-*", ".tmp-*", "blobs/sha256/.tmp-*"} {
				if left, _ := filepath.Glob(filepath.Join(b.CacheDir, pattern)); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			}
		})
	}
}

func TestBuildWaitsForItsTwin(t *testing.T) {
	b := newBench(t, strings.Replace(childRecipe, "fetch: lock.json\n", "", 1))
	r := b.recipe(t)
	address, err := r.Digest()
	must(t, err)
	lay, err := openLayout(b.CacheDir)
	must(t, err)
	unlock, err := lay.lock(context.Background(), address)
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Build(ctx, r); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "another build") {
		t.Errorf("error = %v", err)
	}
	unlock()
	if _, err := b.Build(context.Background(), r); err != nil {
		t.Error(err)
	}
}

func TestBuildAllGoesOn(t *testing.T) {
	b := newBench(t, strings.Replace(childRecipe, "fetch: lock.json\n", "", 1))
	for name, text := range map[string]string{
		"bad.yaml":      "name: bad\nfrom: base.yaml\nsteps: [boom]\noutputs: [/testbed]\n",
		"onbad.yaml":    "name: onbad\nfrom: bad.yaml\noutputs: [/testbed]\n",
		"another.yaml":  "name: another\nfrom: base.yaml\noutputs: [/testbed]\n",
		"lock2.txt":     "",
		"src/skip.yaml": "a: b\n",
	} {
		must(t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644))
	}
	b.fail = func(script string) *fake.Result {
		if strings.Contains(script, "boom") {
			return &fake.Result{Code: 1}
		}
		return nil
	}
	rs, err := FindRecipes(b.dir)
	must(t, err)
	var done []string
	built, err := b.BuildAll(context.Background(), rs, func(p Progress) {
		if p.Done && p.Err == nil {
			done = append(done, p.Recipe.Name)
		}
	})
	if len(built) != 3 || !slices.Equal(done, []string{"base", "another", "child"}) {
		t.Errorf("built %v", done)
	}
	for _, want := range []string{"step 1 of 1 failed", "build image onbad: bad, which it is built from, could not be built"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}

func tarOf2(entries ...entry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if e.h.Typeflag == 0 {
			e.h.Typeflag, e.h.Size = tar.TypeReg, int64(len(e.body))
		}
		if w.WriteHeader(&e.h) == nil {
			_, _ = io.WriteString(w, e.body)
		}
	}
	_ = w.Close()
	return b.Bytes()
}
