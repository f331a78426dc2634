package httpx

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/ryeos/rye/diag"
)

// Target is a host and a port in the one form that is compared and connected to.
type Target struct {
	Host string // an address, or a name in lower case without the final dot
	Addr netip.Addr
	Port uint16
}

// ParseTarget reads a host and a port that come from a program that is not trusted.
// It refuses what other parsers read differently: other spellings of addresses,
// names that are not ASCII, zones, users, and ports with a sign or leading zeros.
func ParseTarget(host, port string) (Target, error) {
	bad := diag.New(diag.ValidationFailed, "reading the target %q: it is not a host name or an address with a port from 1 to 65535", host+":"+port)
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port != strconv.FormatUint(n, 10) {
		return Target{}, bad
	}
	t := Target{Port: uint16(n)}
	if a, err := netip.ParseAddr(host); err == nil {
		t.Addr = a.Unmap()
		t.Host = t.Addr.String()
		if a.Zone() != "" {
			return Target{}, bad
		}
		return t, nil
	}
	// The Kelvin sign becomes an ASCII letter in lower case, so this test is first.
	foreign := strings.ContainsFunc(host, func(r rune) bool {
		return r > unicode.MaxASCII
	})
	if foreign || !validHost(host) || numeric(host) {
		return Target{}, bad
	}
	t.Host = strings.ToLower(strings.TrimSuffix(host, "."))
	return t, nil
}

// numeric reports whether the resolver of a C library can read a name as an address
// (127.1, 0x7f.1, 2130706433): as in URLs, the last label decides.
func numeric(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// String returns host:port.
func (t Target) String() string {
	return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port)))
}

// Connect connects to t, after one lookup and a check of each address that is
// tried. Addresses that are not public are refused, unless private is set and t is
// an address itself. The error of a refused address is a PolicyDenied with the
// reason private_address; the error of a metadata service has no reason. d is not
// changed; nil means a plain dialer.
func (t Target) Connect(
	ctx context.Context,
	d *net.Dialer,
	private bool,
) (net.Conn, error) {
	var rule guard
	if private && t.Addr.IsValid() {
		rule.single = []netip.Addr{t.Addr}
	}
	if d != nil {
		rule.dialer = *d
	}
	rule.dialer.Timeout = cmp.Or(rule.dialer.Timeout, DefaultConnectTimeout)
	rule.dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		return rule.check(t.Host, address)
	}
	conn, err := rule.dialer.DialContext(ctx, "tcp", t.String())
	if err != nil {
		return nil, fault(ctx, "connecting to "+t.String(), err)
	}
	return conn, nil
}
