package fetch

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// tries of one request, or of one download without a byte of progress.
	tries = 6
	// longest pause between tries; a server that asks for more is not waited for.
	maxPause = 2 * time.Minute
	// maxAnswer bounds one page of JSON.
	maxAnswer = 32 << 20
	maxHops   = 10
)

// statusError is an answer other than the one that was asked for.
type statusError struct {
	code    int
	url     string
	message string // what the server says, shortened
	kind    string // the hub's own word for it
	after   time.Duration
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("%s answers %d %s", e.url, e.code, http.StatusText(e.code))
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

func (e *statusError) temporary() bool {
	switch e.code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// permanentError is not tried again.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// client speaks to one hub.
type client struct {
	http *http.Client
	hub  *url.URL
	wait func(context.Context, time.Duration) error
}

func (f *Fetcher) client() (*client, error) {
	raw := f.Endpoint
	if raw == "" {
		raw = "https://huggingface.co"
	}
	u, err := url.Parse(strings.TrimSuffix(raw, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("hub address %q: want https://host (it comes from HF_ENDPOINT)", raw)
	}
	c := &client{hub: u, wait: f.Wait}
	if c.wait == nil {
		c.wait = sleep
	}
	transport := f.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	c.http = &http.Client{
		Transport: &authTransport{next: transport, hub: u, token: f.Token},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			switch {
			case len(via) >= maxHops:
				return permanentError{fmt.Errorf("it redirects more than %d times", maxHops)}
			case req.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https":
				return permanentError{fmt.Errorf("it redirects from https to %s://%s", req.URL.Scheme, req.URL.Host)}
			}
			return nil
		},
	}
	return c, nil
}

// authTransport adds the token to requests for the hub itself. It looks at where
// a request goes, not at where it came from, so that no redirect takes the token
// along.
type authTransport struct {
	next  http.RoundTripper
	hub   *url.URL
	token string
}

func (t *authTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.token != "" && req.URL.Scheme == t.hub.Scheme && req.URL.Host == t.hub.Host {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+t.token)
	}
	return t.next.RoundTrip(req)
}

// get sends one request. The answer has one of the codes; any other is a *statusError.
func (c *client) get(ctx context.Context, address string, header map[string]string, codes ...int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, permanentError{err}
	}
	req.Header.Set("User-Agent", "harness")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := c.http.Do(req)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return nil, fmt.Errorf("get %s: %w", bare(failed.URL), failed.Err)
	}
	if err != nil {
		return nil, err
	}
	for _, code := range codes {
		if resp.StatusCode == code {
			return resp, nil
		}
	}
	defer func() { _ = resp.Body.Close() }()
	e := &statusError{code: resp.StatusCode, url: bare(address), kind: resp.Header.Get("X-Error-Code"), message: resp.Header.Get("X-Error-Message"), after: retryAfter(resp.Header.Get("Retry-After"))}
	e.message = e.message[:min(len(e.message), 300)]
	return nil, e
}

// bare leaves out a query, which may hold a signature that lets others in.
func bare(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address
}

func retryAfter(v string) time.Duration {
	if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < 1<<20 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// again decides whether to try once more after err, and pauses before that.
// failed counts the tries so far.
func (c *client) again(ctx context.Context, failed int, err error) error {
	var status *statusError
	var pause time.Duration
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, new(permanentError)), errors.As(err, new(*refusedError)), hopeless(err):
		return err
	case errors.As(err, &status):
		if !status.temporary() {
			return err
		}
		if pause = status.after; pause > maxPause {
			return fmt.Errorf("%w; it asks to be left alone for %s: try again then", err, pause.Round(time.Second))
		}
	}
	if failed >= tries {
		return fmt.Errorf("%w; given up after %d tries", err, failed)
	}
	// Half a second, doubled each time.
	return c.wait(ctx, max(pause, time.Second<<(failed-1)/2))
}

// hopeless: the network gives an answer that it will give again.
func hopeless(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound || errors.As(err, new(*tls.CertificateVerificationError))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// json fetches a page and decodes it. It returns the address of the next page,
// "" at the end.
func (c *client) json(ctx context.Context, address string, into any) (next string, err error) {
	for failed := 1; ; failed++ {
		next, err = c.page(ctx, address, into)
		if err == nil {
			return next, nil
		}
		if err := c.again(ctx, failed, err); err != nil {
			return "", err
		}
	}
}

func (c *client) page(ctx context.Context, address string, into any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	resp, err := c.get(ctx, address, map[string]string{"Accept": "application/json"}, http.StatusOK)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", bare(address), err)
	case len(data) > maxAnswer:
		return "", permanentError{fmt.Errorf("%s answers more than %d bytes", bare(address), maxAnswer)}
	}
	if err := json.Unmarshal(data, into); err != nil {
		return "", permanentError{fmt.Errorf("%s does not answer as a hub does (is HF_ENDPOINT right?): %w", bare(address), err)}
	}
	return c.next(resp)
}

// next reads the Link header. Only path and query count: the next page is asked
// of the same hub, also when a mirror names the original.
func (c *client) next(resp *http.Response) (string, error) {
	for _, link := range strings.Split(strings.Join(resp.Header.Values("Link"), ","), ",") {
		target, params, _ := strings.Cut(link, ";")
		if !strings.Contains(params, `rel="next"`) {
			continue
		}
		u, err := url.Parse(strings.Trim(strings.TrimSpace(target), "<>"))
		if err != nil {
			return "", permanentError{fmt.Errorf("read the address of the next page: %w", err)}
		}
		u = resp.Request.URL.ResolveReference(u)
		u.Scheme, u.Host, u.User = c.hub.Scheme, c.hub.Host, nil
		return u.String(), nil
	}
	return "", nil
}
