package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Picture is what an address in a dataset row stands for.
type Picture struct {
	Data []byte
	PictureInfo
}

// PictureInfo is what the cache keeps of a picture beside its bytes.
type PictureInfo struct {
	URL    string `json:"url"`
	Type   string `json:"content_type"` // as the server said; "" when it did not
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// pictureTime bounds one request for a picture, however its bytes trickle in.
const pictureTime = 2 * time.Minute

// Picture fetches a picture of at most limit bytes. The address was written by
// whoever made the dataset, so only public hosts are asked, by https, without the
// token, also when they redirect; what was fetched once comes from the cache. A
// picture that can't be had there is an *AddressError, and a fault of the network
// any other error.
func (f *Fetcher) Picture(ctx context.Context, address string, limit int64) (*Picture, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, refuse(address, "it can't be read as an address")
	}
	if err := checkPublic(u); err != nil {
		return nil, refuse(address, "%v", err)
	}
	if p := f.cachedPicture(address); p != nil {
		if p.Size > limit {
			return nil, tooLarge(address, limit)
		}
		return p, nil
	}
	if f.Offline {
		return nil, fmt.Errorf("fetch %s: it is not in the cache, and HF_HUB_OFFLINE is set", address)
	}
	c := &client{http: f.publicClient(), wait: f.Wait}
	if c.wait == nil {
		c.wait = sleep
	}
	for failed := 1; ; failed++ {
		p, err := c.picture(ctx, address, limit)
		if err == nil {
			return p, f.keepPicture(p)
		}
		if errors.As(err, new(*AddressError)) {
			return nil, err
		}
		if err := c.again(ctx, failed, err); err != nil {
			return nil, pictureFault(address, err)
		}
	}
}

func tooLarge(address string, limit int64) error {
	return refuse(address, "it has more than %d bytes, which is the most for a picture here", limit)
}

// pictureFault tells what the address is to blame for from what will pass.
func pictureFault(address string, err error) error {
	var status *statusError
	var refused *refusedError
	switch {
	case errors.As(err, &status) && !status.temporary():
		return refuse(address, "the server answers %d %s", status.code, http.StatusText(status.code))
	case errors.As(err, &refused):
		return refuse(address, "%v", refused)
	}
	return fmt.Errorf("fetch %s: %w", address, err)
}

func (c *client) picture(ctx context.Context, address string, limit int64) (*Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	// Packed transfer would hide how much there is.
	resp, err := c.get(ctx, address, map[string]string{"Accept-Encoding": "identity"}, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if packed := resp.Header.Get("Content-Encoding"); packed != "" && packed != "identity" {
		return nil, refuse(address, "the server sends it packed (%.20q), which was not asked for", packed)
	}
	if resp.ContentLength > limit {
		return nil, tooLarge(address, limit)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", bare(address), err)
	case int64(len(data)) > limit:
		return nil, tooLarge(address, limit)
	}
	kind := resp.Header.Get("Content-Type")
	if err := checkPicture(kind, data); err != nil {
		return nil, refuse(address, "%v", err)
	}
	sum := sha256.Sum256(data)
	return &Picture{Data: data, PictureInfo: PictureInfo{URL: address, Type: kind, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}}, nil
}

// checkPicture refuses what servers send in place of a picture. Hosts of
// repositories send files as text or as bytes of no particular kind, too.
func checkPicture(kind string, data []byte) error {
	media := ""
	if kind != "" {
		var err error
		if media, _, err = mime.ParseMediaType(kind); err != nil {
			return fmt.Errorf("its content type %.50q can't be read", kind)
		}
	}
	switch {
	case len(data) == 0:
		return errors.New("it is empty")
	case bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")):
		return errors.New("it is a git-lfs pointer, not the picture")
	case strings.HasPrefix(media, "image/"):
		return nil
	case strings.HasPrefix(http.DetectContentType(data), "text/html"):
		return errors.New("it is a web page, not a picture")
	}
	switch media {
	case "", "application/octet-stream", "binary/octet-stream", "text/plain", "text/xml", "application/xml":
		return nil
	}
	return fmt.Errorf("it is %.50q, a picture is expected", media)
}

func (f *Fetcher) pictureFile(address string) string {
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(f.Dir, "pictures", hex.EncodeToString(sum[:16])+".json")
}

// cachedPicture returns nil when there is none, or none that is whole.
func (f *Fetcher) cachedPicture(address string) *Picture {
	raw, err := os.ReadFile(f.pictureFile(address))
	if err != nil {
		return nil
	}
	var p Picture
	if json.Unmarshal(raw, &p.PictureInfo) != nil || p.URL != address || !sha256Hex.MatchString(p.SHA256) {
		return nil
	}
	if p.Data, err = os.ReadFile(f.blob(p.SHA256)); err != nil {
		return nil
	}
	if sum := sha256.Sum256(p.Data); hex.EncodeToString(sum[:]) != p.SHA256 {
		return nil
	}
	return &p
}

func (f *Fetcher) keepPicture(p *Picture) error {
	info, err := json.Marshal(p.PictureInfo)
	if err != nil {
		return fmt.Errorf("keep %s: %w", p.URL, err)
	}
	if err := writeFile(f.blob(p.SHA256), p.Data); err != nil {
		return err
	}
	return writeFile(f.pictureFile(p.URL), info)
}
