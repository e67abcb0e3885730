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
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"
)

const (
	defaultIndex  = "https://pypi.org/simple"
	maxIndexBytes = 64 << 20
	fetchTries    = 4
	simpleJSON    = "application/vnd.pypi.simple.v1+json"
)

// PyPI fetches files of a Python package index: the "simple" API, as JSON
// (PEP 691) or, where an index has only that, as HTML (PEP 503). Files are kept
// under their digest and never unpacked. It is safe for concurrent use.
type PyPI struct {
	Index    string // address of the simple API; "" means https://pypi.org/simple
	CacheDir string // <CacheDir>/sha256/<digest>
	Client   *http.Client

	tries int // 0 means fetchTries

	mu    sync.Mutex
	pages map[string][]IndexFile
}

var _ Fetcher = (*PyPI)(nil)

// NewPyPI honours PIP_INDEX_URL, as pip does.
func NewPyPI(cacheDir string, getenv func(string) string) *PyPI {
	return &PyPI{Index: getenv("PIP_INDEX_URL"), CacheDir: cacheDir}
}

// IndexFile is one file that an index offers. Size is 0 where the index does
// not say.
type IndexFile struct {
	Name           string
	SHA256         string // "" when the index does not say: such a file can't be locked
	Size           int64
	Yanked         bool
	RequiresPython string

	url *url.URL
}

// Files lists what the index has of a project (normalised name). It is asked
// once for each project.
func (p *PyPI) Files(ctx context.Context, project string) ([]IndexFile, error) {
	if !projectGrammar.MatchString(project) {
		return nil, fmt.Errorf("list files of project %q: not a normalised project name", project)
	}
	p.mu.Lock()
	files, ok := p.pages[project]
	p.mu.Unlock()
	if ok {
		return files, nil
	}
	files, err := p.page(ctx, project)
	if err != nil {
		return nil, fmt.Errorf("list files of project %s: %w", project, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pages == nil {
		p.pages = map[string][]IndexFile{}
	}
	p.pages[project] = files
	return files, nil
}

// Fetch returns the path of the locked file, downloading it unless it is here.
// An index that offers another file under the same name is an error.
func (p *PyPI) Fetch(ctx context.Context, f LockedFile) (string, error) {
	if err := f.validate(); err != nil {
		return "", err
	}
	dst := filepath.Join(p.CacheDir, "sha256", f.SHA256)
	if st, err := os.Stat(dst); err == nil && st.Size() == f.Size {
		if sum, err := fileSHA256(dst); err == nil && sum == f.SHA256 {
			return dst, nil
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("fetch %s: %w", f.Name, err)
	}
	files, err := p.Files(ctx, f.Project)
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", f.Name, err)
	}
	for _, c := range files {
		if c.Name != f.Name {
			continue
		}
		if c.SHA256 != "" && c.SHA256 != f.SHA256 {
			return "", fmt.Errorf("fetch %s: the index offers a file with sha256 %s, the lock wants %s: do not use it before you know why", f.Name, c.SHA256, f.SHA256)
		}
		if err := p.download(ctx, c.url, dst, f); err != nil {
			return "", fmt.Errorf("fetch %s: %w", f.Name, err)
		}
		return dst, nil
	}
	return "", fmt.Errorf("fetch %s: the index %s has no such file of project %s", f.Name, p.base().Redacted(), f.Project)
}

func (p *PyPI) base() *url.URL {
	raw := p.Index
	if raw == "" {
		raw = defaultIndex
	}
	u, err := url.Parse(strings.TrimSuffix(raw, "/") + "/")
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return &url.URL{Scheme: "invalid", Host: "PIP_INDEX_URL"}
	}
	return u
}

func (p *PyPI) page(ctx context.Context, project string) ([]IndexFile, error) {
	at := p.base().JoinPath(project, "/")
	var files []IndexFile
	err := p.get(ctx, at, simpleJSON+", text/html;q=0.1", func(r *http.Response) error {
		body := http.MaxBytesReader(nil, r.Body, maxIndexBytes)
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		var err error
		if kind == simpleJSON {
			files, err = parseSimpleJSON(body, r.Request.URL)
		} else {
			files, err = parseSimpleHTML(body, r.Request.URL)
		}
		return err
	})
	return files, err
}

func parseSimpleJSON(r io.Reader, base *url.URL) ([]IndexFile, error) {
	var page struct {
		Files []struct {
			Filename       string            `json:"filename"`
			URL            string            `json:"url"`
			Hashes         map[string]string `json:"hashes"`
			Size           int64             `json:"size"`
			Yanked         any               `json:"yanked"`
			RequiresPython string            `json:"requires-python"`
		} `json:"files"`
	}
	if err := json.NewDecoder(r).Decode(&page); err != nil {
		return nil, fmt.Errorf("read index page %s: %w", base.Redacted(), err)
	}
	var out []IndexFile
	for _, f := range page.Files {
		u, err := base.Parse(f.URL)
		if err != nil || !fileGrammar.MatchString(f.Filename) {
			continue // a file that can't be asked for is not there
		}
		yanked := f.Yanked != nil && f.Yanked != false
		out = append(out, IndexFile{Name: f.Filename, SHA256: f.Hashes["sha256"], Size: f.Size, Yanked: yanked, RequiresPython: f.RequiresPython, url: u})
	}
	return out, nil
}

func parseSimpleHTML(r io.Reader, base *url.URL) ([]IndexFile, error) {
	var out []IndexFile
	z := html.NewTokenizer(r)
	for {
		switch z.Next() {
		case html.ErrorToken:
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("read index page %s: %w", base.Redacted(), err)
			}
			return out, nil
		case html.StartTagToken:
			t := z.Token()
			if t.Data != "a" {
				continue
			}
			f := IndexFile{}
			for _, a := range t.Attr {
				switch a.Key {
				case "href":
					if u, err := base.Parse(a.Val); err == nil {
						f.SHA256, _ = strings.CutPrefix(u.Fragment, "sha256=")
						u.Fragment = ""
						f.url, f.Name = u, path.Base(u.Path)
					}
				case "data-yanked":
					f.Yanked = true
				case "data-requires-python":
					f.RequiresPython = a.Val
				}
			}
			if f.url == nil || !fileGrammar.MatchString(f.Name) {
				continue
			}
			if !sha256Grammar.MatchString(f.SHA256) {
				f.SHA256 = ""
			}
			out = append(out, f)
		}
	}
}

func (p *PyPI) download(ctx context.Context, from *url.URL, dst string, want LockedFile) error {
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	return p.get(ctx, from, "*/*", func(r *http.Response) error {
		f, err := os.CreateTemp(filepath.Dir(dst), ".tmp-*")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name()) // gone after the rename
		defer f.Close()
		h := sha256.New()
		n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r.Body, want.Size+1))
		if err != nil {
			return fmt.Errorf("download: %w", err)
		}
		if got := hex.EncodeToString(h.Sum(nil)); n != want.Size || got != want.SHA256 {
			return fmt.Errorf("%w: downloaded %d bytes with sha256 %s, the lock wants %d with %s", errMismatch, n, got, want.Size, want.SHA256)
		}
		return errors.Join(f.Chmod(0o644), f.Sync(), os.Rename(f.Name(), dst))
	})
}

// errMismatch is not worth another try.
var errMismatch = errors.New("not the locked file")

// get asks up to fetchTries times, with growing pauses, as long as the answer
// may change.
func (p *PyPI) get(ctx context.Context, u *url.URL, accept string, use func(*http.Response) error) error {
	var last error
	tries := p.tries
	if tries == 0 {
		tries = fetchTries
	}
	for try := range tries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Second << (try - 1)):
			}
		}
		again, err := p.getOnce(ctx, u, accept, use)
		if err == nil || !again || ctx.Err() != nil {
			return err
		}
		last = err
	}
	return fmt.Errorf("%w (%d tries): check the network, or point PIP_INDEX_URL at an index that is reachable", last, tries)
}

func (p *PyPI) getOnce(ctx context.Context, u *url.URL, accept string, use func(*http.Response) error) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return false, fmt.Errorf("ask %s: %w", u.Redacted(), errors.Unwrap(err))
	}
	req.Header.Set("Accept", accept)
	client := p.Client
	if client == nil {
		client = http.DefaultClient
	}
	r, err := client.Do(req)
	if err != nil {
		return true, err // its text has the address without a password
	}
	defer r.Body.Close()
	switch {
	case r.StatusCode == http.StatusOK:
		err := use(r)
		return err != nil && !errors.Is(err, errMismatch), err
	case r.StatusCode == http.StatusNotFound:
		return false, fmt.Errorf("%s: not found on this index", u.Redacted())
	default:
		return r.StatusCode == http.StatusTooManyRequests || r.StatusCode >= 500, fmt.Errorf("%s answers %s", u.Redacted(), r.Status)
	}
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
