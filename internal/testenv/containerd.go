package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/client"

	"harness/internal/localstack"
)

// Namespace is where Image puts its image: that of the harness.
const Namespace = "harness"

// Stack is a private containerd and the folder for its sandbox runtimes.
type Stack struct {
	Socket   string
	StateDir string
	ToolsDir string
	Daemon   *localstack.Containerd

	dir   string
	image func() (string, error)
}

var shared struct {
	sync.Mutex
	stack *Stack
}

// Main runs the tests of a package and then stops what they started. Use it as
//
//	func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.stack != nil {
		if err := shared.stack.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "testenv:", err)
			return max(code, 1)
		}
	}
	return code
}

// ToolsDir is the folder above the pinned binaries' bin.
func ToolsDir() string {
	if d := os.Getenv("HARNESS_TOOLS"); d != "" {
		return d
	}
	return toolsDir
}

// Containerd returns the test binary's own containerd, started on first use. The
// test is skipped where there can't be one.
func Containerd(t testing.TB) *Stack {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("sandboxes need root")
	}
	if _, err := os.Stat(filepath.Join(ToolsDir(), "bin", "containerd")); err != nil {
		t.Skipf("the pinned tools are not installed (run deploy/setup.sh): %v", err)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.stack == nil {
		s, err := startStack()
		if err != nil {
			t.Fatal(err)
		}
		shared.stack = s
	}
	return shared.stack
}

func startStack() (*Stack, error) {
	dir, err := os.MkdirTemp("", "harness-test-")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := localstack.StartContainerd(ctx, localstack.ContainerdConfig{Dir: filepath.Join(dir, "c"), ToolsDir: ToolsDir()})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &Stack{Socket: d.Socket(), StateDir: filepath.Join(dir, "state"), ToolsDir: ToolsDir(), Daemon: d, dir: dir}
	s.image = sync.OnceValues(s.importImage)
	return s, nil
}

// Restart kills containerd with SIGKILL and starts it again. Shims live on.
func (s *Stack) Restart(t testing.TB) {
	t.Helper()
	if err := syscall.Kill(s.Daemon.Pid(), syscall.SIGKILL); err != nil {
		t.Error(err)
		return
	}
	<-s.Daemon.Done()
	s.Start(t)
}

// StopAndStart stops containerd in an orderly way, calls between, and starts it again.
func (s *Stack) StopAndStart(t testing.TB, between func()) {
	t.Helper()
	if err := s.Daemon.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	between()
	s.Start(t)
}

// Start starts containerd again after it was killed or stopped.
func (s *Stack) Start(t testing.TB) {
	t.Helper()
	d, err := localstack.StartContainerd(context.Background(), localstack.ContainerdConfig{Dir: filepath.Join(s.dir, "c"), ToolsDir: s.ToolsDir})
	if err != nil {
		t.Error(err)
		return
	}
	s.Daemon = d
}

func (s *Stack) stop() error {
	return errors.Join(s.Daemon.Stop(context.Background()), os.RemoveAll(s.dir))
}

// Image returns the reference of a Debian image with Python and procps in the
// stack's image store.
func (s *Stack) Image(t testing.TB) string {
	t.Helper()
	ref, err := s.image()
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func (s *Stack) importImage() (string, error) {
	archive, err := debianArchive()
	if err != nil {
		return "", err
	}
	cl, err := client.New(s.Socket, client.WithDefaultNamespace(Namespace))
	if err != nil {
		return "", err
	}
	defer func() { _ = cl.Close() }()
	f, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	imgs, err := cl.Import(ctx, f)
	if err != nil {
		return "", fmt.Errorf("import %s: %w", archive, err)
	}
	if len(imgs) != 1 {
		return "", fmt.Errorf("import %s: got %d images, want 1", archive, len(imgs))
	}
	return imgs[0].Name, nil
}
