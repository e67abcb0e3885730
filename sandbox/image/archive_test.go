package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"harness/sandbox"
)

// newLayout makes a layout with one image of one layer.
func newLayout(t *testing.T, entries ...entry) (*layout, ocispec.Descriptor) {
	t.Helper()
	if entries == nil {
		entries = []entry{dir("bin"), file("bin/true", "x"), link(tar.TypeSymlink, "sbin", "bin")}
	}
	lay, err := openLayout(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	blob, diff, err := lay.putLayer(func(w io.Writer) error {
		_, err := w.Write(tarOf(t, entries...))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := lay.addImage(nil, blob, diff, []string{"PATH=/bin"}, "/", "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := lay.name(context.Background(), m, "r", "harness.local/x:1"); err != nil {
		t.Fatal(err)
	}
	return lay, m
}

// verifyPath is what Import does before the first byte reaches a store.
func verifyPath(path string) ([]verified, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	found, err := listImages(src)
	if err != nil {
		return nil, err
	}
	for _, img := range found {
		if err := img.verifyLayers(context.Background(), src, func(ocispec.Descriptor) bool { return false }); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// change replaces the manifest that the index names by a changed one.
func (l *layout) change(t *testing.T, m ocispec.Descriptor, f func(*ocispec.Manifest)) {
	t.Helper()
	var man ocispec.Manifest
	if err := l.getJSON(m, &man); err != nil {
		t.Fatal(err)
	}
	f(&man)
	d, err := l.putJSON(m.MediaType, man)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.name(context.Background(), d, "r", "harness.local/x:1"); err != nil {
		t.Fatal(err)
	}
}

func layerOf(t *testing.T, l *layout, m ocispec.Descriptor) ocispec.Descriptor {
	t.Helper()
	var man ocispec.Manifest
	if err := l.getJSON(m, &man); err != nil {
		t.Fatal(err)
	}
	return man.Layers[0]
}

func TestVerifyLayout(t *testing.T) {
	lay, m := newLayout(t)
	got, err := verifyPath(lay.dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].target.Digest != m.Digest || got[0].names[0] != "harness.local/x:1" {
		t.Errorf("found %+v", got)
	}
}

func TestVerifyRefusesHostileLayouts(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, l *layout, m ocispec.Descriptor)
		want  string
	}{
		"no index": {func(t *testing.T, l *layout, _ ocispec.Descriptor) {
			must(t, os.Remove(filepath.Join(l.dir, "index.json")))
		}, "no index.json"},
		"index is a link": {func(t *testing.T, l *layout, _ ocispec.Descriptor) {
			p := filepath.Join(l.dir, "index.json")
			must(t, os.Rename(p, p+"2"))
			must(t, os.Symlink("index.json2", p))
		}, "not a plain file"},
		"blob is a link out": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			p := l.blobPath(layerOf(t, l, m).Digest)
			must(t, os.Remove(p))
			must(t, os.Symlink("/etc/passwd", p))
		}, "not a plain file"},
		"missing layer": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			must(t, os.Remove(l.blobPath(layerOf(t, l, m).Digest)))
		}, "is missing"},
		"missing manifest": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			must(t, os.Remove(l.blobPath(m.Digest)))
		}, "is missing"},
		"other layer bytes": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			p := l.blobPath(layerOf(t, l, m).Digest)
			b, err := os.ReadFile(p)
			must(t, err)
			b[len(b)/2] ^= 0xff
			must(t, os.WriteFile(p, b, 0o644))
		}, "layer sha256:"},
		"other manifest bytes": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			b, err := os.ReadFile(l.blobPath(m.Digest))
			must(t, err)
			must(t, os.WriteFile(l.blobPath(m.Digest), bytes.Replace(b, []byte(`"schemaVersion":2`), []byte(`"schemaVersion":3`), 1), 0o644))
		}, "other content than its digest says"},
		"wrong size": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			l.change(t, m, func(man *ocispec.Manifest) { man.Layers[0].Size++ })
		}, "its descriptor says"},
		"huge": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			l.change(t, m, func(man *ocispec.Manifest) { man.Layers[0].Size = 1 << 60 })
		}, "at most"},
		"huge config": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			l.change(t, m, func(man *ocispec.Manifest) { man.Config.Size = 1 << 30 })
		}, "at most"},
		"layer type": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			l.change(t, m, func(man *ocispec.Manifest) { man.Layers[0].MediaType = "application/x-sh" })
		}, `"application/x-sh", which is not known`},
		"config type": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			l.change(t, m, func(man *ocispec.Manifest) { man.Config.MediaType = "text/html" })
		}, "config has media type"},
		"foreign layer": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			l.change(t, m, func(man *ocispec.Manifest) { man.Layers[0].URLs = []string{"http://169.254.169.254/"} })
		}, "from elsewhere"},
		"digest with a path": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			l.change(t, m, func(man *ocispec.Manifest) { man.Layers[0].Digest = "sha256:../../../../etc/passwd" })
		}, "only sha256 is read"},
		"digest of another kind": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			l.change(t, m, func(man *ocispec.Manifest) { man.Layers[0].Digest = digest.SHA512.FromString("x") })
		}, "only sha256 is read"},
		"too many layers": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			l.change(t, m, func(man *ocispec.Manifest) {
				for len(man.Layers) <= maxLayers {
					man.Layers = append(man.Layers, man.Layers[0])
				}
			})
		}, "between 1 and 127"},
		"layers and config disagree": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			l.change(t, m, func(man *ocispec.Manifest) { man.Layers = append(man.Layers, man.Layers[0]) })
		}, "the manifest 2"},
		"name with a flag": {func(t *testing.T, l *layout, m ocispec.Descriptor) {
			must(t, l.name(context.Background(), m, "r", "-x/../y:1"))
		}, "reference"},
	} {
		t.Run(name, func(t *testing.T) {
			lay, m := newLayout(t)
			tc.spoil(t, lay, m)
			_, err := verifyPath(lay.dir)
			if !errors.Is(err, sandbox.ErrImageUnsupported) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestVerifyRefusesHostileLayers(t *testing.T) {
	for name, tc := range map[string]struct {
		entries []entry
		want    string
	}{
		"parent path":      {[]entry{file("../../etc/cron.d/x", "x")}, `holds ".."`},
		"hard link out":    {[]entry{link(tar.TypeLink, "a", "../../etc/shadow")}, "hard link"},
		"block device":     {[]entry{{h: tar.Header{Name: "dev/sda", Typeflag: tar.TypeBlock}}}, "block device"},
		"device elsewhere": {[]entry{{h: tar.Header{Name: "opt/mem", Typeflag: tar.TypeChar}}}, "character device"},
	} {
		t.Run(name, func(t *testing.T) {
			lay, _ := newLayout(t, tc.entries...)
			if _, err := verifyPath(lay.dir); !errors.Is(err, sandbox.ErrImageUnsupported) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestBudgetEndsBombs(t *testing.T) {
	lay, m := newLayout(t, file("zeros", strings.Repeat("\x00", 4<<20)))
	src, err := openSource(lay.dir)
	must(t, err)
	defer src.Close()
	l := layerOf(t, lay, m)
	err = scanLayer(context.Background(), src, l, "", &scanBudget{entries: 10, bytes: 1 << 20})
	if !errors.Is(err, sandbox.ErrImageUnsupported) || !strings.Contains(err.Error(), "unpacks to more than") {
		t.Errorf("%d bytes packed: error = %v", l.Size, err)
	}
}

// archiveOf packs a layout folder as `tar -C dir -cf - .` would.
func archiveOf(t *testing.T, root string, extra ...entry) string {
	t.Helper()
	var entries []entry
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		b, err := os.ReadFile(p)
		entries = append(entries, file("./"+filepath.ToSlash(rel), string(b)))
		return err
	}))
	out := filepath.Join(t.TempDir(), "image.tar")
	must(t, os.WriteFile(out, tarOf(t, append(entries, extra...)...), 0o644))
	return out
}

func TestVerifyArchive(t *testing.T) {
	lay, m := newLayout(t)
	got, err := verifyPath(archiveOf(t, lay.dir, file("manifest.json", "[]"), link(tar.TypeSymlink, "repositories", "/etc/passwd")))
	if err != nil || len(got) != 1 || got[0].target.Digest != m.Digest {
		t.Errorf("found %+v, %v", got, err)
	}
}

func TestVerifyRefusesHostileArchives(t *testing.T) {
	lay, m := newLayout(t)
	sum := layerOf(t, lay, m).Digest.Encoded()
	for name, tc := range map[string]struct {
		extra entry
		want  string
	}{
		"parent path":  {file("../index.json", "{}"), "not a name inside"},
		"absolute":     {file("/index.json", "{}"), "not a name inside"},
		"twice":        {file("index.json", "{}"), "comes twice"},
		"blob as link": {link(tar.TypeSymlink, "blobs/sha256/"+strings.Repeat("0", 64), "/etc/passwd"), "where a plain file must be"},
		"hard link":    {link(tar.TypeLink, "blobs/sha256/"+strings.Repeat("0", 64), "blobs/sha256/"+sum), "where a plain file must be"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := verifyPath(archiveOf(t, lay.dir, tc.extra))
			if !errors.Is(err, sandbox.ErrImageUnsupported) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
	for name, content := range map[string]string{"not a tar": strings.Repeat("x", 2000), "compressed": "\x1f\x8b\x08\x00", "empty": ""} {
		t.Run(name, func(t *testing.T) {
			p := filepath.Join(t.TempDir(), "x.tar")
			must(t, os.WriteFile(p, []byte(content), 0o644))
			if _, err := verifyPath(p); !errors.Is(err, sandbox.ErrImageUnsupported) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestOpenImageChoosesPlatform(t *testing.T) {
	lay, m := newLayout(t)
	other := m
	other.Platform = &ocispec.Platform{OS: "linux", Architecture: "s390x"}
	d, err := lay.putJSON(ocispec.MediaTypeImageIndex, ocispec.Index{Manifests: []ocispec.Descriptor{other}})
	must(t, err)
	must(t, lay.name(context.Background(), d, "r", "harness.local/x:1"))
	if _, err := verifyPath(lay.dir); err == nil || !strings.Contains(err.Error(), "no image for linux/") {
		t.Errorf("error = %v", err)
	}
}

func FuzzListImages(f *testing.F) {
	f.Add([]byte(`{"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:00","size":1}]}`))
	f.Fuzz(func(t *testing.T, index []byte) {
		d := t.TempDir()
		if os.WriteFile(filepath.Join(d, "index.json"), index, 0o644) != nil || !json.Valid(index) {
			return
		}
		_, _ = verifyPath(d)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
