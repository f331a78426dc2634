package policy

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// hostPattern is a parsed pattern of Profile.Hosts.
type hostPattern struct {
	name string     // in lower case: a name, or the part after "*."; "" for "*" and addresses
	wild bool       // "*" or "*.name"
	addr netip.Addr // of an address
	port uint16     // 0 is any
}

// defaultHostPort is the port of a pattern without one. "*" alone includes all
// ports, because a ceiling that is "*" must not exclude a pattern with a port.
const defaultHostPort = 443

func parseHost(s string) (h hostPattern, err error) {
	host, port := splitPort(s)
	switch {
	case port == "*" || port == "" && s == "*":
	case port == "":
		h.port = defaultHostPort
	default:
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || port[0] == '+' || port[0] == '0' {
			return h, fmt.Errorf("%q: the port is not a number from 1 to 65535", s)
		}
		h.port = uint16(n)
	}
	if addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err == nil &&
		addr.Zone() == "" {
		h.addr = addr.Unmap()
		return h, nil
	}
	if host == "*" {
		h.wild = true
		return h, nil
	}
	h.name, h.wild = strings.CutPrefix(strings.ToLower(host), "*.")
	if !isHostName(h.name) {
		return h, fmt.Errorf("%q: %w", s, errHostForm)
	}
	return h, nil
}

// splitPort returns the part before the port. An IPv6 address without brackets has no
// port.
func splitPort(s string) (host, port string) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 ||
		i == len(s)-1 ||
		strings.Count(s, ":") > 1 && s[i-1] != ']' {
		return s, ""
	}
	return s[:i], s[i+1:]
}

// isHostName reports whether s is a name as DNS has it. A name of digits and dots only
// would be taken for an address by some programs.
func isHostName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	return strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

// includes reports whether every host and port of other is one of h.
func (h hostPattern) includes(other hostPattern) bool {
	if h.port != 0 && h.port != other.port {
		return false
	}
	switch {
	case h.addr.IsValid() || other.addr.IsValid():
		return h.addr == other.addr || h.any() && isPublic(other.addr)
	case h.any():
		return true
	case h.wild:
		return strings.HasSuffix(other.name, "."+h.name) || other.wild && other.name == h.name
	}
	return !other.wild && h.name == other.name
}

func (h hostPattern) any() bool {
	return h.wild && h.name == ""
}

// isPublic reports whether "*" includes an address. Addresses of the own machine and
// network must be listed.
func isPublic(a netip.Addr) bool {
	return a.IsGlobalUnicast() &&
		!a.IsPrivate() &&
		!netip.MustParsePrefix("100.64.0.0/10").Contains(a)
}

// common returns the pattern of the hosts and ports that both include, if there are
// any.
func (h hostPattern) common(other hostPattern) (hostPattern, bool) {
	if h.port == 0 {
		h.port = other.port
	} else if other.port == 0 {
		other.port = h.port
	}
	switch {
	case h.includes(other):
		return other, true
	case other.includes(h):
		return h, true
	}
	return hostPattern{}, false
}

// String returns the shortest spelling.
func (h hostPattern) String() string {
	s := h.name
	switch {
	case h.addr.Is6() && h.port != defaultHostPort:
		s = "[" + h.addr.String() + "]"
	case h.addr.IsValid():
		s = h.addr.String()
	case h.any():
		s = "*"
	case h.wild:
		s = "*." + s
	}
	switch {
	case h.any() && h.port == 0 || h.port == defaultHostPort && !h.any():
		return s
	case h.port == 0:
		return s + ":*"
	}
	return s + ":" + strconv.Itoa(int(h.port))
}

// HostPermitted reports whether a pattern of the list includes a name, or an address,
// and a port. "*" includes no private address; the caller must also check the
// addresses of a name.
func HostPermitted(patterns []string, host string, port uint16) bool {
	want := hostPattern{name: strings.ToLower(strings.TrimSuffix(host, ".")), port: port}
	if addr, err := netip.ParseAddr(host); err == nil {
		want = hostPattern{addr: addr.Unmap(), port: port}
	} else if !isHostName(want.name) {
		return false
	}
	for _, p := range patterns {
		h, err := parseHost(p)
		if err == nil && h.includes(want) {
			return true
		}
	}
	return false
}
