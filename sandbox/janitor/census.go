package janitor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/namespaces"

	"harness/internal/proc"
	"harness/sandbox/cgroup"
)

// Stack says where the sandboxes of one containerd leave traces. A runtime
// driver fills it in.
type Stack struct {
	Client      *client.Client
	Socket      string
	Namespace   string
	Snapshotter string
	StateDir    string // scratch files, pipes, runtime state
	Cgroups     *cgroup.Hierarchy
	CgroupDir   string // group above all sandboxes
	IDLabel     string // label that marks what belongs to a sandbox
}

// Counts are the traces of sandboxes on this host, living ones included. All
// zero means that nothing is left behind. Cached image snapshots don't count.
type Counts struct {
	Sandboxes   int `json:"sandboxes"` // containers of containerd
	Tasks       int `json:"tasks"`
	Leases      int `json:"leases"`
	Snapshots   int `json:"snapshots"` // writable ones and views
	Shims       int `json:"shims"`
	Processes   int `json:"processes"` // of sandboxes, as the host sees them
	Mounts      int `json:"mounts"`
	NetNS       int `json:"netns"`
	Cgroups     int `json:"cgroups"`
	Pipes       int `json:"pipes"`
	Files       int `json:"files"` // scratch folders and files, runtime state
	LoopDevices int `json:"loop_devices"`

	// Details names what was counted.
	Details []string `json:"details,omitempty"`
}

// Zero reports whether nothing at all was found.
func (c Counts) Zero() bool {
	c.Details = nil
	return c.total() == 0
}

func (c Counts) total() int {
	return c.Sandboxes + c.Tasks + c.Leases + c.Snapshots + c.Shims + c.Processes + c.Mounts + c.NetNS + c.Cgroups + c.Pipes + c.Files + c.LoopDevices
}

func (c Counts) String() string {
	return fmt.Sprintf("%d sandboxes, %d tasks, %d leases, %d snapshots, %d shims, %d processes, %d mounts, %d netns, %d cgroups, %d pipes, %d files, %d loop devices",
		c.Sandboxes, c.Tasks, c.Leases, c.Snapshots, c.Shims, c.Processes, c.Mounts, c.NetNS, c.Cgroups, c.Pipes, c.Files, c.LoopDevices)
}

// Census counts. It changes nothing; sandboxes that come and go meanwhile may be
// counted in part.
func Census(ctx context.Context, s Stack) (Counts, error) {
	var c Counts
	err := errors.Join(c.records(ctx, s), c.processes(s), c.mounts(s), c.files(s))
	slices.Sort(c.Details)
	if err != nil {
		return c, fmt.Errorf("census of sandboxes: %w", err)
	}
	return c, nil
}

func (c *Counts) add(n *int, format string, args ...any) {
	*n++
	c.Details = append(c.Details, fmt.Sprintf(format, args...))
}

// records counts what containerd knows.
func (c *Counts) records(ctx context.Context, s Stack) error {
	ctx = namespaces.WithNamespace(ctx, s.Namespace)
	cs, err := s.Client.ContainerService().List(ctx)
	if err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, k := range cs {
		if _, ok := k.Labels[s.IDLabel]; ok {
			ours[k.ID] = true
			c.add(&c.Sandboxes, "container %s", k.ID)
		}
	}
	ts, err := s.Client.TaskService().List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		return err
	}
	for _, t := range ts.Tasks {
		if ours[t.ID] || s.Cgroups.Exists(filepath.Join(s.CgroupDir, t.ID)) {
			c.add(&c.Tasks, "task %s %s", t.ID, t.Status)
		}
	}
	ls, err := s.Client.LeasesService().List(ctx)
	if err != nil {
		return err
	}
	for _, l := range ls {
		if _, ok := l.Labels[s.IDLabel]; ok {
			c.add(&c.Leases, "lease %s", l.ID)
		}
	}
	return s.Client.SnapshotService(s.Snapshotter).Walk(ctx, func(_ context.Context, i snapshots.Info) error {
		if _, ok := i.Labels[s.IDLabel]; ok && i.Kind != snapshots.KindCommitted {
			c.add(&c.Snapshots, "snapshot %s", i.Name)
		}
		return nil
	})
}

// processes counts shims, what runs below them or in the sandboxes' cgroups,
// and processes of the OCI runtime that lost their shim; and the network
// namespaces they keep alive.
func (c *Counts) processes(s Stack) error {
	all, err := proc.All()
	if err != nil {
		return err
	}
	living := map[int]proc.Stat{}
	for _, p := range all {
		if p.State != 'Z' {
			living[p.Pid] = p
		}
	}
	boxed := map[int]bool{}
	for _, p := range living {
		args := proc.Cmdline(p.Pid)
		switch {
		case strings.HasPrefix(p.Comm, "containerd-shim") && has(args, "-address", s.Socket) && has(args, "-namespace", s.Namespace):
			c.add(&c.Shims, "shim %d %s", p.Pid, strings.Join(args, " "))
			for _, d := range proc.Descendants(all, p.Pid) {
				boxed[d.Pid] = true
			}
		case slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, s.StateDir+"/oci") }):
			boxed[p.Pid] = true
		}
	}
	groups, err := s.Cgroups.Children(s.CgroupDir)
	if err != nil {
		return err
	}
	for _, g := range groups {
		dir := filepath.Join(s.CgroupDir, g)
		c.add(&c.Cgroups, "cgroup %s", dir)
		pids, err := s.Cgroups.Procs(dir)
		if err != nil {
			return err
		}
		for _, pid := range pids {
			boxed[pid] = true
		}
	}
	own, _ := os.Readlink("/proc/self/ns/net")
	nets := map[string]bool{}
	for pid := range boxed {
		p, ok := living[pid]
		if !ok {
			continue
		}
		c.add(&c.Processes, "process %d %s", pid, p.Comm)
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil && ns != own && !nets[ns] {
			nets[ns] = true
			c.add(&c.NetNS, "network namespace %s of process %d", ns, pid)
		}
	}
	return nil
}

func has(args []string, flag, value string) bool {
	for i := 0; i+1 < len(args); i++ {
		if args[i] == flag && args[i+1] == value {
			return true
		}
	}
	return false
}

// mounts counts mounts of bundles and scratch folders, network namespaces that
// are held by a mount, and loop devices behind scratch files.
func (c *Counts) mounts(s Stack) error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	bundles := "/io.containerd.runtime.v2.task/" + s.Namespace + "/"
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 10 {
			continue
		}
		at := f[4]
		ours := strings.HasPrefix(at, s.StateDir+"/") || (strings.HasPrefix(at, filepath.Dir(s.Socket)+"/") && strings.Contains(at, bundles))
		if !ours {
			continue
		}
		if slices.Contains(f, "nsfs") {
			c.add(&c.NetNS, "network namespace at %s", at)
			continue
		}
		c.add(&c.Mounts, "mount %s", at)
	}
	backing, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return err
	}
	for _, p := range backing {
		if b, err := os.ReadFile(p); err == nil && strings.HasPrefix(string(b), s.StateDir+"/") {
			c.add(&c.LoopDevices, "loop device of %s", strings.TrimSpace(string(b)))
		}
	}
	return nil
}

// files counts what lies in the state folder, apart from the wrappers, which
// are a cache.
func (c *Counts) files(s Stack) error {
	for _, dir := range []string{"boxes", filepath.Join("oci", s.Namespace)} {
		root := filepath.Join(s.StateDir, dir)
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist): // removed meanwhile
				return nil
			case err != nil:
				return err
			case p == root:
				return nil
			case d.Type()&fs.ModeNamedPipe != 0:
				c.add(&c.Pipes, "pipe %s", p)
			case filepath.Dir(p) == root || !d.IsDir():
				c.add(&c.Files, "file %s", p)
			}
			// A mounted disk holds the sandbox's own files, which are not ours to list.
			if d.IsDir() && (d.Name() == "disk" || d.Name() == "root") && filepath.Dir(filepath.Dir(p)) == root {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
