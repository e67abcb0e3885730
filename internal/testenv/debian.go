package testenv

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/opencontainers/go-digest"
	imagespecs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"
)

const (
	debianSuite    = "bookworm"
	debianPackages = "python3-minimal,procps"
	debianRef      = "harness.test/debian:" + debianSuite
)

// cacheDir outlives the tests: making the image takes half a minute.
func cacheDir() string {
	if d := os.Getenv("HARNESS_TEST_CACHE"); d != "" {
		return d
	}
	return "/var/lib/harness/cache"
}

// debianArchive returns an OCI archive of the test image, made on first use on
// this machine. Several test binaries may come at once.
func debianArchive() (string, error) {
	sum := sha256.Sum256([]byte(debianSuite + debianPackages + "1"))
	path := filepath.Join(cacheDir(), "debian-test-"+hex.EncodeToString(sum[:4])+".oci.tar")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	layer := path + ".layer"
	defer func() { _ = os.Remove(layer) }()
	out, err := exec.Command("mmdebstrap", "--quiet", "--variant=minbase", "--include="+debianPackages, "--format=tar", debianSuite, layer).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make the test image: mmdebstrap: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if err := writeArchive(path+".new", layer); err != nil {
		return "", fmt.Errorf("make the test image: %w", err)
	}
	return path, os.Rename(path+".new", path)
}

// writeArchive wraps one uncompressed layer into an OCI image layout.
func writeArchive(path, layer string) (err error) {
	l, err := os.Open(layer)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	size, err := l.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = l.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	diff, err := digest.FromReader(l)
	if err != nil {
		return err
	}
	if _, err := l.Seek(0, io.SeekStart); err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	a := archive{tar.NewWriter(out)}

	config := a.json(ocispec.MediaTypeImageConfig, ocispec.Image{
		Platform: ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH},
		Config:   ocispec.ImageConfig{Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "FROM_IMAGE=yes"}, WorkingDir: "/"},
		RootFS:   ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{diff}},
	})
	manifest := a.json(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: imagespecs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: config.desc,
		Layers: []ocispec.Descriptor{{MediaType: ocispec.MediaTypeImageLayer, Digest: diff, Size: size}},
	})
	manifest.desc.Annotations = map[string]string{"io.containerd.image.name": debianRef, ocispec.AnnotationRefName: debianRef}
	index := a.json(ocispec.MediaTypeImageIndex, ocispec.Index{Versioned: imagespecs.Versioned{SchemaVersion: 2}, Manifests: []ocispec.Descriptor{manifest.desc}})
	return errors.Join(
		config.err, manifest.err, index.err,
		a.file("oci-layout", int64(len(layout)), strings.NewReader(layout)),
		a.file("index.json", int64(len(index.body)), strings.NewReader(index.body)),
		a.file("blobs/sha256/"+config.desc.Digest.Encoded(), config.desc.Size, strings.NewReader(config.body)),
		a.file("blobs/sha256/"+manifest.desc.Digest.Encoded(), manifest.desc.Size, strings.NewReader(manifest.body)),
		a.file("blobs/sha256/"+diff.Encoded(), size, l),
		a.w.Close(),
	)
}

const layout = `{"imageLayoutVersion":"1.0.0"}`

type archive struct{ w *tar.Writer }

type blob struct {
	desc ocispec.Descriptor
	body string
	err  error
}

func (archive) json(mediaType string, v any) blob {
	b, err := json.Marshal(v)
	return blob{ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(b), Size: int64(len(b))}, string(b), err}
}

func (a archive) file(name string, size int64, r io.Reader) error {
	if err := a.w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size}); err != nil {
		return err
	}
	_, err := io.Copy(a.w, r)
	return err
}
