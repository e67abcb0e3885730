package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// builderVersion changes when equal recipes would give other images than before.
const builderVersion = "harness image recipe 1"

// Digest is the content address of a recipe: 64 hex digits over its text, its
// lock, its files and the digest of what it is built from.
func (r *Recipe) Digest() (string, error) {
	h := sha256.New()
	part(h, "version", []byte(builderVersion))
	part(h, "text", r.text)
	if r.Lock != nil {
		b, err := json.Marshal(r.Lock)
		if err != nil {
			return "", fmt.Errorf("digest of recipe: %w", err)
		}
		part(h, "lock", b)
	}
	for i, set := range r.Files {
		part(h, "files", []byte(set.To))
		if err := r.walkFiles(set, func(e fileEntry) error { return e.digest(h) }); err != nil {
			return "", fmt.Errorf("digest of recipe: files[%d]: %w", i, err)
		}
	}
	if r.Parent != nil {
		p, err := r.Parent.Digest()
		if err != nil {
			return "", err
		}
		part(h, "parent", []byte(p))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// part writes a field so that no two lists of fields give the same bytes.
func part(h hash.Hash, kind string, b []byte) { fmt.Fprintf(h, "%s %d\n%s\n", kind, len(b), b) }

// fileEntry is one file, folder or link of a FileSet: where it lies here, and
// its absolute path in the image.
type fileEntry struct {
	local string
	to    string
	mode  fs.FileMode
	size  int64
	link  string
}

func (e fileEntry) digest(h hash.Hash) error {
	part(h, "entry", fmt.Appendf(nil, "%s %o %s", e.to, e.tarMode(), e.link))
	if !e.mode.IsRegular() {
		return nil
	}
	f, err := os.Open(e.local)
	if err != nil {
		return err
	}
	defer f.Close()
	content := sha256.New()
	if _, err := io.Copy(content, f); err != nil {
		return fmt.Errorf("read %s: %w", e.local, err)
	}
	part(h, "content", content.Sum(nil))
	return nil
}

// tarMode keeps only what a checkout keeps: executable or not.
func (e fileEntry) tarMode() int64 {
	if e.mode.IsDir() || e.mode&0o100 != 0 {
		return 0o755
	}
	return 0o644
}

// walkFiles visits a FileSet in a fixed order.
func (r *Recipe) walkFiles(set FileSet, visit func(fileEntry) error) error {
	root := r.local(set.From)
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		e := fileEntry{local: p, to: path.Join(set.To, filepath.ToSlash(rel)), mode: st.Mode(), size: st.Size()}
		switch {
		case e.mode.IsRegular(), e.mode.IsDir():
		case e.mode&fs.ModeSymlink != 0:
			if e.link, err = os.Readlink(p); err != nil {
				return err
			}
			if path.IsAbs(e.link) || strings.HasPrefix(path.Join(path.Dir(e.to), e.link), "..") {
				return fmt.Errorf("%s: a symbolic link must be relative", p)
			}
		default:
			return fmt.Errorf("%s is neither file, folder nor symbolic link: take it out of the recipe's folder", p)
		}
		return visit(e)
	})
}
