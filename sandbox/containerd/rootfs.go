package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"harness/eval"
	"harness/sandbox"
)

// mkfs makes the file system that bounds the disk of runtimes that share the host's kernel.
const mkfs = "mkfs.ext4"

// keepTmp is put into an empty /tmp: gVisor would mount a memory file system of
// no size over it, where /tmp has to count against the disk limit.
const keepTmp = "/tmp/.keep"

// rootfs prepares the root file system and returns the mounts that the shim makes.
func (r *Runtime) rootfs(ctx context.Context, s *Sandbox, img *image, rec record) ([]mount.Mount, error) {
	ctx, cancel := r.cleanup(ctx, callTimeout)
	defer cancel()
	// The lease's, so that it goes with the lease even if no container follows.
	ctx = withLease(ctx, leaseID(rec.id, 0))
	loop := r.handler.disk == diskLoop && !s.spec.WritableSnapshot
	prepare := r.snaps.Prepare
	if loop {
		prepare = r.snaps.View // our own file system is the writable layer
	}
	mounts, err := prepare(ctx, rec.id, img.chain, snapshots.WithLabels(map[string]string{labelID: rec.id}))
	if errdefs.IsNotFound(err) {
		// The image was removed and came back since it was unpacked.
		r.images.Delete(s.spec.ImageDigest)
		if img, err = r.image(ctx, s.spec.ImageDigest); err != nil {
			return nil, err
		}
		mounts, err = prepare(ctx, rec.id, img.chain, snapshots.WithLabels(map[string]string{labelID: rec.id}))
	}
	if err != nil {
		return nil, err
	}
	if loop {
		dir, err := r.loopDisk(rec.id, s.spec.Limits.DiskBytes)
		if err != nil {
			return nil, err
		}
		if mounts, err = overlayOn(mounts, dir); err != nil {
			return nil, err
		}
		s.disk = newDiskMeter(diskLoop, dir, s.spec.Limits.DiskBytes)
		return mounts, nil
	}
	if upper := upperDir(mounts); upper != "" && r.handler.disk == diskFilestore && !s.spec.WritableSnapshot {
		s.disk = newDiskMeter(diskFilestore, filepath.Join(upper, ".gvisor.filestore."+rec.id), s.spec.Limits.DiskBytes)
	}
	if s.disk == nil {
		s.disk = newDiskMeter(diskUnbounded, "", 0)
	}
	if !s.spec.WritableSnapshot {
		mounts = volatile(mounts)
	}
	return mounts, nil
}

func upperDir(mounts []mount.Mount) string {
	if len(mounts) != 1 {
		return ""
	}
	for _, o := range mounts[0].Options {
		if v, ok := strings.CutPrefix(o, "upperdir="); ok {
			return v
		}
	}
	if mounts[0].Type == "bind" && !slices.Contains(mounts[0].Options, "ro") {
		return mounts[0].Source
	}
	return ""
}

// volatile makes the kernel skip writing an overlay back at unmount: what is in
// it is deleted right after.
func volatile(mounts []mount.Mount) []mount.Mount {
	out := slices.Clone(mounts)
	for i, m := range out {
		if m.Type == "overlay" && upperDir([]mount.Mount{m}) != "" {
			out[i].Options = append(slices.Clone(m.Options), "volatile")
		}
	}
	return out
}

// overlayOn turns the read-only mounts of a view into an overlay whose writable
// layer lies in dir.
func overlayOn(view []mount.Mount, dir string) ([]mount.Mount, error) {
	if len(view) != 1 {
		return nil, fmt.Errorf("image has %d mounts, want one", len(view))
	}
	lower := ""
	switch v := view[0]; v.Type {
	case "bind":
		lower = v.Source
	case "overlay":
		for _, o := range v.Options {
			if l, ok := strings.CutPrefix(o, "lowerdir="); ok {
				lower = l
			}
		}
	}
	if lower == "" {
		return nil, fmt.Errorf("mount of type %q has no lower layers", view[0].Type)
	}
	return []mount.Mount{{Type: "overlay", Source: "overlay", Options: []string{
		"lowerdir=" + lower, "upperdir=" + filepath.Join(dir, "upper"), "workdir=" + filepath.Join(dir, "work"), "index=off", "volatile",
	}}}, nil
}

// loopDisk makes and mounts a file system of the given size. It is never read
// by anyone but this host's kernel, which also made all of it: code inside sees
// files on it, not its blocks.
func (r *Runtime) loopDisk(id string, size int64) (string, error) {
	img := filepath.Join(r.boxDir(id), "disk.img")
	dir := filepath.Join(r.boxDir(id), "disk")
	f, err := os.OpenFile(img, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("make disk: %w", err)
	}
	err = f.Truncate(size)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("make disk: %w", err)
	}
	// One inode for 8 KiB: a checkout of a large repository has many small files.
	out, err := exec.Command(mkfs, "-q", "-F", "-m", "0", "-i", "8192", "-O", "^has_journal,^resize_inode",
		"-E", "lazy_itable_init=1,nodiscard", img).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make disk: %s: %w: %s", mkfs, err, clip(strings.TrimSpace(string(out)), 300))
	}
	if err := os.Mkdir(dir, 0o711); err != nil {
		return "", fmt.Errorf("make disk: %w", err)
	}
	m := mount.Mount{Type: "ext4", Source: img, Options: []string{"loop", "nodev", "noatime"}}
	if err := m.Mount(dir); err != nil {
		return "", fmt.Errorf("mount disk: %w", err)
	}
	for _, d := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			return "", fmt.Errorf("make disk: %w", err)
		}
	}
	return dir, nil
}

// furnish puts files into the root file system before anything inside runs: no
// process has to be started for them. Paths are resolved by the kernel inside
// the root (openat2), so no link of the image leads out of it.
func (r *Runtime) furnish(ctx context.Context, spec sandbox.Spec, cwd string, mounts []mount.Mount) error {
	root := filepath.Join(r.boxDir(spec.ID), "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		return err
	}
	if err := mount.All(mounts, root); err != nil {
		return fmt.Errorf("mount root: %w", err)
	}
	err := furnishRoot(root, spec, cwd)
	if uerr := mount.UnmountAll(root, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); uerr != nil {
		return errors.Join(err, fmt.Errorf("unmount root: %w", uerr))
	}
	clearVolatile(mounts)
	return errors.Join(err, os.Remove(root), ctx.Err())
}

// clearVolatile removes the mark by which overlayfs refuses a second mount
// after a volatile one: nothing was lost in between, the machine did not crash.
func clearVolatile(mounts []mount.Mount) {
	for _, m := range mounts {
		for _, o := range m.Options {
			if w, ok := strings.CutPrefix(o, "workdir="); ok && slices.Contains(m.Options, "volatile") {
				_ = os.RemoveAll(filepath.Join(w, "work", "incompat"))
			}
		}
	}
}

func furnishRoot(root string, spec sandbox.Spec, cwd string) error {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open root: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	p := placer{root: fd}
	if err := p.needShell(); err != nil {
		return err
	}

	// What Docker mounts from the host, as plain files.
	files := []sandbox.File{
		{Path: "/etc/hostname", Mode: 0o644, Data: []byte(hostname + "\n")},
		{Path: "/etc/hosts", Mode: 0o644, Data: []byte("127.0.0.1\tlocalhost " + hostname + "\n::1\tlocalhost ip6-localhost ip6-loopback\n")},
	}
	if spec.Network == eval.NetworkNone || spec.Network == "" {
		files = append(files, sandbox.File{Path: "/etc/resolv.conf", Mode: 0o644})
	}
	if !spec.WritableSnapshot {
		files = append(files, sandbox.File{Path: keepTmp, Mode: 0o644})
	}
	if err := p.mkdirAll("/tmp", 0o1777); err != nil {
		return err
	}
	if err := p.mkdirAll(cwd, 0o755); err != nil {
		return err
	}
	for _, f := range append(files, spec.Files...) {
		if err := p.write(f); err != nil {
			return err
		}
	}
	return nil
}

// placer writes into a root that it can't leave.
type placer struct{ root int }

func (p placer) open(name string, flags uint64) (int, error) {
	return unix.Openat2(p.root, "."+name, &unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// needShell: process 1 and copies are shell scripts.
func (p placer) needShell() error {
	fd, err := p.open("/bin/sh", unix.O_PATH)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o111 == 0) {
			err = errors.New("it is not an executable file")
		}
	}
	if err != nil {
		return fmt.Errorf("image has no usable /bin/sh: %w: %w", sandbox.ErrImageUnsupported, err)
	}
	return nil
}

// mkdirAll makes the folders that are missing. Links on the way are followed
// inside the root; one that leads nowhere is the image's fault.
func (p placer) mkdirAll(dir string, last uint32) error {
	at := "/"
	for part := range strings.SplitSeq(strings.TrimPrefix(dir, "/"), "/") {
		if part == "" {
			continue
		}
		next := path.Join(at, part)
		fd, err := p.open(next, unix.O_PATH|unix.O_DIRECTORY)
		if errors.Is(err, unix.ENOENT) {
			mode := uint32(0o755)
			if next == dir {
				mode = last
			}
			fd, err = p.mkdir(at, part, next, mode)
		}
		if err != nil {
			return fmt.Errorf("make folder %q: %w: %w", clip(next, 200), sandbox.ErrImageUnsupported, err)
		}
		_ = unix.Close(fd)
		at = next
	}
	return nil
}

func (p placer) mkdir(parent, name, full string, mode uint32) (int, error) {
	dir, err := p.open(parent, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(dir) }()
	if err := unix.Mkdirat(dir, name, mode); err != nil {
		return -1, err
	}
	if err := unix.Fchmodat(dir, name, mode, 0); err != nil { // past our umask
		return -1, err
	}
	return p.open(full, unix.O_PATH|unix.O_DIRECTORY)
}

// write puts a fresh regular file in place of whatever has that name: a link, a
// device or a pipe of the image is never written through.
func (p placer) write(f sandbox.File) error {
	fail := func(err error) error {
		if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ELOOP) {
			return fmt.Errorf("place file %q: %w: %w", clip(f.Path, 200), sandbox.ErrImageUnsupported, err)
		}
		return fmt.Errorf("place file %q: %w", clip(f.Path, 200), err)
	}
	if err := p.mkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return fail(err)
	}
	dir, err := p.open(path.Dir(f.Path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = unix.Close(dir) }()
	name := path.Base(f.Path)
	if err := unix.Unlinkat(dir, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fail(err)
	}
	fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fail(err)
	}
	file := os.NewFile(uintptr(fd), f.Path)
	_, err = file.Write(f.Data)
	if err == nil {
		err = file.Chmod(f.Mode.Perm())
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fail(err)
	}
	return nil
}
