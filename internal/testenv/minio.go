// Package testenv starts the servers that integration tests talk to.
//
// It owns their processes and temporary folders. It knows nothing of what is tested.
package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"harness/internal/localstack"
)

// toolsDir is where `make setup` puts the pinned tools, unless HARNESS_TOOLS names another root.
const toolsDir = "/var/lib/harness/tools"

// Tool returns the path of a pinned tool and fails the test when it is not installed.
func Tool(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("HARNESS_TOOLS")
	if root == "" {
		root = toolsDir
	}
	path := filepath.Join(root, "bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not installed (%v): run make setup", name, err)
	}
	return path
}

// MinIO is a MinIO server with a folder of its own. Address and data survive
// Kill and Start.
type MinIO struct {
	Endpoint             string // http://127.0.0.1:port
	AccessKey, SecretKey string

	bin, addr, data string
	mu              sync.Mutex
	cmd             *exec.Cmd
	exited          chan struct{}
	log             Buffer
}

// StartMinIO starts a server that ends with the test.
func StartMinIO(t testing.TB) (endpoint, accessKey, secretKey string) {
	t.Helper()
	m := NewMinIO(t)
	return m.Endpoint, m.AccessKey, m.SecretKey
}

// NewMinIO starts a server that ends with the test and that the test may kill and
// start again.
func NewMinIO(t testing.TB) *MinIO {
	t.Helper()
	m := &MinIO{
		AccessKey: "harness-test", SecretKey: "harness-test-secret",
		bin: Tool(t, "minio"), addr: freeAddr(t), data: t.TempDir(),
	}
	m.Endpoint = "http://" + m.addr
	t.Cleanup(m.Kill)
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// Start starts the server and waits until it is ready.
func (m *MinIO) Start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd != nil {
		return errors.New("start minio: it is running")
	}
	cmd := exec.Command(m.bin, "server", "--quiet", "--address", m.addr, "--console-address", "127.0.0.1:0", m.data)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.data,
		"MINIO_ROOT_USER=" + m.AccessKey, "MINIO_ROOT_PASSWORD=" + m.SecretKey,
		"MINIO_BROWSER=off", "MINIO_UPDATE=off", "MINIO_CI_CD=1",
	}
	cmd.Stdout, cmd.Stderr = &m.log, &m.log
	// The server dies with the test process, also when that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start minio: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed, in the end
		close(exited)
	}()
	m.cmd, m.exited = cmd, exited

	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	for {
		if m.ready(ctx) {
			return nil
		}
		select {
		case <-exited:
			m.cmd = nil
			return fmt.Errorf("start minio: it ended at once:\n%s", m.log.String())
		case <-ctx.Done():
			return fmt.Errorf("start minio: not ready: %w\n%s", ctx.Err(), m.log.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Kill ends the server at once, as a crash does.
func (m *MinIO) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill() // it may have ended by itself
	<-m.exited
	m.cmd = nil
}

func (m *MinIO) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.Endpoint+"/minio/health/ready", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// freeAddr finds a port that is free now. Another process may take it before the
// server does; then the server says so and the test fails.
func freeAddr(t testing.TB) string {
	t.Helper()
	free, err := localstack.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(free[0]))
}
