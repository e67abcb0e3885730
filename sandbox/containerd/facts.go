package containerd

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"harness/eval"
	"harness/sandbox"
)

// diskEvery is how often the writable layer is looked at: a layer that fills up
// and is emptied within that time is not seen to have been full.
const diskEvery = 200 * time.Millisecond

// fullSlack: a layer counts as full when less than this is left, since a
// program stops at the last block that does not fit.
const fullSlack = 512 << 10

// diskMeter follows the size of a writable layer from outside, where code
// inside can't reach: the blocks of gVisor's filestore, or the free blocks of a
// loop file system.
type diskMeter struct {
	kind  diskKind
	path  string
	limit int64
	peak  atomic.Int64
	seen  atomic.Bool
	base  int64 // used by the empty file system itself
	room  int64 // what of it files can take
	stop  chan struct{}
	once  sync.Once
	done  sync.WaitGroup
}

func newDiskMeter(kind diskKind, path string, limit int64) *diskMeter {
	d := &diskMeter{kind: kind, path: path, limit: limit, room: limit, stop: make(chan struct{})}
	if kind == diskLoop {
		var st unix.Statfs_t
		if unix.Statfs(path, &st) == nil {
			d.base = int64(st.Blocks-st.Bfree) * st.Bsize
			d.room = int64(st.Bavail) * st.Bsize
		}
	}
	return d
}

func (d *diskMeter) start() {
	if d == nil || d.kind == diskUnbounded {
		return
	}
	d.done.Go(func() {
		tick := time.NewTicker(diskEvery)
		defer tick.Stop()
		for {
			select {
			case <-d.stop:
				return
			case <-tick.C:
				d.sample()
			}
		}
	})
}

func (d *diskMeter) sample() {
	var used int64
	switch d.kind {
	case diskFilestore:
		st, err := os.Lstat(d.path)
		if err != nil {
			return
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok {
			return
		}
		used = sys.Blocks * 512
	case diskLoop:
		var st unix.Statfs_t
		if unix.Statfs(d.path, &st) != nil {
			return
		}
		used = int64(st.Blocks-st.Bfree)*st.Bsize - d.base
	default:
		return
	}
	d.seen.Store(true)
	for {
		old := d.peak.Load()
		if used <= old || d.peak.CompareAndSwap(old, used) {
			return
		}
	}
}

// finish takes a last sample and returns the peak, nil when nothing was seen.
func (d *diskMeter) finish() (peak *int64, full bool) {
	if d == nil {
		return nil, false
	}
	d.once.Do(func() { close(d.stop) })
	d.done.Wait()
	d.sample()
	if !d.seen.Load() {
		return nil, false
	}
	n := d.peak.Load()
	return &n, n >= d.room-fullSlack
}

// facts reads what the kernel counted. The sandbox is dead, its cgroup still there.
func (s *Sandbox) facts() sandbox.Final {
	s.mu.Lock()
	f := sandbox.Final{Died: s.died && !s.endLost}
	timedOut := s.timedOut
	s.mu.Unlock()
	wall := time.Since(s.created).Seconds()
	f.Usage.WallSeconds = &wall
	f.Usage.DiskBytes, f.DiskFull = s.disk.finish()

	st, err := s.r.cgroups.Read(s.r.group(s.id))
	if err != nil {
		s.r.cfg.Logger.Debug("sandbox has no counters", "sandbox_id", s.id, "error", err)
	}
	f.OOMKilled = st.OOM()
	f.Usage.CPUSeconds = seconds(st.CPU)
	f.Usage.ThrottledSecs = seconds(st.Throttled)
	f.Usage.PeakMemoryBytes = st.MemoryPeak
	f.Usage.IOReadBytes, f.Usage.IOWriteBytes = st.IORead, st.IOWrite
	if s.spec.Network == eval.NetworkNone || s.spec.Network == "" {
		f.Usage.NetBytes = new(int64) // there is no network: this zero is known
	}
	for name, hit := range map[string]bool{
		eval.LimitMemory:    f.OOMKilled,
		eval.LimitDisk:      f.DiskFull,
		eval.LimitWall:      timedOut,
		eval.LimitProcesses: st.PidsHits != nil && *st.PidsHits > 0,
	} {
		if hit {
			f.LimitsHit = append(f.LimitsHit, name)
		}
	}
	slices.Sort(f.LimitsHit)
	if st.HostOOM() {
		f.Events = append(f.Events, eval.Event{
			Time: time.Now().UTC(), Source: "host", Kind: "host_out_of_memory", Severity: "high",
			Detail: "the machine, not the sandbox's limit, ran out of memory and a process of the sandbox was killed",
		})
	}
	return f
}

func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	v := d.Seconds()
	return &v
}
