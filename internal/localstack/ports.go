package localstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
)

// ports are remembered from one start to the next, so that bookmarks of the web
// UI stay good; one that somebody else took meanwhile is replaced.
type ports struct {
	Temporal        int `json:"temporal"`
	TemporalUI      int `json:"temporal_ui"`
	TemporalHTTP    int `json:"temporal_http"`
	TemporalMetrics int `json:"temporal_metrics"`
	S3              int `json:"s3"`
}

// Defaults of Temporal's own tools, taken when they are free.
const (
	wantTemporal = 7233
	wantUI       = 8233
	wantS3       = 9000
)

func choosePorts(file string) (ports, error) {
	var p ports
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p = ports{} // a damaged file costs remembered numbers, nothing else
	}
	taken := map[int]bool{}
	for _, want := range []struct {
		port  *int
		first int
	}{{&p.Temporal, wantTemporal}, {&p.TemporalUI, wantUI}, {&p.TemporalHTTP, 0}, {&p.TemporalMetrics, 0}, {&p.S3, wantS3}} {
		if *want.port, err = freePort(taken, *want.port, want.first); err != nil {
			return p, err
		}
		taken[*want.port] = true
	}
	b, err = json.Marshal(p)
	if err != nil {
		return p, err
	}
	if err := writeWhole(file, b); err != nil {
		return p, fmt.Errorf("remember ports: %w", err)
	}
	return p, nil
}

// Ports are chosen below those from which the kernel takes the local ends of
// connections (net.ipv4.ip_local_port_range): one of those can be in use by any
// connection at the moment when a server wants to listen on it.
const (
	firstPort = 20000
	lastPort  = 30000
)

// freePort returns the first of the wanted ports that nobody listens on, else
// another one of the range.
func freePort(taken map[int]bool, wanted ...int) (int, error) {
	candidates := wanted
	for range 100 {
		candidates = append(candidates, firstPort+rand.IntN(lastPort-firstPort))
	}
	for _, port := range candidates {
		if port <= 0 || port >= lastPort || taken[port] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		got := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("look for a free port: %w", err)
		}
		if !taken[got] {
			return got, nil
		}
	}
	return 0, fmt.Errorf("look for a free port: none is free between %d and %d on 127.0.0.1", firstPort, lastPort)
}

// FreePorts returns n different ports that nobody listens on now.
func FreePorts(n int) ([]int, error) {
	taken := map[int]bool{}
	var out []int
	for range n {
		p, err := freePort(taken)
		if err != nil {
			return nil, err
		}
		taken[p] = true
		out = append(out, p)
	}
	return out, nil
}

// writeWhole replaces a file so that a reader never sees half of it.
func writeWhole(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
