package image

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/defaults"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"harness/sandbox"
)

// Namespace is where the harness keeps its images in containerd.
const Namespace = "harness"

// Store is the image store of a containerd.
type Store struct {
	client *containerd.Client
	// Snapshotter that images are unpacked for; empty means containerd's default.
	Snapshotter string
}

// NewStore works on client, in the harness's namespace whatever the client's own is.
func NewStore(client *containerd.Client) *Store { return &Store{client: client} }

// Info describes one name in the store.
type Info struct {
	Ref       string    `json:"ref"`
	Digest    string    `json:"digest"`
	Size      int64     `json:"size"` // bytes of all blobs, as stored; layers that images share count in each
	CreatedAt time.Time `json:"created_at"`
}

// Import brings the images of an OCI archive (.tar) or layout folder into the
// store and unpacks them, all of them or only the references named. Every byte
// is checked before a name appears: what is hostile, damaged or not understood
// is refused with the reason, wrapping sandbox.ErrImageUnsupported. It returns
// the references, sorted. Import is idempotent.
func (s *Store) Import(ctx context.Context, path string, only ...string) ([]string, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, fmt.Errorf("import image %s: %w", path, err)
	}
	defer src.Close()
	refs, err := s.importSource(ctx, src, only)
	if err != nil {
		return nil, fmt.Errorf("import image %s: %w", path, err)
	}
	return refs, nil
}

func (s *Store) importSource(ctx context.Context, src source, only []string) ([]string, error) {
	found, err := listImages(src)
	if err != nil {
		return nil, err
	}
	if len(only) > 0 {
		if found, err = selectImages(found, only); err != nil {
			return nil, err
		}
	}
	ctx = namespaces.WithNamespace(ctx, Namespace)
	// What is not named yet must survive the garbage collector until it is.
	ctx, release, err := s.client.WithLease(ctx, leases.WithRandomID(), leases.WithExpiration(2*time.Hour))
	if err != nil {
		return nil, fmt.Errorf("take a lease: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		_ = release(ctx) // it expires by itself
	}()

	seen := map[digest.Digest]bool{}
	var refs []string
	for _, img := range found {
		known := func(d ocispec.Descriptor) bool { return seen[d.Digest] || s.has(ctx, d) }
		if err := img.verifyLayers(ctx, src, known); err != nil {
			return nil, fmt.Errorf("%s: %w", img.names[0], err)
		}
		if err := s.put(ctx, src, img); err != nil {
			return nil, fmt.Errorf("%s: %w", img.names[0], err)
		}
		for _, l := range img.manifest.Layers {
			seen[l.Digest] = true
		}
		refs = append(refs, img.names...)
	}
	slices.Sort(refs)
	return refs, nil
}

// selectImages keeps the wanted names only.
func selectImages(found []verified, only []string) ([]verified, error) {
	want := map[string]bool{}
	for _, ref := range only {
		n, err := NormalizeRef(ref)
		if err != nil {
			return nil, err
		}
		want[n] = true
	}
	var out []verified
	for _, img := range found {
		img.names = slices.DeleteFunc(slices.Clone(img.names), func(n string) bool { return !want[n] })
		for _, n := range img.names {
			delete(want, n)
		}
		if len(img.names) > 0 {
			out = append(out, img)
		}
	}
	if len(want) > 0 {
		return nil, fmt.Errorf("%w: %v is not in it", sandbox.ErrImageNotFound, slices.Sorted(maps.Keys(want)))
	}
	return out, nil
}

// has reports whether a blob is in the store already. It was checked when it
// came in: containerd commits a blob only under the digest of its bytes.
func (s *Store) has(ctx context.Context, d ocispec.Descriptor) bool {
	info, err := s.client.ContentStore().Info(ctx, d.Digest)
	return err == nil && info.Size == d.Size && info.Labels[labelChecked] != ""
}

// labelChecked marks blobs whose content has been looked through.
const labelChecked = "local.harness/checked"

// put writes blobs from the leaves up, then the names, then unpacks.
func (s *Store) put(ctx context.Context, src source, img verified) error {
	cs := s.client.ContentStore()
	blobs := append(slices.Clone(img.manifest.Layers), img.manifest.Config, img.target)
	children := map[string]string{"containerd.io/gc.ref.content.config": img.manifest.Config.Digest.String()}
	for i, l := range img.manifest.Layers {
		children[fmt.Sprintf("containerd.io/gc.ref.content.l.%d", i)] = l.Digest.String()
	}
	for _, d := range blobs {
		labels := map[string]string{labelChecked: "1"}
		if d.Digest == img.target.Digest {
			maps.Copy(labels, children)
		}
		if err := s.putBlob(ctx, cs, src, d, labels); err != nil {
			return err
		}
	}
	is := s.client.ImageService()
	var record images.Image
	for _, name := range img.names {
		record = images.Image{Name: name, Target: img.target}
		_, err := is.Create(ctx, record)
		if errdefs.IsAlreadyExists(err) {
			_, err = is.Update(ctx, record, "target")
		}
		if err != nil {
			return fmt.Errorf("name image: %w", err)
		}
	}
	if err := containerd.NewImage(s.client, record).Unpack(ctx, s.snapshotter()); err != nil {
		return fmt.Errorf("unpack image: %w", err)
	}
	return nil
}

func (s *Store) putBlob(ctx context.Context, cs content.Store, src source, d ocispec.Descriptor, labels map[string]string) error {
	r, err := openBlob(src, d)
	if err != nil {
		return err
	}
	defer r.Close()
	plain := ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
	err = content.WriteBlob(ctx, cs, "harness-import-"+d.Digest.Encoded(), r, plain, content.WithLabels(labels))
	if err != nil {
		return fmt.Errorf("store blob %s: %w", d.Digest, err)
	}
	// A blob that was there before, from another client, lacks our labels.
	fields := make([]string, 0, len(labels))
	for k := range labels {
		fields = append(fields, "labels."+k)
	}
	if _, err := cs.Update(ctx, content.Info{Digest: d.Digest, Labels: labels}, fields...); err != nil {
		return fmt.Errorf("label blob %s: %w", d.Digest, err)
	}
	return nil
}

// ready reports whether name points at the digest and is unpacked.
func (s *Store) ready(ctx context.Context, name string, want digest.Digest) bool {
	ctx = namespaces.WithNamespace(ctx, Namespace)
	img, err := s.client.GetImage(ctx, name)
	if err != nil || img.Target().Digest != want {
		return false
	}
	unpacked, err := img.IsUnpacked(ctx, s.snapshotter())
	return err == nil && unpacked
}

func (s *Store) snapshotter() string {
	if s.Snapshotter == "" {
		return defaults.DefaultSnapshotter
	}
	return s.Snapshotter
}

// Resolve returns the digest that ref names now. An unknown one wraps
// sandbox.ErrImageNotFound.
func (s *Store) Resolve(ctx context.Context, ref string) (string, error) {
	name, err := NormalizeRef(ref)
	if err != nil {
		return "", err
	}
	img, err := s.client.ImageService().Get(namespaces.WithNamespace(ctx, Namespace), name)
	if errdefs.IsNotFound(err) {
		return "", fmt.Errorf("%w: %s: build it with `harness image build` or bring it with `harness image import`; `harness image list` shows what is here", sandbox.ErrImageNotFound, ref)
	}
	if err != nil {
		return "", fmt.Errorf("resolve image %s: %w", ref, err)
	}
	return img.Target.Digest.String(), nil
}

// List returns what the store holds, by reference.
func (s *Store) List(ctx context.Context) ([]Info, error) {
	ctx = namespaces.WithNamespace(ctx, Namespace)
	all, err := s.client.ListImages(ctx)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	out := make([]Info, 0, len(all))
	for _, img := range all {
		size, err := img.Size(ctx)
		if err != nil && !errdefs.IsNotFound(err) {
			return nil, fmt.Errorf("list images: %s: %w", img.Name(), err)
		}
		out = append(out, Info{Ref: img.Name(), Digest: img.Target().Digest.String(), Size: size, CreatedAt: img.Metadata().CreatedAt})
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Ref, b.Ref) })
	return out, nil
}

// Remove takes names out of the store; containerd then frees what no other name
// holds. Unknown names are an error, after the known ones are gone.
func (s *Store) Remove(ctx context.Context, refs ...string) error {
	ctx = namespaces.WithNamespace(ctx, Namespace)
	var errs []error
	for i, ref := range refs {
		name, err := NormalizeRef(ref)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		var opts []images.DeleteOpt
		if i == len(refs)-1 {
			opts = append(opts, images.SynchronousDelete())
		}
		if err := s.client.ImageService().Delete(ctx, name, opts...); errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("%w: %s", sandbox.ErrImageNotFound, ref))
		} else if err != nil {
			errs = append(errs, fmt.Errorf("remove image %s: %w", ref, err))
		}
	}
	return errors.Join(errs...)
}
