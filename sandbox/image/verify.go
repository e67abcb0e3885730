package image

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"strings"

	"github.com/distribution/reference"
	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"harness/sandbox"
)

const (
	maxImages       = 5_000
	maxLayers       = 127
	maxImageEntries = 2_000_000
	maxImageBytes   = 64 << 30
)

// Media types of Docker's own images, which differ from OCI's in name only.
const (
	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerConfig   = "application/vnd.docker.container.image.v1+json"
	dockerLayer    = "application/vnd.docker.image.rootfs.diff.tar"
	dockerLayerGz  = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

// refuseImage names what is wrong with an archive from outside.
func refuseImage(format string, a ...any) error {
	return fmt.Errorf("%w: %s", sandbox.ErrImageUnsupported, fmt.Sprintf(format, a...))
}

// verified is one image of a source whose every byte has been checked.
type verified struct {
	names    []string // full references
	target   ocispec.Descriptor
	manifest ocispec.Manifest
	config   []byte
}

// listImages reads the index of a source: which images it holds, for this
// machine's architecture, without reading layers.
func listImages(s source) ([]verified, error) {
	r, size, err := s.open(ocispec.ImageIndexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuseImage("no index.json: not an OCI layout (an archive of `docker save` is one since Docker 25; older ones must be saved again)")
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > maxMetadataBytes {
		return nil, refuseImage("index.json has %d bytes, at most %d are allowed", size, maxMetadataBytes)
	}
	var idx ocispec.Index
	if err := json.NewDecoder(r).Decode(&idx); err != nil {
		return nil, refuseImage("index.json: %v", err)
	}
	if len(idx.Manifests) > maxImages {
		return nil, refuseImage("index.json lists %d images, at most %d are allowed", len(idx.Manifests), maxImages)
	}
	var out []verified
	at := map[digest.Digest]int{}
	for _, d := range idx.Manifests {
		img, err := openImage(s, d, 0)
		if err != nil {
			return nil, err
		}
		if img == nil {
			continue // an attestation, not an image
		}
		name, err := imageName(d, img.target.Digest)
		if err != nil {
			return nil, err
		}
		if i, ok := at[img.target.Digest]; ok {
			out[i].names = append(out[i].names, name)
			continue
		}
		at[img.target.Digest] = len(out)
		img.names = []string{name}
		out = append(out, *img)
	}
	if len(out) == 0 {
		return nil, refuseImage("index.json names no image")
	}
	return out, nil
}

// openImage follows d to the manifest for this platform. It returns nil for
// what is no image at all.
func openImage(s source, d ocispec.Descriptor, depth int) (*verified, error) {
	if d.Annotations["vnd.docker.reference.type"] != "" {
		return nil, nil
	}
	b, err := readBlob(s, d)
	if err != nil {
		return nil, err
	}
	switch d.MediaType {
	case ocispec.MediaTypeImageIndex, dockerIndex:
		if depth > 0 {
			return nil, refuseImage("index %s lies within an index", d.Digest)
		}
		var idx ocispec.Index
		if err := json.Unmarshal(b, &idx); err != nil {
			return nil, refuseImage("index %s: %v", d.Digest, err)
		}
		var have []string
		for _, m := range idx.Manifests {
			if m.Platform != nil && m.Platform.OS == "linux" && m.Platform.Architecture == runtime.GOARCH {
				return openImage(s, m, depth+1)
			}
			if m.Platform != nil {
				have = append(have, m.Platform.OS+"/"+m.Platform.Architecture)
			}
		}
		return nil, refuseImage("index %s has no image for linux/%s (it has %v)", d.Digest, runtime.GOARCH, have)
	case ocispec.MediaTypeImageManifest, dockerManifest:
	default:
		return nil, refuseImage("%s has media type %.80q, which is not known", d.Digest, d.MediaType)
	}

	img := &verified{target: ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}}
	if err := json.Unmarshal(b, &img.manifest); err != nil {
		return nil, refuseImage("manifest %s: %v", d.Digest, err)
	}
	m := img.manifest
	if m.Config.MediaType != ocispec.MediaTypeImageConfig && m.Config.MediaType != dockerConfig {
		return nil, refuseImage("manifest %s: config has media type %.80q, which is not known", d.Digest, m.Config.MediaType)
	}
	if len(m.Layers) == 0 || len(m.Layers) > maxLayers {
		return nil, refuseImage("manifest %s has %d layers: between 1 and %d are allowed", d.Digest, len(m.Layers), maxLayers)
	}
	for _, l := range m.Layers {
		if _, err := decompressor(l.MediaType); err != nil {
			return nil, err
		}
		if len(l.URLs) > 0 {
			return nil, refuseImage("layer %s is to be fetched from elsewhere", l.Digest)
		}
	}
	if img.config, err = readBlob(s, m.Config); err != nil {
		return nil, err
	}
	return img, nil
}

// verifyLayers reads every layer once: digests of the packed and the unpacked
// bytes, sizes, and that no entry's name or type could do harm when unpacked.
// Layers for which known returns true have been read before.
func (v *verified) verifyLayers(ctx context.Context, s source, known func(ocispec.Descriptor) bool) error {
	var config ocispec.Image
	if err := json.Unmarshal(v.config, &config); err != nil {
		return refuseImage("config %s: %v", v.manifest.Config.Digest, err)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH {
		return refuseImage("config %s is for %s/%s, this machine is linux/%s", v.manifest.Config.Digest, config.OS, config.Architecture, runtime.GOARCH)
	}
	if len(config.RootFS.DiffIDs) != len(v.manifest.Layers) {
		return refuseImage("config %s lists %d layers, the manifest %d", v.manifest.Config.Digest, len(config.RootFS.DiffIDs), len(v.manifest.Layers))
	}
	budget := &scanBudget{entries: maxImageEntries, bytes: maxImageBytes}
	for i, l := range v.manifest.Layers {
		if known(l) {
			continue
		}
		if err := scanLayer(ctx, s, l, config.RootFS.DiffIDs[i], budget); err != nil {
			return err
		}
	}
	return nil
}

type scanBudget struct {
	entries int
	bytes   int64
}

func scanLayer(ctx context.Context, s source, l ocispec.Descriptor, diffID digest.Digest, budget *scanBudget) error {
	unpack, err := decompressor(l.MediaType)
	if err != nil {
		return err
	}
	blob, err := openBlob(s, l)
	if err != nil {
		return err
	}
	defer blob.Close()
	packed := digest.SHA256.Digester()
	raw := io.TeeReader(blob, packed.Hash())
	plainReader, err := unpack(raw)
	if err != nil {
		return refuseImage("layer %s can't be unpacked: %v", l.Digest, err)
	}
	defer plainReader.Close()
	plain := digest.SHA256.Digester()
	counted := &budgetReader{ctx: ctx, r: io.TeeReader(plainReader, plain.Hash()), budget: budget, layer: l.Digest}

	tr := tar.NewReader(counted)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if errors.Is(err, sandbox.ErrImageUnsupported) || ctx.Err() != nil {
				return err
			}
			return refuseImage("layer %s: %v", l.Digest, err)
		}
		if budget.entries--; budget.entries < 0 {
			return refuseImage("layer %s: more than %d entries in one image", l.Digest, maxImageEntries)
		}
		if err := checkEntry(h); err != nil {
			return refuseImage("layer %s: %v", l.Digest, err)
		}
	}
	if _, err := io.Copy(io.Discard, counted); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return fmt.Errorf("read layer %s: %w", l.Digest, err)
	}
	if got := packed.Digest(); got != l.Digest {
		return refuseImage("layer %s has other content than its digest says (%s)", l.Digest, got)
	}
	if got := plain.Digest(); got != diffID {
		return refuseImage("layer %s unpacks to %s, the config says %.80s", l.Digest, got, diffID)
	}
	return nil
}

// checkEntry refuses what could reach outside of the root when unpacked.
func checkEntry(h *tar.Header) error {
	name, err := layerName(h.Name)
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeXGlobalHeader:
	case tar.TypeLink:
		if _, err := layerName(h.Linkname); err != nil {
			return fmt.Errorf("hard link %q: %w", name, err)
		}
	case tar.TypeChar, tar.TypeFifo:
		// Many published images carry the nodes of /dev; every runtime mounts its own over them.
		if path.Dir(name) != "/dev" {
			return refuse("%q is a %s", name, typeName(h.Typeflag))
		}
	default:
		return refuse("%q is a %s", name, typeName(h.Typeflag))
	}
	return nil
}

// budgetReader bounds what layers unpack to: a bomb ends here.
type budgetReader struct {
	ctx    context.Context
	r      io.Reader
	budget *scanBudget
	layer  digest.Digest
}

func (b *budgetReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, context.Cause(b.ctx)
	}
	n, err := b.r.Read(p)
	if b.budget.bytes -= int64(n); b.budget.bytes < 0 {
		return 0, refuseImage("layer %s: one image unpacks to more than %d bytes", b.layer, int64(maxImageBytes))
	}
	return n, err
}

type unpacker func(io.Reader) (io.ReadCloser, error)

func decompressor(mediaType string) (unpacker, error) {
	switch mediaType {
	case ocispec.MediaTypeImageLayer, dockerLayer:
		return func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(r), nil }, nil
	case ocispec.MediaTypeImageLayerGzip, dockerLayerGz:
		return func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }, nil
	case ocispec.MediaTypeImageLayerZstd:
		return func(r io.Reader) (io.ReadCloser, error) {
			z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
			if err != nil {
				return nil, err
			}
			return z.IOReadCloser(), nil
		}, nil
	}
	return nil, refuseImage("layer of media type %.80q, which is not known", mediaType)
}

// imageName is the full reference of an entry of the index. Docker and
// containerd write it under their own key, others under OCI's; an image without
// any gets a name from its digest.
func imageName(d ocispec.Descriptor, target digest.Digest) (string, error) {
	raw := d.Annotations["io.containerd.image.name"]
	if raw == "" {
		raw = d.Annotations[ocispec.AnnotationRefName]
	}
	if raw == "" || !strings.ContainsAny(raw, "/:@.") {
		tag := raw
		if tag == "" {
			tag = "latest"
		}
		raw = "harness.local/imported-" + target.Encoded()[:12] + ":" + tag
	}
	return NormalizeRef(raw)
}

// NormalizeRef turns a reference as people write it into the full form under
// which the store keeps it: "swebench/x" becomes "docker.io/swebench/x:latest".
func NormalizeRef(ref string) (string, error) {
	n, err := reference.ParseDockerRef(ref)
	if err != nil {
		return "", refuseImage("reference %.200q: %v", ref, err)
	}
	return n.String(), nil
}
