package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// Epoch is the time that everything in a built image carries: the images of
// equal inputs are equal.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

const maxPathBytes = 1024

// layerPolicy says what may come through rewriteLayer.
type layerPolicy struct {
	roots      []string // absolute; entries elsewhere are refused; nil allows all
	maxEntries int
	maxBytes   int64
	keepOwners bool              // otherwise everything is root's
	drop       func(string) bool // by absolute path; true leaves the entry and what is below it out
}

// layerStats describes what was written.
type layerStats struct {
	Entries int
	Bytes   int64 // of file content
}

// errLayer marks what a stream from outside did wrong.
var errLayer = errors.New("layer refused")

func refuse(format string, a ...any) error {
	return fmt.Errorf("%w: %s", errLayer, fmt.Sprintf(format, a...))
}

// rewriteLayer copies a tar stream entry by entry into a layer. The stream may
// come from hostile code: only plain files, folders, symbolic links and hard
// links to files of the same stream get through, under names that can't leave
// the roots. Headers are made anew: times, owners and modes are normalised,
// extended attributes are left out.
func rewriteLayer(ctx context.Context, dst io.Writer, src io.Reader, p layerPolicy) (layerStats, error) {
	w := layerWriter{policy: p, tw: tar.NewWriter(dst), kinds: map[string]byte{}}
	tr := tar.NewReader(src)
	for {
		if err := ctx.Err(); err != nil {
			return w.stats, context.Cause(ctx)
		}
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return w.stats, fmt.Errorf("read tar stream after %d entries: %w", w.stats.Entries, err)
		}
		if err := w.add(h, tr); err != nil {
			return w.stats, err
		}
	}
	if err := w.tw.Close(); err != nil {
		return w.stats, fmt.Errorf("write layer: %w", err)
	}
	return w.stats, nil
}

type layerWriter struct {
	policy layerPolicy
	tw     *tar.Writer
	stats  layerStats
	kinds  map[string]byte // absolute path -> tar type of what was written there
}

func (w *layerWriter) add(h *tar.Header, body io.Reader) error {
	name, err := layerName(h.Name)
	if err != nil {
		return err
	}
	if name == "/" || w.dropped(name) {
		return nil
	}
	if len(w.policy.roots) > 0 && !withinAny(name, w.policy.roots) {
		return refuse("%q is outside the outputs", name)
	}
	if strings.HasPrefix(path.Base(name), ".wh.") {
		return refuse("%q would delete files of the layers below", name)
	}
	if _, twice := w.kinds[name]; twice {
		return refuse("%q comes twice", name)
	}
	for d := path.Dir(name); d != "/"; d = path.Dir(d) {
		if k, ok := w.kinds[d]; ok && k != tar.TypeDir {
			return refuse("%q lies below %q, which is not a folder", name, d)
		}
	}
	if w.stats.Entries++; w.stats.Entries > w.policy.maxEntries {
		return refuse("more than %d entries", w.policy.maxEntries)
	}

	out := &tar.Header{Name: name[1:], Mode: h.Mode & 0o777, ModTime: clampTime(h.ModTime), Format: tar.FormatPAX}
	if w.policy.keepOwners {
		out.Uid, out.Gid = h.Uid, h.Gid
		out.Mode |= h.Mode & 0o1000 // sticky
	}
	switch h.Typeflag {
	case tar.TypeReg:
		out.Typeflag, out.Size = tar.TypeReg, h.Size
		if w.stats.Bytes += h.Size; h.Size < 0 || w.stats.Bytes > w.policy.maxBytes {
			return refuse("more than %d bytes of content, at %q", w.policy.maxBytes, name)
		}
	case tar.TypeDir:
		out.Typeflag, out.Name = tar.TypeDir, out.Name+"/"
		out.Mode |= h.Mode & 0o1000
	case tar.TypeSymlink:
		if h.Linkname == "" || len(h.Linkname) > maxPathBytes || strings.ContainsRune(h.Linkname, 0) {
			return refuse("symbolic link %q has a target that can't be", name)
		}
		out.Typeflag, out.Linkname, out.Mode = tar.TypeSymlink, h.Linkname, 0o777
	case tar.TypeLink:
		target, err := layerName(h.Linkname)
		if err != nil {
			return err
		}
		if w.kinds[target] != tar.TypeReg {
			return refuse("hard link %q points to %q, which is no file that came before it", name, target)
		}
		out.Typeflag, out.Linkname = tar.TypeLink, target[1:]
	default:
		return refuse("%q is a %s: only files, folders and links can be part of an image", name, typeName(h.Typeflag))
	}
	if err := w.tw.WriteHeader(out); err != nil {
		return fmt.Errorf("write layer: %q: %w", name, err)
	}
	w.kinds[name] = out.Typeflag
	if out.Typeflag == tar.TypeReg {
		if _, err := io.CopyN(w.tw, body, h.Size); err != nil {
			return fmt.Errorf("copy %q into layer: %w", name, err)
		}
	}
	return nil
}

func (w *layerWriter) dropped(name string) bool {
	if w.policy.drop == nil {
		return false
	}
	for p := name; p != "/"; p = path.Dir(p) {
		if w.policy.drop(p) {
			return true
		}
	}
	return false
}

// layerName turns an entry's name into an absolute clean path.
func layerName(raw string) (string, error) {
	if len(raw) > maxPathBytes {
		return "", refuse("a name of %d bytes (%.40q...): at most %d are allowed", len(raw), raw, maxPathBytes)
	}
	if strings.ContainsRune(raw, 0) {
		return "", refuse("name %q holds a zero byte", raw)
	}
	for part := range strings.SplitSeq(raw, "/") {
		if part == ".." {
			return "", refuse("name %q holds \"..\"", raw)
		}
	}
	return path.Clean("/" + raw), nil
}

// clampTime keeps times that packages carry, and cuts those of the build itself.
func clampTime(t time.Time) time.Time {
	if t.After(Epoch) || t.Before(time.Unix(0, 0)) {
		return Epoch
	}
	return t.Truncate(time.Second).UTC()
}

func withinAny(p string, dirs []string) bool {
	for _, d := range dirs {
		if within(p, d) {
			return true
		}
	}
	return false
}

func typeName(t byte) string {
	switch t {
	case tar.TypeChar:
		return "character device"
	case tar.TypeBlock:
		return "block device"
	case tar.TypeFifo:
		return "named pipe"
	}
	return fmt.Sprintf("tar entry of type %q", t)
}
