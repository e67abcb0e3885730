package containerd

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/mount"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"harness/eval"
	"harness/internal/proc"
	"harness/sandbox"
)

func TestEnvironment(t *testing.T) {
	img := ocispec.Image{Config: ocispec.ImageConfig{Env: []string{"PATH=/opt/bin", "A=image", "B=image", "broken", "NUL=a\x00b", "=x"}}}
	got := environment(img, []string{"B=spec", "C=", "HOME=/h"})
	want := []string{"PATH=/opt/bin", "HOSTNAME=sandbox", "HOME=/h", "A=image", "B=spec", "C="}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSpecSaysNothingOfTheHost: what the runtime is told holds no path of this
// machine, no label of the image, and every limit.
func TestSpecSaysNothingOfTheHost(t *testing.T) {
	l := eval.DefaultLimits()
	l.CPUs = 1.5
	s := sandbox.Spec{ID: "x", Limits: l}
	for _, hostKernel := range []bool{false, true} {
		r := &Runtime{handler: handler{hostKernel: hostKernel, ownPids: hostKernel}, parent: "/harness/ab", swapLimit: true}
		spec := r.ociSpec(s, []string{"A=b"}, "/w")
		if len(spec.Annotations) > 0 || spec.Hooks != nil {
			t.Error("annotations or hooks are set")
		}
		for _, m := range spec.Mounts {
			if strings.HasPrefix(m.Source, "/") || m.Type == "bind" || slices.Contains(m.Options, "bind") || slices.Contains(m.Options, "rbind") {
				t.Errorf("mount of the host: %+v", m)
			}
		}
		kinds := map[string]string{}
		for _, n := range spec.Linux.Namespaces {
			kinds[string(n.Type)] = n.Path
		}
		for _, k := range []string{"pid", "ipc", "uts", "mount", "network"} {
			if path, ok := kinds[k]; !ok || path != "" {
				t.Errorf("namespace %s: %v %q", k, ok, path)
			}
		}
		res := spec.Linux.Resources
		if *res.Memory.Limit != l.MemoryBytes || *res.Memory.Swap != l.MemoryBytes || *res.CPU.Quota != 150_000 || *res.CPU.Period != 100_000 {
			t.Errorf("resources %+v", res)
		}
		if wantPids := map[bool]int64{false: l.HostPids, true: l.Processes + 1}[hostKernel]; *res.Pids.Limit != wantPids {
			t.Errorf("pids %d, want %d", *res.Pids.Limit, wantPids)
		}
		if hostKernel != (spec.Linux.Seccomp != nil) || hostKernel != spec.Process.NoNewPrivileges {
			t.Error("a shared kernel needs seccomp and no new privileges, and only that")
		}
		if hostKernel && slices.Contains(spec.Process.Capabilities.Bounding, "CAP_MKNOD") {
			t.Error("device nodes on the host's kernel")
		}
		for _, c := range spec.Process.Capabilities.Bounding {
			if !slices.Contains(dockerCaps, c) {
				t.Errorf("capability %s is not among Docker's defaults", c)
			}
		}
		if b, err := json.Marshal(spec); err != nil || !strings.Contains(string(b), `"/harness/ab/x"`) {
			t.Errorf("cgroup path is missing: %v", err)
		}
	}
}

func TestWrapperScripts(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "it's a runtime")
	if err := os.WriteFile(target, []byte("#!/bin/sh\nprintf '[%s]' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w := &wrappers{dir: filepath.Join(dir, "bin")}
	a, err := w.script(target, []string{"--size=1", "a b'c", "$(x)"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), a, "create", "x y").Output()
	if err != nil || string(out) != "[--size=1][a b'c][$(x)][create][x y]" {
		t.Errorf("got %q, %v", out, err)
	}
	again, err := (&wrappers{dir: w.dir}).script(target, []string{"--size=1", "a b'c", "$(x)"})
	if err != nil || again != a {
		t.Errorf("same flags, other script: %q and %q, %v", a, again, err)
	}
	if other, err := w.script(target, []string{"--size=2"}); err != nil || other == a {
		t.Errorf("other flags, same script: %q, %v", other, err)
	}
	// A damaged script is written anew.
	if err := os.WriteFile(a, []byte("#!/bin/sh\nrm -rf /\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := (&wrappers{dir: w.dir}).script(target, []string{"--size=1", "a b'c", "$(x)"}); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(a); strings.Contains(string(b), "rm -rf") {
		t.Error("damaged script is kept")
	}
}

func TestFlagsBoundTheDisk(t *testing.T) {
	s := sandbox.Spec{Limits: eval.Limits{DiskBytes: 123}}
	if f := runscFlags(s); !slices.Contains(f, "--overlay2=root:self,size=123") || !slices.Contains(f, "--network=none") {
		t.Errorf("flags %q", f)
	}
	s.WritableSnapshot = true
	if f := runscFlags(s); !slices.Contains(f, "--overlay2=none") {
		t.Errorf("flags %q", f)
	}
}

func TestRecords(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	r := record{
		id: "a-b", owner: "tok", trial: "run/x/1/1", image: "sha256:00", handler: "runsc", worker: "w",
		created: now, expires: now.Add(time.Minute), process: proc.Self(),
	}
	if got := readRecord(r.labels()); got != r {
		t.Errorf("got %+v, want %+v", got, r)
	}
	if damaged := readRecord(map[string]string{labelPid: "x", labelExpires: "soon"}); !damaged.orphan() || !damaged.matches(sandbox.Match{Expired: true}, now) {
		t.Error("a record that can't be read must count as garbage")
	}
	elsewhere, rebooted := r, r
	boot, _, _ := strings.Cut(r.process.Boot, "/")
	elsewhere.process.Boot = boot + "/4026530000"
	rebooted.process.Boot = "other-boot/1"
	recycled := r
	recycled.process.Start++
	for name, c := range map[string]struct {
		r    record
		want bool
	}{
		"alive": {r, false}, "of another pid namespace": {elsewhere, false}, "before a reboot": {rebooted, true}, "recycled pid": {recycled, true},
	} {
		if got := c.r.orphan(); got != c.want {
			t.Errorf("%s: orphan %v", name, got)
		}
	}
	for name, c := range map[string]struct {
		m    sandbox.Match
		want bool
	}{
		"all": {sandbox.Match{}, true}, "id": {sandbox.Match{ID: "a-b"}, true}, "other id": {sandbox.Match{ID: "a"}, false},
		"trial and owner": {sandbox.Match{Trial: "run/x/1/1", Owner: "tok"}, true}, "one differs": {sandbox.Match{Trial: "run/x/1/1", Owner: "y"}, false},
		"not expired": {sandbox.Match{Expired: true}, false}, "no orphan": {sandbox.Match{Orphan: true}, false},
	} {
		if got := r.matches(c.m, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPlacerStaysInside: links of an image lead nowhere but into it, whatever
// they say, and are replaced rather than written through.
func TestPlacerStaysInside(t *testing.T) {
	base := t.TempDir()
	root, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
	for _, d := range []string{root, outside, filepath.Join(root, "real"), filepath.Join(root, "dir")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"absolute": outside, "dots": "../../../../../.." + outside, "inside": "/real", "self": "self", "dangling": "/nowhere", "victim": filepath.Join(outside, "target"),
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "target"), []byte("untouched"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(root, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	p := placer{root: fd}
	for path, wantErr := range map[string]bool{
		"/new/deep/file": false, "/inside/file": false, "/victim": false, "/fifo": false, "/real/suid": false,
		"/absolute/file": true, "/dots/file": true, "/self/file": true, "/dangling/file": true, "/dir": true,
	} {
		err := p.write(sandbox.File{Path: path, Mode: 0o4755, Data: []byte("data of " + path)})
		if (err != nil) != wantErr || (wantErr && !errors.Is(err, sandbox.ErrImageUnsupported)) {
			t.Errorf("%s: %v, want an error: %v", path, err, wantErr)
		}
	}
	for file, want := range map[string]string{"new/deep/file": "data of /new/deep/file", "real/file": "data of /inside/file", "victim": "data of /victim", "fifo": "data of /fifo"} {
		got, err := os.ReadFile(filepath.Join(root, file))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if st, err := os.Lstat(filepath.Join(root, "real/suid")); err != nil || st.Mode() != 0o755 {
		t.Errorf("mode %v, %v; want permission bits only", st.Mode(), err)
	}
	ents, err := os.ReadDir(outside)
	if err != nil || len(ents) != 1 {
		t.Errorf("outside holds %v, %v", ents, err)
	}
	if got, _ := os.ReadFile(filepath.Join(outside, "target")); string(got) != "untouched" {
		t.Errorf("target says %q", got)
	}
	if err := p.needShell(); !errors.Is(err, sandbox.ErrImageUnsupported) {
		t.Errorf("image without a shell: %v", err)
	}
}

func TestOverlayOn(t *testing.T) {
	for name, c := range map[string]struct {
		view  mount.Mount
		lower string
	}{
		"one layer": {mount.Mount{Type: "bind", Source: "/s/1/fs", Options: []string{"ro", "rbind"}}, "/s/1/fs"},
		"layers":    {mount.Mount{Type: "overlay", Options: []string{"index=off", "lowerdir=/s/2/fs:/s/1/fs"}}, "/s/2/fs:/s/1/fs"},
	} {
		got, err := overlayOn([]mount.Mount{c.view}, "/d")
		if err != nil || !slices.Contains(got[0].Options, "lowerdir="+c.lower) || upperDir(got) != "/d/upper" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := overlayOn([]mount.Mount{{Type: "ext4"}}, "/d"); err == nil {
		t.Error("a view without layers is accepted")
	}
}
