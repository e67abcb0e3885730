package fetch

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
)

func TestIsPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "185.199.108.133": true, "2606:50c0:8000::154": true, "::ffff:8.8.8.8": true, "64:ff9b::808:808": true,
		"127.0.0.1": false, "127.9.9.9": false, "0.0.0.0": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.100.100.200": false, "192.0.0.192": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false,
		"::1": false, "::": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false, "fe80::1": false, "fe80::1%eth0": false,
		"fd00:ec2::254": false, "fec0::1": false, "ff02::1": false, "64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: public is %t", text, got)
		}
	}
}

func TestCheckPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"https://example.org/a.png": true, "https://example.org:8443/a.png?b=c": true, "https://8.8.8.8/a": true, "https://example.org./a": true,
		"http://example.org/a": false, "file:///etc/passwd": false, "ftp://example.org/a": false, "//example.org/a": false, "a.png": false, "": false, "data:image/png;base64,AA==": false,
		"https://": false, "https:///a": false, "https://user:secret@example.org/a": false,
		"https://localhost/a": false, "https://LOCALHOST./a": false, "https://a.localhost/a": false, "https://printer/a": false, "https://printer.local/a": false, "https://metadata.google.internal/a": false,
		"https://127.0.0.1/a": false, "https://[::1]/a": false, "https://[::ffff:7f00:1]/a": false, "https://169.254.169.254/latest": false,
		"https://2130706433/a": false, "https://0x7f.0.0.1/a": false, "https://127.1/a": false, "https://0177.0.0.0x1/a": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkPublic(u); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// What a name stands for is known only when a connection is made.
func TestPublicTransport(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a server of this machine was asked") }))
	defer srv.Close()
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	transport := newPublicTransport().direct
	for _, host := range []string{"localhost", "127.0.0.1", "::ffff:127.0.0.1"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+net.JoinHostPort(host, port)+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if !errors.As(err, new(*refusedError)) {
			t.Errorf("%s: %v", host, err)
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
	}
}
