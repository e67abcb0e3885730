//go:build integration

package s3_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"harness/artifacts"
	"harness/artifacts/s3"
	"harness/artifacts/storetest"
	"harness/internal/testenv"
)

func config(m *testenv.MinIO, prefix string) s3.Config {
	return s3.Config{
		Bucket: "harness-test", Prefix: prefix, Endpoint: m.Endpoint,
		AccessKey: m.AccessKey, SecretKey: m.SecretKey, CreateBucket: true,
	}
}

func TestConformance(t *testing.T) {
	m := testenv.NewMinIO(t)
	n := 0
	storetest.Run(t, func(t *testing.T) artifacts.Store {
		n++
		c := config(m, fmt.Sprintf("test/%d", n))
		c.SpoolDir = t.TempDir()
		t.Cleanup(func() {
			if left, err := os.ReadDir(c.SpoolDir); err != nil || len(left) != 0 {
				t.Errorf("temporary files left: %v, %v", left, err)
			}
		})
		s, err := s3.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestWholeBucket(t *testing.T) {
	s, err := s3.Open(t.Context(), config(testenv.NewMinIO(t), ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "runs/r/spec.json", strings.NewReader("{}"), artifacts.PutOptions{ContentType: "application/json"}); err != nil {
		t.Fatal(err)
	}
	for name, err := range s.Dirs(t.Context(), "") {
		if err != nil || name != "runs" {
			t.Errorf("Dirs: %q, %v", name, err)
		}
	}
	if got := s.URL("runs/r/spec.json"); got != "s3://harness-test/runs/r/spec.json" {
		t.Errorf("URL = %q", got)
	}
}

func TestOpenRefuses(t *testing.T) {
	m := testenv.NewMinIO(t)
	c := config(m, "")
	c.CreateBucket = false
	if _, err := s3.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("without a bucket: %v", err)
	}
	c.SecretKey = "wrong-secret"
	_, err := s3.Open(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "refuses the credentials") {
		t.Errorf("with wrong credentials: %v", err)
	}
}

// The server is killed while writers are at work. Every write that was said to
// have succeeded is there afterwards, whole; nothing else is half there.
func TestServerDiesAmidWrites(t *testing.T) {
	m := testenv.NewMinIO(t)
	c := config(m, "faults")
	c.Retries = 1
	s, err := s3.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	content := func(w, i int) string { return strings.Repeat(fmt.Sprintf("%d/%d ", w, i), 100_000) }

	var mu sync.Mutex
	stored := map[string]string{}
	var failed, written atomic.Int64
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 10_000 {
				key := fmt.Sprintf("w%d/%d", w, i)
				_, err := s.Put(t.Context(), key, strings.NewReader(content(w, i)), artifacts.PutOptions{CreateOnly: i%2 == 0})
				if err != nil {
					failed.Add(1)
					return
				}
				written.Add(1)
				mu.Lock()
				stored[key] = content(w, i)
				mu.Unlock()
			}
		})
	}
	for written.Load() < 12 {
		time.Sleep(5 * time.Millisecond)
	}
	m.Kill()
	wg.Wait()
	if failed.Load() != 4 {
		t.Errorf("%d of 4 writers were told of the fault", failed.Load())
	}
	if _, err := s.Stat(t.Context(), "w0/0"); err == nil {
		t.Error("Stat succeeded without a server")
	}

	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A server that says it is ready may still refuse requests for a moment; the
	// usual number of retries outlasts it.
	c.Retries = 0
	if s, err = s3.Open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for key, want := range stored {
		got, err := artifacts.GetBytes(t.Context(), s, key, 10<<20)
		if err != nil || string(got) != want {
			t.Errorf("Get(%q) after the restart: %d bytes, %v", key, len(got), err)
		}
	}
	for info, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := artifacts.GetBytes(t.Context(), s, info.Key, 10<<20); err != nil {
			t.Errorf("Get(%q) of a listed object: %v", info.Key, err)
		}
	}
	if _, err := s.Put(t.Context(), "after", strings.NewReader("x"), artifacts.PutOptions{CreateOnly: true}); err != nil {
		t.Errorf("Put after the restart: %v", err)
	}
}

// A fault shorter than the retries is not seen at all.
func TestServerRestartIsBridged(t *testing.T) {
	m := testenv.NewMinIO(t)
	s, err := s3.Open(t.Context(), config(m, "bridge"))
	if err != nil {
		t.Fatal(err)
	}
	m.Kill()
	started := make(chan error, 1)
	go func() { started <- m.Start(context.WithoutCancel(t.Context())) }()
	_, err = s.Put(t.Context(), "k", strings.NewReader("x"), artifacts.PutOptions{CreateOnly: true})
	if err != nil {
		t.Errorf("Put across a restart: %v", err)
	}
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}
