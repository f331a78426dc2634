package httpx

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
)

// hostPattern is one entry of Params.Hosts.
type hostPattern struct {
	name string // lower case; "*." at the start matches every name below
	port string // "" matches any
}

func parseHosts(list []string) ([]hostPattern, []diag.Finding) {
	var out []hostPattern
	var fs []diag.Finding
	for _, s := range list {
		p, ok := parseHost(s)
		if !ok {
			fs = append(fs, diag.Errorf(diag.ConfigError, 0, 0, "host %q is not a host name such as api.example.com, api.example.com:8443 or *.example.com", s))
		}
		out = append(out, p)
	}
	return out, fs
}

func parseHost(s string) (hostPattern, bool) {
	name := s
	port := ""
	if h, p, err := net.SplitHostPort(s); err == nil {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 {
			return hostPattern{}, false
		}
		name = h
		port = p
	}
	rest, wildcard := strings.CutPrefix(name, "*.")
	name = strings.ToLower(strings.Trim(rest, "[]"))
	if wildcard {
		// "*.com" would be a whole top-level domain.
		return hostPattern{"*." + name, port}, validHost(name) && strings.Contains(name, ".")
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return hostPattern{name, port}, true
	}
	return hostPattern{name, port}, validHost(name)
}

func (h hostPattern) matches(host, port string) bool {
	return (h.port == "" || h.port == port) && glob.Text(h.name, host)
}

// validHost reports whether s is labels of letters, digits, "-" and "_", joined by
// dots.
func validHost(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" ||
			len(label) > 63 ||
			strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// target parses the URL of a request or redirect and checks its host.
func (c *Client) target(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // without the URL itself
		}
		return nil, diag.New(diag.ValidationFailed, "reading the URL: %w", err)
	}
	if msg := badURL(u); msg != "" {
		return nil, diag.New(diag.ValidationFailed, "reading the URL: %s", msg)
	}
	host := strings.ToLower(u.Hostname())
	port := portOf(u)
	if !c.declared(host, port) {
		return nil, diag.New(diag.PolicyDenied, "asking %s: the host is not listed in hosts", Shown(u.String())).
			WithReason("host_not_listed").WithDetail("host", u.Host)
	}
	if a, known := c.addressOf(host); known {
		if err := c.guard.judge(host, a); err != nil {
			return nil, refusal("asking "+Shown(u.String()), err)
		}
	}
	u.Fragment = ""
	u.RawFragment = ""
	return u, nil
}

// addressOf returns the address of a host if it needs no lookup. A proxy does its
// own lookups, which the guard does not see, so behind a proxy localhost is an
// address too.
func (c *Client) addressOf(host string) (netip.Addr, bool) {
	name := strings.TrimSuffix(host, ".")
	if c.guard.proxy != "" && (name == "localhost" || strings.HasSuffix(name, ".localhost")) {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	a, err := netip.ParseAddr(host)
	return a, err == nil
}

func badURL(u *url.URL) string {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "it does not begin with https:// or http://"
	case u.User != nil:
		return "it contains a user or password"
	case u.Hostname() == "" || u.Opaque != "":
		return "it has no host"
	}
	if p := u.Port(); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 {
			return "its port is not between 1 and 65535"
		}
	}
	return ""
}

func (c *Client) declared(host, port string) bool {
	if c.p.Hosts == nil {
		return true
	}
	for _, h := range c.hosts {
		if h.matches(strings.TrimSuffix(host, "."), port) {
			return true
		}
	}
	return false
}

// HostOf returns the host of a URL in the form of Params.Hosts, with the port if
// the URL has one.
func HostOf(u *url.URL) string {
	if u.Port() == "" {
		return u.Hostname()
	}
	return net.JoinHostPort(u.Hostname(), u.Port())
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "http" {
		return "80"
	}
	return "443"
}

func parseProxy(s string) (*url.URL, error) {
	if s == "" {
		return nil, nil
	}
	u, err := url.Parse(s)
	if err != nil ||
		u.Scheme != "http" && u.Scheme != "https" ||
		u.Hostname() == "" {
		return nil, errors.New("is not an http:// or https:// URL") // never shown: it may hold a password
	}
	return u, nil
}
