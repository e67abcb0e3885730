package evidence

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// maxAddrText bounds the name of a Unix socket; the kernel's own limit is 108.
const maxAddrText = 128

// reach says how far an address goes.
type reach int

const (
	reachInside reach = iota // can't leave the sandbox
	reachAny                 // the unspecified address: to connect this machine, to bind all of its interfaces
	reachOut
)

// sockaddr reads the bytes that were given to connect or bind.
func sockaddr(b []byte) (string, reach) {
	if len(b) < 2 {
		return "", reachInside
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_INET && len(b) >= 8:
		return inet(netip.AddrFrom4([4]byte(b[4:8])), b[2:4])
	case family == unix.AF_INET6 && len(b) >= 24:
		return inet(netip.AddrFrom16([16]byte(b[8:24])), b[2:4])
	case family == unix.AF_UNIX:
		name, abstract := b[2:], ""
		if len(name) > 0 && name[0] == 0 {
			name, abstract = name[1:], "@"
		} else if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		s, _ := text(name, maxAddrText)
		return "unix:" + abstract + s, reachInside
	case family == unix.AF_UNSPEC: // ends the association of a socket
		return "unspecified", reachInside
	case family == unix.AF_NETLINK:
		return "netlink", reachInside
	default:
		return fmt.Sprintf("family %d", family), reachOut
	}
}

func inet(a netip.Addr, port []byte) (string, reach) {
	s := netip.AddrPortFrom(a, binary.BigEndian.Uint16(port)).String()
	switch a = a.Unmap(); {
	case a.IsLoopback():
		return s, reachInside
	case a.IsUnspecified():
		return s, reachAny
	default:
		return s, reachOut
	}
}
