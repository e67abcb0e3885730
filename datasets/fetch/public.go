package fetch

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// refusedError is for an address that is not followed.
type refusedError struct{ reason string }

func (e *refusedError) Error() string { return e.reason }

func notPublic(host string) error {
	return &refusedError{host + " is not on the public internet, so it is not asked"}
}

// publicClient follows addresses that others wrote. Each request is looked at
// before it leaves, redirected ones as well, and each connection once its name
// was resolved: what a name stands for can change between two questions.
func (f *Fetcher) publicClient() *http.Client {
	next := f.Transport
	if next == nil {
		next = newPublicTransport()
	}
	return &http.Client{
		Transport: checked{next},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) >= maxHops {
				return &refusedError{fmt.Sprintf("it redirects more than %d times", maxHops)}
			}
			return nil
		},
	}
}

// checked refuses requests for hosts that are evidently not public.
type checked struct{ next http.RoundTripper }

func (t checked) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkPublic(req.URL); err != nil {
		return nil, err
	}
	return t.next.RoundTrip(req)
}

// publicTransport connects to public addresses. Behind a proxy it is the proxy
// that connects, and that knows what its users may reach.
type publicTransport struct{ direct, proxied http.RoundTripper }

func newPublicTransport() publicTransport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err == nil && isPublic(at.Addr()) {
			return nil
		}
		return notPublic(address)
	}}
	direct := &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 30 * time.Second, ResponseHeaderTimeout: time.Minute, IdleConnTimeout: 10 * time.Second,
	}
	return publicTransport{direct: direct, proxied: http.DefaultTransport}
}

func (t publicTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	proxy, err := http.ProxyFromEnvironment(req)
	if err != nil {
		return nil, permanentError{err}
	}
	if proxy != nil {
		return t.proxied.RoundTrip(req)
	}
	return t.direct.RoundTrip(req)
}

// checkPublic looks at an address as it is written.
func checkPublic(u *url.URL) error {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	switch {
	case u.Scheme != "https":
		return &refusedError{fmt.Sprintf("only https is followed, not %.20q", u.Scheme)}
	case host == "":
		return &refusedError{"it names no host"}
	case u.User != nil:
		return &refusedError{"it holds a user name or a password, which are not sent"}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if !isPublic(addr) {
			return notPublic(host)
		}
		return nil
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	// A name without a dot is one of the local network. One that ends in a number
	// is another way to write an IPv4 address.
	if last == host || last == "local" || last == "localhost" || last == "internal" || strings.Trim(last[:1], "0123456789") == "" {
		return notPublic(host)
	}
	return nil
}

// Blocks of addresses that lead to this machine, its networks or nowhere, beside
// those that package netip knows (IANA's special-purpose registries).
var (
	special = prefixes(
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	)
	global6 = netip.MustParsePrefix("2000::/3")
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// isPublic reports whether an address is one of the public internet.
func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		// The network translates it to the IPv4 address in its last bytes.
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if a.Is6() && !global6.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast()
}
