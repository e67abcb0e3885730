package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/datasets/fetch"
)

const png = "\x89PNG\r\n\x1a\n pixels"

// pictureServer answers for every host.
func pictureServer(t *testing.T, answer http.HandlerFunc) *fetcher {
	srv := httptest.NewTLSServer(answer)
	t.Cleanup(srv.Close)
	f := newFetcher(t, nil)
	f.Token = "secret"
	f.Transport = &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
		},
		DisableKeepAlives: true,
	}
	return f
}

func TestPicture(t *testing.T) {
	asked, broken := 0, true
	f := pictureServer(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") != "" {
			t.Error("the hub's token was sent to another host")
		}
		switch {
		case r.Host == "example.org":
			http.Redirect(w, r, "https://cdn.example.org/x?signature=1", http.StatusFound)
		case broken:
			broken = false
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, png)
		}
	})
	const address = "https://example.org/a.png"
	p, err := f.Picture(t.Context(), address, 100)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(png))
	want := fetch.PictureInfo{URL: address, Type: "image/png", Size: int64(len(png)), SHA256: hex.EncodeToString(sum[:])}
	if string(p.Data) != png || p.PictureInfo != want || asked != 4 || len(f.pauses) != 1 {
		t.Errorf("%q %+v after %d requests and %d pauses", p.Data, p.PictureInfo, asked, len(f.pauses))
	}

	// The second time nobody is asked, until the cache is damaged.
	again := func(requests int) {
		t.Helper()
		if p, err := f.Picture(t.Context(), address, 100); err != nil || string(p.Data) != png || p.PictureInfo != want || asked != requests {
			t.Errorf("%+v, %v, %d requests", p, err, asked)
		}
	}
	again(4)
	f.Offline = true
	again(4)
	f.Offline = false
	if _, err := f.Picture(t.Context(), address, 5); !errors.As(err, new(*fetch.AddressError)) {
		t.Errorf("a smaller limit: %v", err)
	}
	blob := filepath.Join(f.Dir, "blobs", want.SHA256)
	if err := os.WriteFile(blob, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	again(6)
}

func TestPictureRefused(t *testing.T) {
	send := func(kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{kind}
			fmt.Fprint(w, text)
		}
	}
	to := func(address string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/a.png" {
				fmt.Fprint(w, png)
				return
			}
			http.Redirect(w, r, address, http.StatusFound)
		}
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"not there":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "the server answers 404 Not Found"},
		"web page":     {send("text/plain", "<!doctype html><p>log in"), "it is a web page"},
		"declared":     {send("text/html; charset=utf-8", png), `it is "text/html", a picture is expected`},
		"video":        {send("video/mp4", png), `it is "video/mp4"`},
		"bad type":     {send("image/png/;;", png), "can't be read"},
		"pointer":      {send("text/plain", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), "git-lfs pointer"},
		"empty":        {send("image/png", ""), "it is empty"},
		"large":        {send("image/png", strings.Repeat("x", 2000)), "more than 1000 bytes"},
		"endless":      {endless, "more than 1000 bytes"},
		"bomb":         {bomb, "packed"},
		"to http":      {to("http://example.org/b"), "only https"},
		"to file":      {to("file:///etc/passwd"), "only https"},
		"to metadata":  {to("https://169.254.169.254/latest/meta-data"), "169.254.169.254 is not on the public internet"},
		"to this host": {to("https://localhost/b"), "localhost is not on the public internet"},
		"with a login": {to("https://a:b@example.org/b"), "a user name or a password"},
		"in a circle":  {to("https://example.org/a.png"), "redirects more than 10 times"},
	} {
		t.Run(name, func(t *testing.T) {
			f := pictureServer(t, tt.answer)
			_, err := f.Picture(t.Context(), "https://example.org/a.png", 1000)
			if !errors.As(err, new(*fetch.AddressError)) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "https://example.org/a.png") {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
			if left, _ := filepath.Glob(filepath.Join(f.Dir, "*", "*")); len(left) > 0 {
				t.Errorf("the cache holds %v", left)
			}
		})
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "image/png")
	for r.Context().Err() == nil {
		if _, err := w.Write(make([]byte, 1<<10)); err != nil {
			return
		}
	}
}

func bomb(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(make([]byte, 100_000))
	_ = z.Close()
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(b.Bytes())
}
