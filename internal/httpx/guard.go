package httpx

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/ryeos/rye/diag"
)

// guard decides which addresses a client may connect to. The dialer calls it
// with the address of each connection, after every lookup and redirect, so a
// name cannot resolve to another address between check and use.
type guard struct {
	dialer   net.Dialer
	single   []netip.Addr
	prefixes []netip.Prefix
	names    []string // lower case
	proxy    string   // host of the declared proxy
}

func newGuard(p Params) (*guard, []diag.Finding) {
	g := &guard{dialer: *p.Dialer}
	g.dialer.Timeout = p.ConnectTimeout
	var fs []diag.Finding
	for _, s := range p.AllowPrivate {
		if msg := g.allow(s); msg != "" {
			fs = append(fs, diag.Errorf(diag.ConfigError, 0, 0, "allow_private %q %s", s, msg))
		}
	}
	return g, fs
}

func (g *guard) allow(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		g.single = append(g.single, a.Unmap().WithZone(""))
		return ""
	}
	if p, err := netip.ParsePrefix(s); err == nil {
		g.prefixes = append(g.prefixes, p.Masked())
		return ""
	}
	if !validHost(s) {
		return "is not an address, a prefix (10.0.0.0/8) or a host name"
	}
	g.names = append(g.names, strings.ToLower(s))
	return ""
}

// dial connects to addr, whose host may be a name.
func (g *guard) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	d := g.dialer
	d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		return g.check(host, address)
	}
	return d.DialContext(ctx, network, addr)
}

// Refused is the error of a connection to an address that is not public and
// was not declared.
type Refused struct {
	Host string
	Addr netip.Addr
	Why  string // the kind of the address

	metadata bool // a metadata service of a cloud
}

func (r *Refused) Error() string {
	if r.Host == r.Addr.String() {
		return fmt.Sprintf("%s is %s", r.Addr, r.Why)
	}
	return fmt.Sprintf("%s is at %s, %s", r.Host, r.Addr, r.Why)
}

// check decides about the address of one connection.
func (g *guard) check(host, address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	if g.proxy != "" && strings.EqualFold(host, g.proxy) {
		return nil
	}
	return g.judge(host, ap.Addr())
}

func (g *guard) judge(host string, a netip.Addr) error {
	a = a.Unmap().WithZone("")
	why, metadata := notPublic(a)
	switch {
	case why == "" || slices.Contains(g.single, a):
		return nil
	case metadata: // allowed as a single address only, never as part of a prefix
	case slices.ContainsFunc(g.prefixes, func(p netip.Prefix) bool { return p.Contains(a) }):
		return nil
	case slices.Contains(g.names, strings.ToLower(strings.TrimSuffix(host, "."))):
		return nil
	}
	return &Refused{
		Host:     host,
		Addr:     a,
		Why:      why,
		metadata: metadata,
	}
}

// notPublic returns the kind of an address that is not public, "" for a public
// one. metadata is true for the addresses at which clouds return credentials to
// their machines.
func notPublic(a netip.Addr) (why string, metadata bool) {
	if inner, ok := embedded(a); ok {
		if why, metadata = notPublic(inner); why != "" {
			return "which translates to " + inner.String() + ", " + why, metadata
		}
		return "", false
	}
	for _, r := range special() {
		if r.prefix.Contains(a) {
			return r.why, r.metadata
		}
	}
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return "not a public address", false
	}
	return "", false
}

// embedded returns the IPv4 address in a translated IPv6 address.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return a, false
	}
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a),
		netip.MustParsePrefix("::/96").Contains(a) && b[12] != 0:
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return a, false
}

type specialRange struct {
	prefix   netip.Prefix
	why      string
	metadata bool
}

// special returns the ranges that the IANA registries of special addresses
// reserve. The metadata services of clouds come first, since other ranges
// contain them.
//
// A service of cloud metadata is permitted by its exact address only, not by a prefix or a name.
func special() []specialRange {
	const service = "the metadata service of a cloud, which returns credentials"
	rows := []struct {
		prefixes, why string
		metadata      bool
	}{
		{"169.254.169.254/32 169.254.169.253/32 169.254.170.0/24 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32 fd00:ec2::254/128 fd20:ce::254/128", service, true},
		{"127.0.0.0/8 ::1/128", "a loopback address", false},
		{"10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10", "a private address", false},
		{"169.254.0.0/16 fe80::/10", "a link-local address", false},
		{"100.64.0.0/10", "an address of a carrier's network", false},
		{"0.0.0.0/8 ::/128", "not the address of a host", false},
		{"224.0.0.0/4 ff00::/8", "a multicast address", false},
		{"192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 3fff::/20", "a reserved address", false},
	}
	var out []specialRange
	for _, row := range rows {
		for _, p := range strings.Fields(row.prefixes) {
			out = append(out, specialRange{netip.MustParsePrefix(p), row.why, row.metadata})
		}
	}
	return out
}
