package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Bounds of an archive or layout from outside.
const (
	maxMetadataBytes  = 8 << 20
	maxArchiveEntries = 20_000
	maxBlobBytes      = 32 << 30
)

var blobGrammar = regexp.MustCompile(`^blobs/sha256/[0-9a-f]{64}$`)

// source is an OCI layout as a folder or inside a tar archive: read-only, by
// the few names that a layout may have.
type source interface {
	// open returns a regular file and its size.
	open(name string) (io.ReadCloser, int64, error)
	Close() error
}

// openSource opens a folder or an uncompressed tar archive.
func openSource(p string) (source, error) {
	st, err := os.Stat(p)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		root, err := os.OpenRoot(p)
		if err != nil {
			return nil, err
		}
		return dirSource{root}, nil
	}
	return openTar(p)
}

// dirSource can't leave its folder, by symbolic links neither.
type dirSource struct{ root *os.Root }

func (s dirSource) open(name string) (io.ReadCloser, int64, error) {
	st, err := s.root.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if !st.Mode().IsRegular() {
		return nil, 0, refuseImage("%s is not a plain file", name)
	}
	f, err := s.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	return f, st.Size(), nil
}

func (s dirSource) Close() error { return s.root.Close() }

// tarSource knows where in the archive each file lies.
type tarSource struct {
	f     *os.File
	files map[string]span
}

type span struct{ offset, size int64 }

func openTar(p string) (source, error) {
	f, err := os.Open(p)
	if err != nil {
		return nil, err
	}
	s := &tarSource{f: f, files: map[string]span{}}
	if err := s.scan(); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

func (s *tarSource) scan() error {
	var magic [4]byte
	if n, _ := s.f.ReadAt(magic[:], 0); n >= 2 && (magic[0] == 0x1f && magic[1] == 0x8b || string(magic[:n]) == "\x28\xb5\x2f\xfd") {
		return refuseImage("the archive is compressed: unpack it to a plain .tar first (gunzip or zstd -d)")
	}
	tr := tar.NewReader(s.f)
	for n := 0; ; n++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return refuseImage("not a tar archive, or a damaged one (after %d entries): %v", n, err)
		}
		if n == maxArchiveEntries {
			return refuseImage("more than %d entries", maxArchiveEntries)
		}
		name := strings.TrimPrefix(h.Name, "./")
		if h.Typeflag == tar.TypeDir {
			continue
		}
		if !fs.ValidPath(name) || path.Clean(name) != name {
			return refuseImage("entry %q: not a name inside the archive", h.Name)
		}
		// Docker's own archives carry further files (manifest.json, links): they are never read.
		if name != ocispec.ImageLayoutFile && name != ocispec.ImageIndexFile && !blobGrammar.MatchString(name) {
			continue
		}
		if h.Typeflag != tar.TypeReg {
			return refuseImage("entry %q is a %s, where a plain file must be", h.Name, typeName(h.Typeflag))
		}
		if len(h.PAXRecords) > 0 && strings.HasPrefix(firstSparse(h.PAXRecords), "GNU.sparse") {
			return refuseImage("entry %q is sparse", h.Name)
		}
		if _, twice := s.files[name]; twice {
			return refuseImage("entry %q comes twice", h.Name)
		}
		// The reader stands at the content now: it reads no further than it must.
		at, err := s.f.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		s.files[name] = span{at, h.Size}
	}
}

func firstSparse(records map[string]string) string {
	for k := range records {
		if strings.HasPrefix(k, "GNU.sparse") {
			return k
		}
	}
	return ""
}

func (s *tarSource) open(name string) (io.ReadCloser, int64, error) {
	at, ok := s.files[name]
	if !ok {
		return nil, 0, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(io.NewSectionReader(s.f, at.offset, at.size)), at.size, nil
}

func (s *tarSource) Close() error { return s.f.Close() }

// openBlob checks the descriptor against what is there; the digest is for the
// reader to check, since only it sees the bytes.
func openBlob(s source, d ocispec.Descriptor) (io.ReadCloser, error) {
	if err := d.Digest.Validate(); err != nil || d.Digest.Algorithm() != digest.SHA256 {
		return nil, refuseImage("digest %.80q: only sha256 is read", d.Digest)
	}
	if d.Size < 0 || d.Size > maxBlobBytes {
		return nil, refuseImage("blob %s has %d bytes, at most %d are allowed", d.Digest, d.Size, int64(maxBlobBytes))
	}
	r, size, err := s.open("blobs/sha256/" + d.Digest.Encoded())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuseImage("blob %s is missing", d.Digest)
	}
	if err != nil {
		return nil, err
	}
	if size != d.Size {
		r.Close()
		return nil, refuseImage("blob %s has %d bytes, its descriptor says %d", d.Digest, size, d.Size)
	}
	return r, nil
}

// readBlob returns a small blob whose digest has been checked.
func readBlob(s source, d ocispec.Descriptor) ([]byte, error) {
	if d.Size > maxMetadataBytes {
		return nil, refuseImage("%s %s has %d bytes, at most %d are allowed", d.MediaType, d.Digest, d.Size, maxMetadataBytes)
	}
	r, err := openBlob(s, d)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", d.Digest, err)
	}
	if digest.FromBytes(b) != d.Digest {
		return nil, refuseImage("blob %s has other content than its digest says", d.Digest)
	}
	return b, nil
}
