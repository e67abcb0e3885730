package fetch

import (
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // it is how git names content, and the hub names small files so
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The cache holds
//
//	blobs/SHA256                       content, whole and read-only
//	partial/NAME                       a download that is under way or was cut off
//	hub/HOST/ORG/NAME/COMMIT/PATH      links to blobs
//	hub/HOST/ORG/NAME/COMMIT.json      the listing of the commit
//	hub/HOST/ORG/NAME/refs/REVISION    the commit that a branch or tag was last seen at
//	s3/ID/PATH                         links to blobs
//
// so that removing any part of it costs a download and nothing else.

func (f *Fetcher) repoDir(c *client, a Address) string {
	return filepath.Join(f.Dir, "hub", url.PathEscape(c.hub.Host), filepath.FromSlash(a.Repo))
}

func (f *Fetcher) snapshot(c *client, a Address, commit string) string {
	return filepath.Join(f.repoDir(c, a), commit)
}

func (f *Fetcher) refFile(c *client, a Address) string {
	return filepath.Join(f.repoDir(c, a), "refs", url.PathEscape(a.Revision))
}

// cachedListing returns nil when there is none, or none that can be read.
func (f *Fetcher) cachedListing(c *client, a Address, commit string) *listing {
	data, err := os.ReadFile(f.snapshot(c, a, commit) + ".json")
	if err != nil {
		return nil
	}
	var l listing
	if json.Unmarshal(data, &l) != nil || l.Commit != commit {
		return nil
	}
	for i := range l.Files {
		if l.Files[i].check() != nil {
			return nil
		}
	}
	return &l
}

// remember keeps a listing, and which commit the revision stood for.
func (f *Fetcher) remember(c *client, a Address, l *listing) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("keep the listing of %s: %w", a, err)
	}
	if err := writeFile(f.snapshot(c, a, l.Commit)+".json", data); err != nil {
		return err
	}
	if commitID.MatchString(a.Revision) {
		return nil
	}
	return writeFile(f.refFile(c, a), []byte(l.Commit+"\n"))
}

// lastSeen is for a hub that can't be asked: the revision as it was known last.
func (f *Fetcher) lastSeen(c *client, a Address, why error) (*listing, error) {
	commit := a.Revision
	seen := ""
	if !commitID.MatchString(commit) {
		data, err := os.ReadFile(f.refFile(c, a))
		if err != nil {
			return nil, fmt.Errorf("%w; the cache does not know revision %s of %s either", why, a.Revision, a.Repo)
		}
		commit = strings.TrimSpace(string(data))
		if info, err := os.Stat(f.refFile(c, a)); err == nil {
			seen = " on " + info.ModTime().UTC().Format(time.DateOnly)
		}
	}
	l := f.cachedListing(c, a, commit)
	if l == nil {
		return nil, fmt.Errorf("%w; the cache does not have commit %s of %s either", why, commit, a.Repo)
	}
	f.note(fmt.Sprintf("%v; using commit %s from the cache, which is what %s was%s", why, commit, a.Revision, seen))
	return l, nil
}

func writeFile(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write to the cache: %w", errors.Join(err, tmp.Close(), os.Remove(tmp.Name())))
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return err
	}
	if err := tmp.Chmod(0o644); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return tmp.Close()
}

// checkSize refuses a split before a byte of it is fetched.
func (f *Fetcher) checkSize(a Address, files []entry) error {
	var total int64
	for _, e := range files {
		if total += e.Size; total > f.maxBytes() || total < 0 {
			return refuse(a.raw, "the split holds more than %d bytes, which is the most that is fetched", f.maxBytes())
		}
	}
	return nil
}

// content is what the bytes of a file must be.
type content struct {
	size   int64
	sha256 string // "" when only gitID, or nothing, is known
	gitID  string
}

func (e *entry) content() content { return content{e.Size, e.SHA256, e.GitID} }

// sum reads r to its end. It returns the SHA-256, and an error when the bytes are
// not those that were promised.
func (c content) sum(r io.Reader) (string, error) {
	h := sha256.New()
	var git hash.Hash
	w := io.Writer(h)
	if c.sha256 == "" && c.gitID != "" {
		git = sha1.New() //nolint:gosec // see the import
		fmt.Fprintf(git, "blob %d\x00", c.size)
		w = io.MultiWriter(h, git)
	}
	n, err := io.Copy(w, r)
	if err != nil {
		return "", err
	}
	got := hex.EncodeToString(h.Sum(nil))
	switch {
	case n != c.size:
		return got, fmt.Errorf("%w: it has %d bytes, the listing says %d", ErrDigest, n, c.size)
	case c.sha256 != "" && got != c.sha256:
		return got, fmt.Errorf("%w: its SHA-256 is %s, the listing says %s", ErrDigest, got, c.sha256)
	case git != nil && hex.EncodeToString(git.Sum(nil)) != c.gitID:
		return got, fmt.Errorf("%w: git would name it %x, the listing says %s", ErrDigest, git.Sum(nil), c.gitID)
	}
	return got, nil
}

func (c content) sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	return c.sum(f)
}

// ErrDigest: the bytes are not those that the listing promised.
var ErrDigest = errors.New("wrong content")

func (f *Fetcher) blob(sum string) string { return filepath.Join(f.Dir, "blobs", sum) }

// bring makes dir/e.Path a link to the file's content, fetching it if need be.
// What is in the cache is hashed again: a disk may have changed it.
func (f *Fetcher) bring(ctx context.Context, wait waiter, dir string, e entry, want content, label string, open opener) error {
	link := filepath.Join(dir, filepath.FromSlash(e.Path))
	sum := want.sha256
	if target, err := os.Readlink(link); err == nil && sha256Hex.MatchString(filepath.Base(target)) && sum == "" {
		sum = filepath.Base(target)
	}
	if sum != "" {
		switch got, err := want.sumFile(f.blob(sum)); {
		case err == nil && got == sum:
			return f.link(link, sum)
		case !errors.Is(err, fs.ErrNotExist):
			f.note(fmt.Sprintf("the cache's copy of %s is damaged; fetching it again", label))
			if err := os.Remove(f.blob(sum)); err != nil {
				return err
			}
		}
	}
	sum, err := f.download(ctx, wait, want, label, open)
	if err != nil {
		return err
	}
	return f.link(link, sum)
}

// link points path at a blob. Links are relative, so that the cache may move.
func (f *Fetcher) link(path, sum string) error {
	target, err := filepath.Rel(filepath.Dir(path), f.blob(sum))
	if err != nil {
		return err
	}
	if now, err := os.Readlink(path); err == nil && now == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	tmp := path + ".tmp-" + rand.Text()
	if err := os.Symlink(target, tmp); err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write to the cache: %w", errors.Join(err, os.Remove(tmp)))
	}
	return nil
}

// lock takes the file for this process, waiting for another one that has it.
func (f *Fetcher) lock(ctx context.Context, file *os.File, label string) error {
	for noted := false; ; {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		if !noted {
			f.note("waiting for another process that fetches " + label)
			noted = true
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}
