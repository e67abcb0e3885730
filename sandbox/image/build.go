package image

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"harness/sandbox"
)

// Host is the registry part of every built image's reference: a name that
// resolves nowhere.
const Host = "harness.local"

// Bounds of a layer that steps may produce.
const (
	maxLayerEntries = 500_000
	maxLayerBytes   = 8 << 30
)

// Fetcher brings one locked file to the host and returns where it lies, with
// size and digest checked. It interprets nothing of it.
type Fetcher interface {
	Fetch(ctx context.Context, f LockedFile) (path string, err error)
}

// Builder builds recipes. It is safe for concurrent use: one recipe is built
// once at a time, between processes too.
type Builder struct {
	// Runtime runs the steps; may be nil when only bases are built.
	Runtime sandbox.Runtime
	// Store receives the images; may be nil, then they are only kept in CacheDir.
	Store *Store
	// CacheDir is an OCI layout with every image built so far, made when absent.
	CacheDir string
	// Fetcher brings the files of lock files; may be nil when no recipe has one.
	Fetcher Fetcher
	Log     *slog.Logger // nil: silent
}

// Built is an image that is there now.
type Built struct {
	Ref    string // harness.local/<name>:<first 12 hex digits of the recipe's digest>
	Digest string // of the manifest
	Cached bool   // nothing had to be built
}

// Build makes the image of r, and of what it is built from, unless an equal
// recipe was built before. On error no name is left behind.
func (b *Builder) Build(ctx context.Context, r *Recipe) (Built, error) {
	out, err := b.build(ctx, r)
	if err != nil {
		return Built{}, fmt.Errorf("build image %s: %w", r.Name, err)
	}
	return out, nil
}

func (b *Builder) build(ctx context.Context, r *Recipe) (Built, error) {
	address, err := r.Digest()
	if err != nil {
		return Built{}, err
	}
	lay, err := openLayout(b.CacheDir)
	if err != nil {
		return Built{}, err
	}
	ref := r.ref(address)
	unlock, err := lay.lock(ctx, address)
	if err != nil {
		return Built{}, err
	}
	defer unlock()

	manifest, found, err := lay.find(ref)
	if err != nil {
		return Built{}, err
	}
	if found = found && manifest.Annotations[annotationRecipe] == address && lay.whole(manifest); !found {
		started := time.Now()
		if manifest, err = b.make(ctx, lay, r, ref); err != nil {
			return Built{}, err
		}
		b.log().Info("image built", "image", ref, "digest", manifest.Digest, "seconds", time.Since(started).Seconds())
	}
	manifest.Annotations = nil
	if err := lay.name(ctx, manifest, address, ref, r.latest()); err != nil {
		return Built{}, err
	}
	if err := b.intoStore(ctx, ref, r.latest(), manifest); err != nil {
		return Built{}, err
	}
	return Built{Ref: ref, Digest: manifest.Digest.String(), Cached: found}, nil
}

// make builds the image and stores its blobs; naming it is the caller's.
func (b *Builder) make(ctx context.Context, lay *layout, r *Recipe, ref string) (ocispec.Descriptor, error) {
	var parent *ocispec.Descriptor
	var fill func(io.Writer) error
	if r.Debian != nil {
		fill = func(w io.Writer) error { return b.base(ctx, r, w) }
	} else {
		below, err := b.Build(ctx, r.Parent)
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		d, ok, err := lay.find(below.Ref)
		if err != nil {
			return d, err
		}
		if !ok {
			return d, fmt.Errorf("%s left the image cache %s while it was used", below.Ref, b.CacheDir)
		}
		d.Annotations, parent = nil, &d
		fill = func(w io.Writer) error { return b.layer(ctx, r, below, w) }
	}
	blob, diffID, err := lay.putLayer(fill)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return lay.addImage(parent, blob, diffID, r.env(), r.workDir(), "harness image build "+ref)
}

// base streams the root file system that mmdebstrap makes through the layer rules.
func (b *Builder) base(ctx context.Context, r *Recipe, w io.Writer) error {
	b.log().Info("building base from Debian packages", "image", r.Name, "suite", r.Debian.Suite, "packages", len(r.Debian.Packages))
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		err := bootstrap(ctx, r.Debian, pw)
		pw.CloseWithError(err)
		done <- err
	}()
	_, err := rewriteLayer(ctx, w, pr, layerPolicy{maxEntries: maxLayerEntries, maxBytes: maxLayerBytes, keepOwners: true, drop: dropFromBase})
	if err == nil {
		_, err = io.Copy(io.Discard, pr) // tar pads its end
	}
	pr.CloseWithError(err)
	if err != nil {
		cancel()
	}
	if made := <-done; made != nil && err == nil {
		err = made
	}
	return err
}

// intoStore makes sure that containerd has the image under both names.
func (b *Builder) intoStore(ctx context.Context, ref, latest string, manifest ocispec.Descriptor) error {
	if b.Store == nil {
		return nil
	}
	if b.Store.ready(ctx, ref, manifest.Digest) && b.Store.ready(ctx, latest, manifest.Digest) {
		return nil
	}
	_, err := b.Store.Import(ctx, b.CacheDir, ref, latest)
	return err
}

func (b *Builder) log() *slog.Logger {
	if b.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return b.Log
}

func (r *Recipe) ref(address string) string { return Host + "/" + r.Name + ":" + address[:12] }

func (r *Recipe) latest() string { return Host + "/" + r.Name + ":latest" }

// whole reports whether all blobs of an image are in the layout, by size: their
// digests are checked when they are read.
func (l *layout) whole(manifest ocispec.Descriptor) bool {
	var m ocispec.Manifest
	if err := l.getJSON(manifest, &m); err != nil {
		return false
	}
	for _, d := range append(m.Layers, m.Config) {
		if st, err := os.Stat(l.blobPath(d.Digest)); err != nil || st.Size() != d.Size {
			return false
		}
	}
	return true
}
