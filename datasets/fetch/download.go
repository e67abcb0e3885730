package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

type waiter func(ctx context.Context, d time.Duration) error

// opener opens a file at an offset. etag, "" at first, is that of the bytes there
// are already: when the file is another one now, the body starts at 0.
type opener func(ctx context.Context, offset int64, etag string) (body, error)

// body is the rest of a file.
type body struct {
	io.ReadCloser
	start int64
	etag  string // "" when there is none that compares bytes
}

// fromHub opens a file of a repository. The hub redirects to where the bytes are.
func (f *Fetcher) fromHub(c *client, a Address, commit string, e entry) opener {
	segments := strings.Split(e.Path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	address := c.hub.String() + "/datasets/" + a.Repo + "/resolve/" + commit + "/" + strings.Join(segments, "/")
	return func(ctx context.Context, offset int64, etag string) (body, error) {
		if f.Offline {
			return body{}, permanentError{fmt.Errorf("%s is not in the cache, and HF_HUB_OFFLINE is set", e.Path)}
		}
		// Packed transfer would make offsets those of other bytes.
		header := map[string]string{"Accept-Encoding": "identity"}
		codes := []int{http.StatusOK}
		if offset > 0 {
			header["Range"] = fmt.Sprintf("bytes=%d-", offset)
			if etag != "" {
				header["If-Range"] = etag
			}
			codes = append(codes, http.StatusPartialContent)
		}
		resp, err := c.get(ctx, address, header, codes...)
		if err != nil {
			return body{}, err
		}
		b := body{ReadCloser: resp.Body, etag: resp.Header.Get("ETag")}
		if strings.HasPrefix(b.etag, "W/") {
			b.etag = ""
		}
		if resp.StatusCode == http.StatusPartialContent {
			if b.start, err = rangeStart(resp.Header.Get("Content-Range")); err != nil || b.start != offset {
				_ = resp.Body.Close()
				return body{}, fmt.Errorf("%s sends the range %q, bytes from %d on were asked for", bare(address), resp.Header.Get("Content-Range"), offset)
			}
		}
		return b, nil
	}
}

// rangeStart reads the first number of "bytes 5-9/10".
func rangeStart(v string) (int64, error) {
	v, ok := strings.CutPrefix(v, "bytes ")
	first, _, dash := strings.Cut(v, "-")
	if !ok || !dash {
		return 0, fmt.Errorf("content range %q can't be read", v)
	}
	return strconv.ParseInt(first, 10, 64)
}

// partial is a download under way.
type partial struct {
	file  *os.File
	want  content
	label string
	etag  string
	start int64 // what the last try began with
}

// download fetches a file into the cache and returns its SHA-256. It goes on
// where an earlier download, also one of another process, was cut off.
func (f *Fetcher) download(ctx context.Context, wait waiter, want content, label string, open opener) (string, error) {
	name := sha256.Sum256([]byte(want.sha256 + "|" + want.gitID + "|" + label))
	if want.sha256 != "" {
		name = sha256.Sum256([]byte(want.sha256))
	}
	path := filepath.Join(f.Dir, "partial", hex.EncodeToString(name[:16]))
	for _, dir := range []string{filepath.Dir(path), filepath.Join(f.Dir, "blobs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", fmt.Errorf("write to the cache: %w", err)
		}
	}
	file, err := f.openPartial(ctx, path, label)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	p := &partial{file: file, want: want, label: label}
	if etag, err := os.ReadFile(path + ".etag"); err == nil && len(etag) < 1000 {
		p.etag = string(etag)
	}
	f.note(fmt.Sprintf("fetching %s (%d bytes)", label, want.size))
	sum, err := f.complete(ctx, wait, p, open)
	if err != nil {
		return "", err
	}
	return sum, f.keep(p, path, sum)
}

// openPartial opens the file of a download for this process alone. Who held it
// before may have finished it, after which the file has another name.
func (f *Fetcher) openPartial(ctx context.Context, path, label string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, fmt.Errorf("write to the cache: %w", err)
		}
		if err := f.lock(ctx, file, label); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		mine, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if named, err := os.Stat(path); err == nil && os.SameFile(mine, named) {
			return file, nil
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
}

// complete tries until the file is whole and right.
func (f *Fetcher) complete(ctx context.Context, wait waiter, p *partial, open opener) (string, error) {
	c := &client{wait: wait}
	furthest, failed, restarted := int64(-1), 0, false
	for {
		have, err := p.some(ctx, f, open)
		if have > furthest {
			furthest, failed = have, 0
		}
		if err == nil {
			sum, err := p.check()
			if err == nil {
				return sum, nil
			}
			if !errors.Is(err, ErrDigest) {
				return "", err
			}
			// What was there before this try may be to blame. Wrong bytes are not kept.
			if truncErr := p.file.Truncate(0); truncErr != nil {
				return "", truncErr
			}
			if p.start == 0 || restarted {
				return "", fmt.Errorf("%s: the server sends %w; nothing was kept", p.label, err)
			}
			f.note(p.label + " was put together of parts that do not fit; fetching it again")
			restarted, furthest, failed = true, -1, 0
			continue
		}
		if failed++; errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%s: the server stopped after %d of %d bytes: %w", p.label, have, p.want.size, err)
		}
		if err := c.again(ctx, failed, err); err != nil {
			return "", err
		}
		f.note(fmt.Sprintf("%v; trying again", err))
	}
}

// check hashes what is there.
func (p *partial) check() (string, error) {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return p.want.sum(p.file)
}

// some makes one request and appends what it brings. It returns how many bytes
// there are now; without an error that is all.
func (p *partial) some(ctx context.Context, f *Fetcher, open opener) (have int64, err error) {
	if have, err = p.file.Seek(0, io.SeekEnd); err != nil {
		return have, err
	}
	if have > p.want.size {
		have = 0
	}
	p.start = have
	if have == p.want.size && have > 0 {
		return have, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := f.Idle
	if idle == 0 {
		idle = time.Minute
	}
	watch := time.AfterFunc(idle, func() { cancel(fmt.Errorf("the server sent nothing for %s", idle)) })
	defer watch.Stop()
	b, err := open(ctx, have, p.etag)
	if err != nil {
		var status *statusError
		if errors.As(err, &status) && status.code == http.StatusRequestedRangeNotSatisfiable && have > 0 {
			if err := p.file.Truncate(0); err != nil {
				return have, permanentError{err}
			}
			return have, fmt.Errorf("%s: the server stopped after %d of %d bytes and says that there are no more", p.label, have, p.want.size)
		}
		return have, cause(ctx, err)
	}
	defer func() { _ = b.Close() }()
	have, p.start = b.start, b.start
	if err := p.file.Truncate(have); err != nil {
		return have, permanentError{err}
	}
	if err := p.remember(b.etag); err != nil {
		return have, permanentError{err}
	}
	// One byte more than promised is enough to know that it is too much.
	n, err := io.Copy(io.NewOffsetWriter(p.file, have), io.LimitReader(&watched{b, watch, idle}, p.want.size-have+1))
	have += n
	switch {
	case err != nil:
		return have, cause(ctx, err)
	case have < p.want.size:
		return have, io.ErrUnexpectedEOF
	}
	return have, nil
}

// remember keeps the ETag of what is there for a later process.
func (p *partial) remember(etag string) error {
	if p.etag = etag; etag == "" {
		return removeIfThere(p.file.Name() + ".etag")
	}
	return os.WriteFile(p.file.Name()+".etag", []byte(etag), 0o644)
}

// keep makes a whole file a blob.
func (f *Fetcher) keep(p *partial, path, sum string) error {
	if err := p.file.Sync(); err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	if err := p.file.Chmod(0o444); err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	if err := os.Rename(path, f.blob(sum)); err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	return removeIfThere(path + ".etag")
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// cause prefers the reason for which ctx ended to what it made of the request.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// watched tells the watch of every byte.
type watched struct {
	r     io.Reader
	watch *time.Timer
	idle  time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.watch.Reset(w.idle)
	}
	return n, err
}
