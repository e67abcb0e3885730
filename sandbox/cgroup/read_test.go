package cgroup_test

import (
	"errors"
	"io/fs"
	"reflect"
	"testing"
	"testing/fstest"
	"time"

	"harness/sandbox/cgroup"
)

func text(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, s := range files {
		m[name] = &fstest.MapFile{Data: []byte(s)}
	}
	return m
}

func i(n int64) *int64                 { return &n }
func d(n time.Duration) *time.Duration { return &n }

func TestRead(t *testing.T) {
	const g = "/harness/ab/x"
	for _, c := range []struct {
		name   string
		reader cgroup.Reader
		want   cgroup.Stats
	}{
		{
			"v1 whole", cgroup.V1{FS: text(map[string]string{
				"memory/harness/ab/x/memory.max_usage_in_bytes":      "104857600\n",
				"memory/harness/ab/x/memory.usage_in_bytes":          "4096\n",
				"memory/harness/ab/x/memory.limit_in_bytes":          "104857600\n",
				"memory/harness/ab/x/memory.failcnt":                 "3\n",
				"memory/harness/ab/x/memory.memsw.failcnt":           "4\n",
				"memory/harness/ab/x/memory.oom_control":             "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
				"pids/harness/ab/x/pids.current":                     "12\n",
				"pids/harness/ab/x/pids.events":                      "max 3\n",
				"cpuacct/harness/ab/x/cpuacct.usage":                 "1500000000\n",
				"cpu/harness/ab/x/cpu.stat":                          "nr_periods 10\nnr_throttled 4\nthrottled_time 250000000\n",
				"blkio/harness/ab/x/blkio.throttle.io_service_bytes": "254:0 Read 4096\n254:0 Write 8192\n254:0 Sync 0\n254:0 Total 12288\n8:0 Read 1\nTotal 12289\n",
			})},
			cgroup.Stats{
				CPU: d(1500 * time.Millisecond), Throttled: d(250 * time.Millisecond), MemoryPeak: i(104857600), MemoryCurrent: i(4096), MemoryLimit: i(104857600),
				MemoryHits: i(7), OOMKills: i(2), PidsCurrent: i(12), PidsHits: i(3), IORead: i(4097), IOWrite: i(8192),
			},
		},
		{
			"v1 old kernel, few controllers", cgroup.V1{FS: text(map[string]string{
				"memory/harness/ab/x/memory.oom_control":             "oom_kill_disable 0\nunder_oom 0\n",
				"memory/harness/ab/x/memory.limit_in_bytes":          "9223372036854771712\n",
				"blkio/harness/ab/x/blkio.throttle.io_service_bytes": "Total 0\n",
			})},
			cgroup.Stats{IORead: i(0), IOWrite: i(0)},
		},
		{
			"v2 whole", cgroup.V2{FS: text(map[string]string{
				"harness/ab/x/memory.peak":    "104857600\n",
				"harness/ab/x/memory.current": "4096\n",
				"harness/ab/x/memory.max":     "104857600\n",
				"harness/ab/x/memory.events":  "low 0\nhigh 0\nmax 21\noom 1\noom_kill 1\noom_group_kill 0\n",
				"harness/ab/x/pids.current":   "12\n",
				"harness/ab/x/pids.events":    "max 0\n",
				"harness/ab/x/cpu.stat":       "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\nnr_periods 3\nnr_throttled 1\nthrottled_usec 250000\n",
				"harness/ab/x/io.stat":        "254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n8:16 rbytes=4 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n",
			})},
			cgroup.Stats{
				CPU: d(1500 * time.Millisecond), Throttled: d(250 * time.Millisecond), MemoryPeak: i(104857600), MemoryCurrent: i(4096), MemoryLimit: i(104857600),
				MemoryHits: i(21), OOMKills: i(1), PidsCurrent: i(12), PidsHits: i(0), IORead: i(4100), IOWrite: i(8192),
			},
		},
		{
			"v2 kernel without memory.peak, damaged count", cgroup.V2{FS: text(map[string]string{
				"harness/ab/x/memory.current": "-1\n",
				"harness/ab/x/memory.max":     "max\n",
				"harness/ab/x/cpu.stat":       "usage_usec 18446744073709551615\n",
				"harness/ab/x/io.stat":        "",
			})},
			cgroup.Stats{IORead: i(0), IOWrite: i(0)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.reader.Read(g)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
	for _, r := range []cgroup.Reader{cgroup.V1{FS: text(nil)}, cgroup.V2{FS: text(nil)}} {
		if _, err := r.Read(g); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%T of no group: %v", r, err)
		}
	}
}

func TestWhoRanOutOfMemory(t *testing.T) {
	for _, c := range []struct {
		name      string
		s         cgroup.Stats
		own, host bool
	}{
		{"nothing known", cgroup.Stats{}, false, false},
		{"limit met, reclaim helped", cgroup.Stats{MemoryHits: i(9), OOMKills: i(0)}, false, false},
		{"limit met, killed", cgroup.Stats{MemoryHits: i(9), OOMKills: i(1)}, true, false},
		{"killed by the machine", cgroup.Stats{MemoryHits: i(0), OOMKills: i(1), MemoryPeak: i(1 << 28), MemoryLimit: i(1 << 30)}, false, true},
		{"killed at the limit, kernel does not count hits", cgroup.Stats{MemoryHits: i(0), OOMKills: i(1), MemoryPeak: i(1<<30 - 4096), MemoryLimit: i(1 << 30)}, true, false},
		{"filled with cache up to the limit, nobody killed", cgroup.Stats{OOMKills: i(0), MemoryPeak: i(1 << 30), MemoryLimit: i(1 << 30)}, false, false},
		{"killed, limit unknown", cgroup.Stats{OOMKills: i(1)}, false, false},
	} {
		if c.s.OOM() != c.own || c.s.HostOOM() != c.host {
			t.Errorf("%s: OOM %v, HostOOM %v", c.name, c.s.OOM(), c.s.HostOOM())
		}
	}
}
