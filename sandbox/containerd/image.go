package containerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"harness/sandbox"
	ociimage "harness/sandbox/image"
)

// Manifests and configurations are small; more is hostile.
const maxManifest = 8 << 20

// image is what Create needs of one, checked and unpacked.
type image struct {
	config ocispec.Image
	chain  string // key of the snapshot that holds all its layers
}

// Resolve implements sandbox.Runtime: it returns the digest of the manifest for
// this machine's platform.
func (r *Runtime) Resolve(ctx context.Context, ref string) (string, error) {
	ctx, cancel := r.call(ctx, callTimeout)
	defer cancel()
	name, err := ociimage.NormalizeRef(ref)
	if err != nil {
		return "", fmt.Errorf("resolve image: %w", err)
	}
	img, err := r.client.ImageService().Get(ctx, name)
	if err != nil {
		if errdefs.IsNotFound(err) {
			return "", fmt.Errorf("resolve image %q: %w: build it with `harness image build` or bring it with `harness image import`; `harness image list` shows what is here", clip(ref, 300), sandbox.ErrImageNotFound)
		}
		return "", r.storeError("resolve image "+clip(ref, 300), err)
	}
	desc := img.Target
	for depth := 0; images.IsIndexType(desc.MediaType); depth++ {
		if depth > 3 {
			return "", fmt.Errorf("resolve image %q: its indexes are nested too deep: %w", clip(ref, 300), sandbox.ErrImageUnsupported)
		}
		if desc, err = r.pickPlatform(ctx, desc); err != nil {
			return "", fmt.Errorf("resolve image %q: %w", clip(ref, 300), err)
		}
	}
	if !images.IsManifestType(desc.MediaType) {
		return "", fmt.Errorf("resolve image %q: media type %q is not an image manifest: %w", clip(ref, 300), clip(desc.MediaType, 100), sandbox.ErrImageUnsupported)
	}
	return desc.Digest.String(), nil
}

func (r *Runtime) pickPlatform(ctx context.Context, desc ocispec.Descriptor) (ocispec.Descriptor, error) {
	var index ocispec.Index
	if err := r.readJSON(ctx, desc, &index); err != nil {
		return ocispec.Descriptor{}, err
	}
	match := platforms.Default()
	for _, m := range index.Manifests {
		// No platform at all: an index of one image, as some builders write it.
		if (m.Platform == nil && len(index.Manifests) == 1) || (m.Platform != nil && match.Match(*m.Platform)) {
			return m, nil
		}
	}
	return ocispec.Descriptor{}, fmt.Errorf("none of its %d manifests is for %s: %w", len(index.Manifests), platforms.DefaultString(), sandbox.ErrImageUnsupported)
}

// image returns the image of a manifest digest, unpacked. Concurrent callers for
// one digest share the work.
func (r *Runtime) image(ctx context.Context, manifest string) (*image, error) {
	if v, ok := r.images.Load(manifest); ok {
		return v.(*image), nil
	}
	ch := r.unpacking.DoChan(manifest, func() (any, error) {
		// Not the first caller's ctx: others wait for the same work. It ends with
		// the runtime, early enough to clean up over the open connection.
		ctx, cancel := r.cleanup(ctx, 10*time.Minute)
		defer cancel()
		r.background.Add(1)
		defer r.background.Done()
		done := make(chan struct{})
		defer close(done)
		go func() {
			select {
			case <-r.closing:
				cancel()
			case <-done:
			}
		}()
		img, err := r.unpack(ctx, manifest)
		if err == nil {
			r.images.Store(manifest, img)
		}
		return img, err
	})
	select {
	case res := <-ch:
		if res.Err != nil {
			return nil, res.Err
		}
		return res.Val.(*image), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("unpack image %s: %w", manifest, context.Cause(ctx))
	}
}

func (r *Runtime) unpack(ctx context.Context, manifest string) (*image, error) {
	dgst, err := digest.Parse(manifest)
	if err != nil {
		return nil, fmt.Errorf("image digest %q: %w: %w", clip(manifest, 100), sandbox.ErrInvalidSpec, err)
	}
	info, err := r.client.ContentStore().Info(ctx, dgst)
	if err != nil {
		if errdefs.IsNotFound(err) {
			return nil, fmt.Errorf("image %s: %w: resolve its reference again, it was removed from the store", dgst, sandbox.ErrImageNotFound)
		}
		return nil, r.storeError("image "+dgst.String(), err)
	}
	desc := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: dgst, Size: info.Size}
	var m ocispec.Manifest
	if err := r.readJSON(ctx, desc, &m); err != nil {
		return nil, fmt.Errorf("image %s: %w", dgst, err)
	}
	if m.MediaType != "" {
		desc.MediaType = m.MediaType
	}
	var config ocispec.Image
	if err := r.readJSON(ctx, m.Config, &config); err != nil {
		return nil, fmt.Errorf("image %s: %w", dgst, err)
	}
	p := ocispec.Platform{OS: config.OS, Architecture: config.Architecture, Variant: config.Variant}
	if !platforms.Default().Match(p) {
		return nil, fmt.Errorf("image %s is for %s, this machine is %s: %w", dgst, platforms.Format(p), platforms.DefaultString(), sandbox.ErrImageUnsupported)
	}
	if len(config.RootFS.DiffIDs) == 0 || len(config.RootFS.DiffIDs) != len(m.Layers) {
		return nil, fmt.Errorf("image %s has %d layers and %d layer digests: %w", dgst, len(m.Layers), len(config.RootFS.DiffIDs), sandbox.ErrImageUnsupported)
	}

	img := client.NewImage(r.client, images.Image{Name: dgst.String(), Target: desc})
	start := time.Now()
	done, err := img.IsUnpacked(ctx, r.cfg.Snapshotter)
	if err != nil {
		return nil, r.storeError("image "+dgst.String(), err)
	}
	if !done {
		if err := img.Unpack(ctx, r.cfg.Snapshotter); err != nil {
			return nil, r.storeError("unpack image "+dgst.String(), err)
		}
		r.cfg.Logger.Info("image unpacked", "image_digest", dgst.String(), "seconds", time.Since(start).Seconds())
	}
	return &image{config: config, chain: identity.ChainID(config.RootFS.DiffIDs).String()}, nil
}

func (r *Runtime) readJSON(ctx context.Context, desc ocispec.Descriptor, into any) error {
	if desc.Size > maxManifest {
		return fmt.Errorf("%s has %d bytes, at most %d are accepted: %w", desc.Digest, desc.Size, maxManifest, sandbox.ErrImageUnsupported)
	}
	b, err := content.ReadBlob(ctx, r.client.ContentStore(), desc)
	if err != nil {
		if errdefs.IsNotFound(err) {
			return fmt.Errorf("its part %s is not in the image store: %w", desc.Digest, sandbox.ErrImageNotFound)
		}
		return r.storeError("read "+desc.Digest.String(), err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s is not a manifest (%w): %w", desc.Digest, err, sandbox.ErrImageUnsupported)
	}
	return nil
}

// storeError tells a store that does not answer from an image that can't be used.
func (r *Runtime) storeError(what string, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", what, err)
	case errdefs.IsUnavailable(err), errors.Is(err, context.DeadlineExceeded), errdefs.IsDeadlineExceeded(err):
		return fmt.Errorf("%s: %w: %w", what, sandbox.ErrUnhealthy, err)
	case errdefs.IsInvalidArgument(err), errdefs.IsFailedPrecondition(err), errdefs.IsNotImplemented(err):
		return fmt.Errorf("%s: %w: %w", what, sandbox.ErrImageUnsupported, err)
	default:
		return fmt.Errorf("%s: %w: %w", what, sandbox.ErrCreate, err)
	}
}
