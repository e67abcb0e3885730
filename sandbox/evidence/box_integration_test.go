//go:build integration

package evidence_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"harness/internal/testenv"
	"harness/sandbox/evidence"
)

// box is a bundle whose root holds nothing but testdata/inside.
type box struct {
	runsc  string
	bundle string
	n      int
}

func newBox(t testing.TB) *box {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: runsc makes namespaces")
	}
	b := &box{runsc: filepath.Join(testenv.ToolsDir(), "bin", "runsc"), bundle: t.TempDir()}
	if _, err := os.Stat(b.runsc); err != nil {
		t.Fatalf("%v; run deploy/setup.sh", err)
	}
	root := filepath.Join(b.bundle, "rootfs")
	for _, dir := range []string{"etc", "tmp", "work", "mnt", "proc"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"etc/file", "etc/shadow"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", filepath.Join(root, "inside"), "./testdata/inside")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build testdata/inside: %v\n%s", err, out)
	}
	return b
}

// run runs inside with args to its end; config is a --pod-init-config or "".
func (b *box) run(t testing.TB, config string, args ...string) (stdout, stderr string) {
	t.Helper()
	return b.command(t, config, "run", "--bundle", b.bundle, b.prepare(t, args...))
}

// prepare writes the bundle's configuration and returns an id for the sandbox.
func (b *box) prepare(t testing.TB, args ...string) string {
	t.Helper()
	spec := specs.Spec{
		Version: specs.Version,
		Process: &specs.Process{Cwd: "/work", Args: append([]string{"/inside"}, args...), Env: []string{"PATH=/"}},
		Root:    &specs.Root{Path: "rootfs"},
		Mounts:  []specs.Mount{{Destination: "/proc", Type: "proc", Source: "proc"}},
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{
			{Type: specs.PIDNamespace}, {Type: specs.MountNamespace}, {Type: specs.NetworkNamespace},
		}},
	}
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.bundle, "config.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	b.n++
	return fmt.Sprintf("evidence-%d-%d", os.Getpid(), b.n)
}

// command runs runsc.
func (b *box) command(t testing.TB, config string, args ...string) (stdout, stderr string) {
	t.Helper()
	flags := []string{
		"--root=" + filepath.Join(b.bundle, "state"), "--platform=systrap", "--network=none", "--ignore-cgroups",
		"--overlay2=root:memory",
	}
	if config != "" {
		flags = append(flags, "--pod-init-config="+config)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.runsc, append(flags, args...)...)
	dir := t.TempDir() // files, since a sandbox in the background keeps what it was given
	out, errs := create(t, filepath.Join(dir, "out")), create(t, filepath.Join(dir, "err"))
	cmd.Stdout, cmd.Stderr = out, errs
	err := cmd.Run()
	stdout, stderr = content(t, out), content(t, errs)
	if err != nil {
		t.Fatalf("runsc %v: %v\n%s", args, err, stderr)
	}
	return stdout, stderr
}

func create(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func content(t testing.TB, f *os.File) string {
	t.Helper()
	_ = f.Close()
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// trace is a sink and the configuration that names it.
type trace struct {
	sink   *evidence.Sink
	config string
	file   bytes.Buffer
}

func newTrace(t testing.TB, c evidence.Config) *trace {
	t.Helper()
	dir := t.TempDir()
	c.Socket = filepath.Join(dir, "s")
	tr := &trace{config: filepath.Join(dir, "init.json")}
	data, err := evidence.PodInit(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tr.config, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if tr.sink, err = evidence.Listen(evidence.Options{Socket: c.Socket, Out: &tr.file, Watch: c.Watch}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = tr.sink.Close(done()) })
	return tr
}

func (tr *trace) close(t testing.TB) (evidence.Summary, []evidence.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	sum, err := tr.sink.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var events []evidence.Event
	if _, err := evidence.Read(&tr.file, func(e evidence.Event) error { events = append(events, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return sum, events
}
