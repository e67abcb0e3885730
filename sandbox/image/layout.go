package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"
)

// annotationRecipe on an entry of a layout's index holds the content address of
// the recipe that the image was built from.
const annotationRecipe = "local.harness.recipe"

// layout is an OCI image layout that grows: blobs appear whole under their
// digest, and index.json is replaced last, so a build that dies midway leaves
// at most a blob that nothing names.
type layout struct{ dir string }

func openLayout(dir string) (*layout, error) {
	l := &layout{dir}
	if err := os.MkdirAll(l.blobDir(), 0o755); err != nil {
		return nil, fmt.Errorf("open image cache %s: %w", dir, err)
	}
	marker := filepath.Join(dir, ocispec.ImageLayoutFile)
	if _, err := os.Stat(marker); errors.Is(err, fs.ErrNotExist) {
		b, _ := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
		if err := writeWhole(marker, b); err != nil {
			return nil, fmt.Errorf("open image cache %s: %w", dir, err)
		}
	}
	return l, nil
}

func (l *layout) blobDir() string { return filepath.Join(l.dir, "blobs", "sha256") }

func (l *layout) blobPath(d digest.Digest) string { return filepath.Join(l.blobDir(), d.Encoded()) }

// lock serialises what may not happen twice at once, between processes too.
// A nil error comes with a function that releases it.
func (l *layout) lock(ctx context.Context, name string) (func(), error) {
	dir := filepath.Join(l.dir, ".locks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lock image cache: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock image cache: %w", err)
	}
	var refused error
	done := make(chan struct{})
	go func() {
		defer close(done)
		refused = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}()
	select {
	case <-done:
		if refused != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock image cache: %w", refused)
		}
		return func() { _ = f.Close() }, nil
	case <-ctx.Done():
		go func() {
			<-done
			_ = f.Close()
		}()
		return nil, fmt.Errorf("wait for another build of %s: %w", name, context.Cause(ctx))
	}
}

// index reads index.json; an absent one is empty.
func (l *layout) index() (ocispec.Index, error) {
	idx := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	b, err := readCapped(filepath.Join(l.dir, ocispec.ImageIndexFile), maxMetadataBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return idx, nil
	}
	if err != nil {
		return idx, fmt.Errorf("read image cache: %w", err)
	}
	if err := json.Unmarshal(b, &idx); err != nil {
		return idx, fmt.Errorf("read image cache %s: index.json: %w: remove the folder, it is made anew by the next build", l.dir, err)
	}
	return idx, nil
}

// find returns the entry that name points to.
func (l *layout) find(name string) (ocispec.Descriptor, bool, error) {
	idx, err := l.index()
	if err != nil {
		return ocispec.Descriptor{}, false, err
	}
	i := slices.IndexFunc(idx.Manifests, func(d ocispec.Descriptor) bool { return d.Annotations[ocispec.AnnotationRefName] == name })
	if i < 0 {
		return ocispec.Descriptor{}, false, nil
	}
	return idx.Manifests[i], true, nil
}

// name points names at the manifest, in one step.
func (l *layout) name(ctx context.Context, manifest ocispec.Descriptor, recipe string, names ...string) error {
	unlock, err := l.lock(ctx, "index")
	if err != nil {
		return err
	}
	defer unlock()
	idx, err := l.index()
	if err != nil {
		return err
	}
	idx.Manifests = slices.DeleteFunc(idx.Manifests, func(d ocispec.Descriptor) bool {
		return slices.Contains(names, d.Annotations[ocispec.AnnotationRefName])
	})
	for _, n := range names {
		d := manifest
		d.Annotations = map[string]string{ocispec.AnnotationRefName: n, annotationRecipe: recipe}
		idx.Manifests = append(idx.Manifests, d)
	}
	b, err := json.MarshalIndent(idx, "", "  ")
	if err != nil {
		return fmt.Errorf("write image cache index: %w", err)
	}
	if err := writeWhole(filepath.Join(l.dir, ocispec.ImageIndexFile), b); err != nil {
		return fmt.Errorf("write image cache index: %w", err)
	}
	return nil
}

// putJSON stores a document as a blob.
func (l *layout) putJSON(mediaType string, v any) (ocispec.Descriptor, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("encode %s: %w", mediaType, err)
	}
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(b), Size: int64(len(b))}
	if err := writeWhole(l.blobPath(d.Digest), b); err != nil {
		return d, fmt.Errorf("store blob: %w", err)
	}
	return d, nil
}

// getJSON reads a document that putJSON stored, checking its digest.
func (l *layout) getJSON(d ocispec.Descriptor, v any) error {
	b, err := readCapped(l.blobPath(d.Digest), maxMetadataBytes)
	if err != nil {
		return fmt.Errorf("read image cache: %w", err)
	}
	if digest.FromBytes(b) != d.Digest {
		return fmt.Errorf("read image cache: blob %s is damaged: remove it and build again", l.blobPath(d.Digest))
	}
	return json.Unmarshal(b, v)
}

// putLayer stores what fill writes as a compressed layer blob and returns its
// descriptor and the digest of the uncompressed bytes. On error nothing stays.
func (l *layout) putLayer(fill func(io.Writer) error) (ocispec.Descriptor, digest.Digest, error) {
	fail := func(err error) (ocispec.Descriptor, digest.Digest, error) { return ocispec.Descriptor{}, "", err }
	f, err := os.CreateTemp(l.blobDir(), ".tmp-*")
	if err != nil {
		return fail(fmt.Errorf("store layer: %w", err))
	}
	defer os.Remove(f.Name()) // gone after the rename
	defer f.Close()

	packed, plain := sha256.New(), sha256.New()
	// One goroutine: the bytes must not depend on scheduling.
	z, err := zstd.NewWriter(io.MultiWriter(f, packed), zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return fail(fmt.Errorf("store layer: %w", err))
	}
	if err := fill(io.MultiWriter(z, plain)); err != nil {
		z.Close()
		return fail(err)
	}
	if err := z.Close(); err != nil {
		return fail(fmt.Errorf("store layer: %w", err))
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return fail(fmt.Errorf("store layer: %w", err))
	}
	d := ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageLayerZstd,
		Digest:    digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(packed.Sum(nil))),
		Size:      size,
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), os.Rename(f.Name(), l.blobPath(d.Digest))); err != nil {
		return fail(fmt.Errorf("store layer: %w", err))
	}
	return d, digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(plain.Sum(nil))), nil
}

// addImage stores config and manifest of an image that has one layer more than
// its parent; a nil parent starts one.
func (l *layout) addImage(parent *ocispec.Descriptor, layer ocispec.Descriptor, diffID digest.Digest, env []string, workDir, by string) (ocispec.Descriptor, error) {
	var manifest ocispec.Manifest
	config := ocispec.Image{Platform: ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH}}
	config.RootFS.Type = "layers"
	if parent != nil {
		if err := l.getJSON(*parent, &manifest); err != nil {
			return ocispec.Descriptor{}, fmt.Errorf("parent image: %w", err)
		}
		if err := l.getJSON(manifest.Config, &config); err != nil {
			return ocispec.Descriptor{}, fmt.Errorf("parent image: %w", err)
		}
	}
	created := Epoch
	config.Created = &created
	config.Config.Env, config.Config.WorkingDir = env, workDir
	config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, diffID)
	config.History = append(config.History, ocispec.History{Created: &created, CreatedBy: by})

	cfg, err := l.putJSON(ocispec.MediaTypeImageConfig, config)
	if err != nil {
		return cfg, err
	}
	manifest.Versioned, manifest.MediaType = specs.Versioned{SchemaVersion: 2}, ocispec.MediaTypeImageManifest
	manifest.Config, manifest.Layers = cfg, append(manifest.Layers, layer)
	return l.putJSON(ocispec.MediaTypeImageManifest, manifest)
}

// writeWhole replaces a file in one step.
func writeWhole(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	return errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close(), os.Rename(f.Name(), path))
}
